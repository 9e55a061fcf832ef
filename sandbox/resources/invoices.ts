import { collectInvoice, invoicePaid } from '../billing/collect.ts';
import { finalizeInvoice, markInvoiceUncollectible, voidInvoice } from '../billing/invoice.ts';
import { intentOf, subscriptionOf } from '../billing/invoice-payment.ts';
import { updateSubscription } from '../billing/subscription-change.ts';
import { cancelPaymentIntent, cardError } from '../payments/payment-intent.ts';
import { usablePaymentMethod } from '../payments/payment-method.ts';
import type { Invoice } from '../wire/objects.ts';
import type { Call, Operation } from '../wire/operation.ts';
import { applyMetadata, bool, clearable, metadata, oneOf, type Parsed, text } from '../wire/params.ts';
import { WireError, wrongState } from '../wire/wire-error.ts';
import { pageParams } from './listing.ts';
import { Resource } from './resource.ts';

const payParams = { payment_method: text(), paid_out_of_band: bool, off_session: bool };

const invoices = new Resource('invoices', (store) => store.invoices);

export const invoiceOperations: readonly Operation[] = [
  invoices.retrieve(),
  invoices.operation('update', 'POST *', { metadata, description: clearable(text()) }, (call, params) => {
    const before = invoices.existing(call);
    const after = call.store.change(call.store.invoices, before, {
      metadata: applyMetadata(before.metadata ?? {}, params.metadata),
      description: params.description === undefined ? before.description : params.description,
    });
    call.store.emitUpdated('invoice.updated', before, after);
    return after;
  }),
  invoices.operation('finalize', 'POST */finalize', { auto_advance: bool }, (call, params) => {
    const draft = invoices.existing(call);
    const invoice = finalizeInvoice(
      call.store,
      { ...draft, auto_advance: params.auto_advance ?? draft.auto_advance ?? false },
      call.baseUrl,
    );
    return invoice.amount_due === 0 ? invoicePaid(call.store, invoice) : invoice;
  }),
  invoices.operation('pay', 'POST */pay', payParams, pay),
  invoices.operation('void', 'POST */void', {}, (call) => {
    const invoice = voidInvoice(call.store, invoices.existing(call));
    const subscription = subscriptionOf(call.store, invoice);
    // A subscription cannot start once its first invoice is void.
    if (subscription?.status === 'incomplete' && subscription.latest_invoice === invoice.id)
      updateSubscription(call.store, subscription, {
        status: 'incomplete_expired',
        ended_at: call.store.now(),
      });
    return invoice;
  }),
  invoices.operation('mark_uncollectible', 'POST */mark_uncollectible', {}, (call) =>
    markInvoiceUncollectible(call.store, invoices.existing(call)),
  ),
  invoices.operation('list_lines', 'GET */lines', pageParams, (call, params) => {
    const { lines } = invoices.existing(call);
    // An invoice has at most 20 lines, one per item. They all fit on one page unless the caller sets a lower limit.
    const after = lines.data.findIndex(({ id }) => id === params.starting_after) + 1;
    const data = lines.data.slice(after, after + (params.limit ?? lines.data.length));
    return { ...lines, data, has_more: after + data.length < lines.data.length };
  }),
  invoices.list(
    {
      customer: text(),
      subscription: text(),
      status: oneOf('draft', 'open', 'paid', 'uncollectible', 'void'),
      collection_method: oneOf('charge_automatically', 'send_invoice'),
    },
    {
      within: ({ subscription, customer }) => ({ subscription, customer }),
      equal: ['status', 'collection_method'],
    },
  ),
  invoices.search(),
];

function pay(call: Call, params: Parsed<typeof payParams>): Invoice {
  const { store, baseUrl } = call;
  const given = invoices.existing(call);
  if (given.status === 'paid') throw wrongState('Invoice is already paid');
  if (given.status === 'void')
    throw wrongState('This invoice is void, so it cannot be paid.', 'invoice_not_editable');
  const invoice = given.status === 'draft' ? finalizeInvoice(store, given, baseUrl) : given;
  if (params.paid_out_of_band === true) {
    const intent = intentOf(store, invoice);
    const paid = invoicePaid(store, invoice);
    if (intent !== undefined && intent.status !== 'canceled')
      cancelPaymentIntent(store, intent, 'void_invoice');
    return paid;
  }
  const method =
    params.payment_method === undefined
      ? undefined
      : usablePaymentMethod(store, params.payment_method, invoice.customer);
  const failure = collectInvoice(store, invoice, { offSession: params.off_session ?? true, baseUrl, method });
  if (failure?.type === 'card_error') throw cardError(failure);
  if (failure !== null) throw new WireError(400, failure);
  return store.invoices.get(invoice.id) ?? invoice;
}
