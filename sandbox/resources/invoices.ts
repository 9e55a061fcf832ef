import { collectInvoice, invoicePaid } from '../billing/collect.ts';
import { termsOf } from '../billing/discount.ts';
import * as invoicing from '../billing/invoice.ts';
import { notEditable } from '../billing/invoice-item.ts';
import { withLines } from '../billing/invoice-object.ts';
import { decidesStatus, dropPayment, subscriptionOf } from '../billing/invoice-payment.ts';
import { noUpcoming, previewChange, previewResumption, upcomingInvoice } from '../billing/invoice-preview.ts';
import { dropUpdate, isPendingInvoice } from '../billing/pending-update.ts';
import { asOfNextPeriod } from '../billing/phase-change.ts';
import * as subscriptions from '../billing/subscription-change.ts';
import { periodOf } from '../billing/subscription-items.ts';
import { accountOf } from '../payments/account.ts';
import { existingCustomer } from '../payments/customer.ts';
import { currency } from '../payments/money.ts';
import { cardError } from '../payments/payment-intent.ts';
import { usablePaymentMethod } from '../payments/payment-method.ts';
import type { Store } from '../state/store.ts';
import { mayUseOld } from '../wire/api-version.ts';
import type { Invoice, Subscription } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { missing, missingParam, WireError, wrongState } from '../wire/wire-error.ts';
import { discountsParam, previewedDiscounts } from './discount-params.ts';
import { previewedItemsFrom, previewedItemsParam } from './invoice-items.ts';
import { detailsFrom, invoiceParams } from './invoice-params.ts';
import { pageOf, pageParams } from './listing.ts';
import { Resource } from './resource.ts';
import { anchorParam, checkAnchor, prorationBehavior } from './subscription-params.ts';
import { itemsParam, planFrom } from './subscription-update.ts';

const createParams = {
  ...invoiceParams,
  currency,
  customer: p.required(p.text()),
  pending_invoice_items_behavior: p.oneOf('exclude', 'include'),
  subscription: p.text(),
};
const detailsParams = {
  billing_cycle_anchor: anchorParam,
  cancel_at_period_end: p.bool,
  items: itemsParam,
  proration_behavior: prorationBehavior,
  proration_date: p.integer(),
  resume_at: p.oneOf('now'),
};

type Details = Partial<p.Parsed<typeof detailsParams>>;

const previewParams = {
  customer: p.text(),
  discounts: discountsParam,
  invoice_items: previewedItemsParam,
  subscription: p.text(),
  subscription_details: p.object(detailsParams),
};

const olderPrefix = 'subscription_';
/** The older form of a preview, which versions before 2025-03-31 have: each detail is a parameter of its own. */
const upcomingParams: typeof previewParams & p.Fields = {
  ...previewParams,
  ...Object.fromEntries(
    Object.entries(detailsParams).map(([name, parser]) => [`${olderPrefix}${name}`, parser]),
  ),
};

const payParams = { payment_method: p.text(), paid_out_of_band: p.bool, off_session: p.bool };

const invoices = new Resource('invoices', (store) => store.invoices);

