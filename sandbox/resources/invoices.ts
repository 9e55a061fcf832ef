import { collectInvoice, invoicePaid, subscriptionOf } from '../billing/collect.ts';
import { finalizeInvoice, intentOf, markInvoiceUncollectible, voidInvoice } from '../billing/invoice.ts';
import { updateSubscription } from '../billing/subscription-change.ts';
import { cancelPaymentIntent, cardError } from '../payments/payment-intent.ts';
import { usablePaymentMethod } from '../payments/payment-method.ts';
import type { Invoice } from '../wire/objects.ts';
import {
  type Call,
  createdParam,
  cursorOf,
  listOf,
  listParams,
  type Operation,
  operation,
} from '../wire/operation.ts';
import { applyMetadata, bool, clearable, metadata, oneOf, type Parsed, text } from '../wire/params.ts';
import { missing, WireError, wrongState } from '../wire/wire-error.ts';
import { searchOperation } from './search.ts';

const payParams = { payment_method: text(), paid_out_of_band: bool, off_session: bool };

export const invoiceOperations: readonly Operation[] = [
  operation({ name: 'invoices.retrieve', method: 'GET', path: 'invoices/*' }, {}, existing),
  operation(
    { name: 'invoices.update', method: 'POST', path: 'invoices/*' },
    { metadata, description: clearable(text()) },
    (call, params) => {
      const before = existing(call);
      const after = call.store.change(call.store.invoices, before, {
        metadata: applyMetadata(before.metadata ?? {}, params.metadata),
        description: params.description === undefined ? before.description : params.description,
      });
      call.store.emitUpdated('invoice.updated', before, after);
      return after;
    },
  ),
  operation(
    { name: 'invoices.finalize', method: 'POST', path: 'invoices/*/finalize' },
    { auto_advance: bool },
    (call, params) => {
      const draft = existing(call);
      const invoice = finalizeInvoice(
        call.store,
        { ...draft, auto_advance: params.auto_advance ?? draft.auto_advance ?? false },
        call.baseUrl,
      );
      return invoice.amount_due === 0 ? invoicePaid(call.store, invoice) : invoice;
    },
  ),
  operation({ name: 'invoices.pay', method: 'POST', path: 'invoices/*/pay' }, payParams, pay),
  operation({ name: 'invoices.void', method: 'POST', path: 'invoices/*/void' }, {}, (call) => {
    const invoice = voidInvoice(call.store, existing(call));
    const subscription = subscriptionOf(call.store, invoice);
    // Without its first invoice a subscription can never start.
    if (subscription?.status === 'incomplete' && subscription.latest_invoice === invoice.id)
      updateSubscription(call.store, subscription, {
        status: 'incomplete_expired',
        ended_at: call.store.now(),
      });
    return invoice;
  }),
  operation(
    { name: 'invoices.mark_uncollectible', method: 'POST', path: 'invoices/*/mark_uncollectible' },
    {},
    (call) => markInvoiceUncollectible(call.store, existing(call)),
  ),
  operation(
    { name: 'invoices.list_lines', method: 'GET', path: 'invoices/*/lines' },
    listParams,
    (call, params) => {
      const { lines } = existing(call);
      // At most twenty items make at most twenty lines, so one page holds them unless fewer are asked for.
      const after = lines.data.findIndex(({ id }) => id === params.starting_after) + 1;
      const data = lines.data.slice(after, after + (params.limit ?? lines.data.length));
      return { ...lines, data, has_more: after + data.length < lines.data.length };
    },
  ),
  operation(
    { name: 'invoices.list', method: 'GET', path: 'invoices' },
    {
      ...listParams,
      ...createdParam,
      customer: text(),
      subscription: text(),
      status: oneOf('draft', 'open', 'paid', 'uncollectible', 'void'),
      collection_method: oneOf('charge_automatically', 'send_invoice'),
    },
    ({ store }, params) => {
      const { customer, subscription, status, collection_method: method } = params;
      const within =
        subscription !== undefined
          ? { index: 'subscription', key: subscription }
          : customer !== undefined
            ? { index: 'customer', key: customer }
            : undefined;
      return listOf(
        '/v1/invoices',
        store.invoices.list({
          ...cursorOf(params, (id) => store.invoices.get(id) !== undefined),
          created: params.created,
          within,
          where: (invoice) =>
            (customer ?? invoice.customer) === invoice.customer &&
            (status ?? invoice.status) === invoice.status &&
            (method ?? invoice.collection_method) === invoice.collection_method,
        }),
      );
    },
  ),
  searchOperation('invoices', (store) => store.invoices),
];

function pay(call: Call, params: Parsed<typeof payParams>): Invoice {
  const { store, baseUrl } = call;
  const given = existing(call);
  if (given.status === 'paid') throw wrongState('Invoice is already paid');
  if (given.status === 'void')
    throw wrongState('Invoice is void, so it cannot be paid.', 'invoice_not_editable');
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

function existing({ store, ids: [id = ''] }: Call): Invoice {
  const invoice = store.invoices.get(id);
  if (invoice === undefined) throw missing('invoice', id);
  return invoice;
}