export const invoiceOperations = [
  invoices.retrieve(),
  invoices.create(createParams, create),
  invoices.update(invoiceParams, update),
  invoices.delete(invoicing.deleteDraft),
  invoices.action('send', {}, ({ store }, before) =>
    settledIfFree(store, invoicing.sendInvoice(store, before)),
  ),
  invoices.action('finalize', { auto_advance: p.bool }, (call, before, params) => {
    // Unless the caller turns it off, collection continues after this, even for a draft that did not advance
    // automatically.
    const draft = { ...before, auto_advance: params.auto_advance ?? true };
    const isCharged = draft.auto_advance && draft.collection_method === 'charge_automatically';
    const invoice = invoicing.finalizeInvoice(call.store, draft, {
      nextAttempt: isCharged && draft.amount_due > 0 ? call.store.now() + invoicing.draftSeconds : null,
    });
    return settledIfFree(call.store, invoice);
  }),
  invoices.action('pay', payParams, pay),
  invoices.operation('create_preview', 'POST create_preview', previewParams, preview),
  invoices.operation('upcoming', 'GET upcoming', upcomingParams, upcoming),
  invoices.operation(
    'upcoming_lines',
    'GET upcoming/lines',
    { ...upcomingParams, ...pageParams },
    (call, params) => {
      const { lines } = upcoming(call, params);
      return { ...lines, ...pageOf(lines.data, params) };
    },
  ),
  invoices.action('void', {}, ({ store }, before) => {
    const invoice = invoicing.voidInvoice(store, before);
    const subscription = subscriptionOf(store, invoice);
    // The change can no longer be paid, so it never applies.
    if (subscription !== undefined && isPendingInvoice(subscription, invoice))
      dropUpdate(store, subscription, { expires: false });
    // A subscription cannot start once its first invoice is void.
    if (subscription?.status === 'incomplete' && subscription.latest_invoice === invoice.id)
      subscriptions.updateSubscription(store, subscription, {
        status: 'incomplete_expired',
        ended_at: store.now(),
      });
    return invoice;
  }),
  invoices.action('mark_uncollectible', {}, ({ store }, before) => {
    const invoice = invoicing.markInvoiceUncollectible(store, before);
    const subscription = subscriptionOf(store, invoice);
    if (subscription === undefined || !decidesStatus(store, subscription, invoice)) return invoice;
    // Writing off the latest invoice resolves what the subscription waits for.
    if (subscriptions.isResumption(subscription, invoice))
      subscriptions.leavePaused(store, subscription, { status: 'active' });
    else subscriptions.resumeAfterFailure(store, subscription, invoice);
    if (subscription.status === 'past_due')
      subscriptions.updateSubscription(store, subscription, { status: 'active' });
    return invoice;
  }),
  invoices.operation('list_lines', 'GET */lines', pageParams, (call, params) => {
    const { lines } = invoices.existing(call);
    return { ...lines, ...pageOf(lines.data, params) };
  }),
  invoices.list({
    ...p.each(p.text(), 'subscription customer'),
    status: p.oneOf('draft', 'open', 'paid', 'uncollectible', 'void'),
    collection_method: p.oneOf('charge_automatically', 'send_invoice'),
  }),
  invoices.search(),
];

function create({ store }: Call, params: p.Parsed<typeof createParams>): Invoice {
  const customer = existingCustomer(store, params.customer);
  const subscription =
    params.subscription === undefined
      ? null
      : store.subscriptions.existing(params.subscription, 'subscription');
  if (subscription !== null && subscription.customer !== customer.id)
    throw missing('subscription', subscription.id, 'subscription');
  const includesPending = params.pending_invoice_items_behavior === 'include' || subscription !== null;
  const [pending] = includesPending ? store.invoiceItems.allWithin('pending', customer.id) : [];
  return invoicing.createOneOffInvoice(store, {
    customer,
    currency:
      params.currency ??
      subscription?.currency ??
      pending?.currency ??
      customer.currency ??
      accountOf(store).currency,
    subscription,
    includesPending,
    autoAdvance: params.auto_advance ?? false,
    details: detailsFrom(store, params, {
      collection_method: 'charge_automatically',
      created: store.now(),
      customer: customer.id,
      due_date: null,
      metadata: {},
    }),
  });
}

function update({ store }: Call, before: Invoice, params: p.Parsed<typeof invoiceParams>): Invoice {
  const {
    auto_advance: advances,
    metadata: _,
    description: __,
    default_payment_method: ___,
    ...others
  } = params;
  if (before.status !== 'draft' && Object.keys(others).length > 0) throw notEditable(before);
  if (advances !== undefined && before.status !== 'draft' && before.status !== 'open')
    throw notEditable(before);
  const details = detailsFrom(store, params, before);
  return store.update('invoice.updated', store.invoices, before, {
    ...details,
    ...(params.default_tax_rates === undefined ? {} : retaxed(store, before, { ...before, ...details })),
    ...(advances === undefined ? {} : advanceFrom(store, { ...before, ...details }, advances)),
  });
}

/** The amounts of a draft with other default tax rates. Lines with tax rates of their own keep them. */
function retaxed(store: Store, before: Invoice, after: Invoice): Partial<Invoice> {
  const old = new Set(before.default_tax_rates.map(({ id }) => id));
  const lines = after.lines.data.map((line) => ({
    ...line,
    taxes: line.taxes.filter(({ tax_rate_details: { tax_rate: id } }) => !old.has(id)),
  }));
  return withLines(after, lines, termsOf(store, after.discounts), (id) => store.taxRates.get(id));
}

/** Starts or stops the automatic steps of a draft or open invoice. */
function advanceFrom(store: Store, invoice: Invoice, advances: boolean): Partial<Invoice> {
  const at = advances ? store.now() + invoicing.draftSeconds : null;
  const isCharged = invoice.collection_method === 'charge_automatically';
  return {
    auto_advance: advances,
    automatically_finalizes_at: invoice.status === 'draft' ? at : null,
    next_payment_attempt: isCharged ? at : null,
  };
}

/** An invoice without an amount is paid as soon as it is final. */
function settledIfFree(store: Store, invoice: Invoice): Invoice {
  return invoice.status === 'open' && invoice.amount_due === 0 ? invoicePaid(store, invoice) : invoice;
}

function pay({ store }: Call, given: Invoice, params: p.Parsed<typeof payParams>): Invoice {
  if (given.status === 'paid') throw wrongState('Invoice is already paid');
  if (given.status === 'void')
    throw wrongState('This invoice is void, so it cannot be paid.', 'invoice_not_editable');
  const invoice = given.status === 'draft' ? invoicing.finalizeInvoice(store, given) : given;
  if (params.paid_out_of_band === true) {
    dropPayment(store, invoice);
    return invoicePaid(store, invoice);
  }
  const method =
    params.payment_method === undefined
      ? undefined
      : usablePaymentMethod(store, params.payment_method, invoice.customer);
  const failure = collectInvoice(store, invoice, {
    offSession: params.off_session ?? true,
    isManual: true,
    method,
  });
  if (failure?.type === 'card_error') throw cardError(failure);
  if (failure !== null) throw new WireError(400, failure);
  return store.invoices.get(invoice.id) ?? invoice;
}

/** Shows the next invoice, with the change in the parameters. Stores nothing. */
function preview(
  call: Call,
  params: Omit<p.Parsed<typeof previewParams>, 'subscription_details'> & {
    readonly subscription_details: Details | undefined;
  },
): Invoice {
  const { store } = call;
  const { subscription_details: details } = params;
  checkAnchor(call, details?.billing_cycle_anchor, 'subscription_details[billing_cycle_anchor]');
  const customer = params.customer === undefined ? null : existingCustomer(store, params.customer).id;
  if (params.subscription === undefined) return nextOf(call, customer, params);
  const found = store.subscriptions.existing(params.subscription, 'subscription');
  if (customer !== null && found.customer !== customer)
    throw missing('subscription', found.id, 'subscription');
  if (found.ended_at !== null) throw noUpcoming(found.customer);
  if (details?.resume_at !== undefined) return previewResumption(store, found);
  const before = details === undefined ? found : withCancellation(found, details.cancel_at_period_end);
  const discounts = previewedDiscounts(store, params.discounts, found);
  const path = 'subscription_details[items]';
  const plan = details === undefined ? null : planFrom(call, before, details, path, discounts);
  const added = previewedItemsFrom(call, params.invoice_items ?? [], found);
  if (plan === null) return upcomingInvoice(store, asOfNextPeriod(store, before), added, discounts);
  const invoice = previewChange(store, before, plan, added, discounts);
  return plan.prorations.length === 0
    ? invoice
    : withProrationDate(invoice, details?.proration_date ?? store.now());
}

function upcoming(call: Call, params: p.Parsed<typeof upcomingParams>): Invoice {
  if (!mayUseOld(call.version, 'invoicePayments')) throw missing('invoice', 'upcoming');
  const details: Details = Object.fromEntries(
    Object.keys(detailsParams).flatMap((name) => {
      const value = params[`${olderPrefix}${name}`];
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const given = Object.keys(details).length === 0 ? undefined : details;
  return preview(call, { ...params, subscription_details: params.subscription_details ?? given });
}

function withCancellation(before: Subscription, cancels: boolean | undefined): Subscription {
  if (cancels === undefined) return before;
  return {
    ...before,
    cancel_at_period_end: cancels,
    cancel_at: cancels ? periodOf(before).end : before.cancel_at_period_end ? null : before.cancel_at,
  };
}

/** The customer's next renewal. */
function nextOf(
  call: Call,
  customer: string | null,
  { subscription_details: details, invoice_items: items = [], discounts }: Parameters<typeof preview>[1],
): Invoice {
  const { store } = call;
  if (customer === null) throw missingParam('customer', 'You must give a customer or a subscription.');
  if (details !== undefined)
    throw missingParam(
      'subscription',
      'The sandbox previews changes only of existing subscriptions. Give the subscription.',
    );
  const [next] = store.subscriptions
    .allWithin('customer', customer)
    .filter(({ ended_at }) => ended_at === null)
    .sort((a, b) => periodOf(a).end - periodOf(b).end);
  if (next === undefined) throw noUpcoming(customer);
  const added = previewedItemsFrom(call, items, next);
  return upcomingInvoice(
    store,
    asOfNextPeriod(store, next),
    added,
    previewedDiscounts(store, discounts, next),
  );
}

function withProrationDate(invoice: Invoice, date: number): Invoice {
  const { parent } = invoice;
  if (parent === null) return invoice;
  const details = { ...parent.subscription_details, subscription_proration_date: date };
  return { ...invoice, parent: { ...parent, subscription_details: details } };
}
