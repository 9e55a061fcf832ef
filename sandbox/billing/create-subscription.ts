import { newId } from '../ids.ts';
import { updateCustomer } from '../payments/customer.ts';
import { unitOf } from '../payments/money.ts';
import { createSetupIntent } from '../payments/setup-intent.ts';
import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type * as Wire from '../wire/objects.ts';
import { WireError } from '../wire/wire-error.ts';
import { addIntervals } from './calendar.ts';
import { collectInvoice, incomplete, invoicePaid, methodFor, noPaymentMethod } from './collect.ts';
import { currentTerms, discountAmounts, discountableLine, redeem, type WantedDiscount } from './discount.ts';
import { draftSubscriptionInvoice, finalizeInvoice } from './invoice.ts';
import { createInvoiceItem, type NewInvoiceItem } from './invoice-item.ts';
import { isMetered } from './price.ts';
import { proratedAmount } from './proration.ts';
import { cycleAt, invoiceLines, newItem } from './subscription-items.ts';
import { trialNoticeSeconds } from './subscription-life.ts';
import { testClockIdOf } from './test-clock.ts';

export interface NewSubscription {
  readonly customer: string;
  readonly items: readonly {
    readonly price: Wire.Price;
    readonly quantity: number | undefined;
    readonly metadata: Record<string, string>;
    readonly taxRates?: readonly Wire.TaxRate[];
  }[];
  /** One-time items on the first invoice. */
  readonly added?: readonly Omit<NewInvoiceItem, 'subscription'>[];
  /** When the second period starts. The first one is shorter. */
  readonly anchor?: number | null;
  /** When the subscription began, before it was created. */
  readonly startDate?: number | null;
  /** Whether a shorter first period, and the time before the creation, are billed. */
  readonly prorates?: boolean;
  readonly cancelAt?: number | null;
  readonly cancelsAtPeriodEnd?: boolean;
  /** Fields without an effect on the first period. */
  readonly details: Pick<Wire.Subscription, 'billing_mode'> & Partial<Wire.Subscription>;
  /** The first invoice stays a draft for an hour, as for a subscription that a schedule creates. */
  readonly isScheduled?: boolean;
  readonly trialEnd: number | null;
  /** By default, `allow_incomplete`. */
  readonly behavior?: 'default_incomplete' | 'allow_incomplete' | 'error_if_incomplete';
  readonly discounts: readonly WantedDiscount[];
  readonly offSession?: boolean;
  /** The items that the first invoice also bills. By default, all that wait for one. */
  readonly addedItems?: readonly Wire.InvoiceItem[];
  /** The payment that has already paid the first invoice. */
  readonly paidWith?: Wire.PaymentIntent | null;
}

/** Creates a subscription and its first invoice. With a trial or a free price, the invoice's amount is zero. */
export function createSubscription(store: Store, input: NewSubscription): Wire.Subscription {
  const invoiceId = store.invoices.newId();
  chooseCurrency(store, input);
  const { subscription, lines } = putSubscription(store, input, invoiceId);
  const now = store.now();
  for (const item of input.added ?? []) createInvoiceItem(store, { ...item, subscription: subscription.id });
  const draft = draftSubscriptionInvoice(store, subscription, {
    id: invoiceId,
    reason: 'subscription_create',
    lines,
    items: input.addedItems,
    periodStart: now,
    periodEnd: now,
    autoAdvance: startsLater(input),
  });
  if (startsLater(input)) return subscription;
  const isConfirmedLater = input.behavior === 'default_incomplete';
  const method = isConfirmedLater ? methodFor(store, draft) : undefined;
  const paidWith = input.paidWith ?? undefined;
  const invoice = finalizeInvoice(store, draft, {
    paymentMethod: method?.id ?? null,
    intent: paidWith,
  });
  if (invoice.amount_due === 0) startFree(store, subscription, invoice);
  else if (paidWith !== undefined) invoicePaid(store, invoice, paidWith);
  else if (!isConfirmedLater) startPaid(store, invoice, input);
  return store.subscriptions.get(subscription.id) ?? subscription;
}

/**
 * Whether the first invoice is finalized and collected or sent later. The subscription starts without waiting for it.
 */
function startsLater({ details, isScheduled = false }: NewSubscription): boolean {
  return isScheduled || details.collection_method === 'send_invoice';
}

/** Stores the subscription with its discounts. It is incomplete only if its first invoice has to be paid. */
function putSubscription(
  store: Store,
  input: NewSubscription,
  invoiceId: string,
): { readonly subscription: Wire.Subscription; readonly lines: Wire.InvoiceLine[] } {
  const blank = subscriptionObject(store, input, invoiceId);
  const discounts = redeem(store, input.discounts, blank);
  const discounted = { ...blank, discounts: discounts.map(({ id }) => id) };
  const lines = firstLines(store, discounted, input);
  const taken = discountAmounts(
    lines.map(discountableLine),
    currentTerms(store, discounted),
    unitOf(discounted.currency),
  ).flat();
  const total = taken.reduce(
    (sum, { amount }) => sum - amount,
    lines.reduce((sum, { amount }) => sum + amount, 0),
  );
  const isFree = total === 0 && (input.added ?? []).every(({ amount }) => amount === 0);
  const subscription = store.put(store.subscriptions, {
    ...discounted,
    status: input.trialEnd !== null ? 'trialing' : isFree || startsLater(input) ? 'active' : 'incomplete',
  });
  for (const discount of discounts) store.emit('customer.discount.created', discount);
  store.emit('customer.subscription.created', subscription);
  return { subscription, lines };
}

/** The lines for the first periods, and for the time before the creation. */
function firstLines(
  store: Store,
  subscription: Wire.Subscription,
  input: NewSubscription,
): Wire.InvoiceLine[] {
  const now = store.now();
  const unit = unitOf(subscription.currency);
  const lines = invoiceLines(store, subscription, subscription.items.data, input.trialEnd !== null);
  const { anchor = null, startDate = null, prorates = true } = input;
  const shortened = lines.map((line, index) => {
    const price = subscription.items.data[index]?.price;
    if (anchor === null || price === undefined) return line;
    const whole = { start: earlier(price, anchor, 1), end: anchor };
    return partial(line, prorates ? proratedAmount(line.amount, whole, now, unit) : 0, line.period);
  });
  if (startDate === null || !prorates || input.trialEnd !== null) return shortened;
  const before = lines.flatMap((line, index) => {
    const price = subscription.items.data[index]?.price;
    if (price === undefined || isMetered(price)) return [];
    let amount = 0;
    let [count, end] = [0, now];
    while (end > startDate) {
      const start = earlier(price, now, ++count);
      amount += proratedAmount(line.amount, { start, end }, Math.max(start, startDate), unit);
      end = start;
    }
    return [{ ...partial(line, amount, { start: startDate, end: now }), id: newId('il_') }];
  });
  return [...before, ...shortened];
}

/** The time some periods of the price before another. */
function earlier({ recurring }: Wire.Price, at: number, periods: number): number {
  return addIntervals(at, recurring?.interval ?? 'month', -periods * (recurring?.interval_count ?? 1));
}

function partial(
  line: Wire.InvoiceLine,
  amount: number,
  period: Wire.InvoiceLine['period'],
): Wire.InvoiceLine {
  const { parent } = line;
  const details = parent?.subscription_item_details ?? null;
  return {
    ...line,
    amount,
    subtotal: amount,
    period,
    parent:
      parent === null || details === null
        ? parent
        : { ...parent, subscription_item_details: { ...details, proration: true } },
  };
}

/** A customer's first subscription decides the currency of their balance. */
function chooseCurrency(store: Store, { customer, items }: NewSubscription): void {
  const before = store.customers.get(customer);
  const currency = items[0]?.price.currency;
  if (before?.deleted !== true && before?.currency === null && currency !== undefined)
    updateCustomer(store, customer, { currency });
}

/** Nothing to pay yet: marks the invoice as paid, and requests a card if the subscription will cost something. */
function startFree(store: Store, subscription: Wire.Subscription, invoice: Wire.Invoice): void {
  const willCost = subscription.items.data.some(({ price }) => price.unit_amount !== 0);
  if (willCost && methodFor(store, invoice) === undefined) {
    const setup = createSetupIntent(store, { customer: subscription.customer });
    store.change(store.subscriptions, store.subscriptions.get(subscription.id) ?? subscription, {
      pending_setup_intent: setup.id,
    });
  }
  invoicePaid(store, invoice);
  const { trial_end: trialEnd } = subscription;
  const started = store.subscriptions.get(subscription.id) ?? subscription;
  if (trialEnd !== null && trialEnd - store.now() <= trialNoticeSeconds)
    store.emit('customer.subscription.trial_will_end', started);
}

function startPaid(store: Store, invoice: Wire.Invoice, input: NewSubscription): void {
  if (methodFor(store, invoice) === undefined) throw new WireError(400, noPaymentMethod);
  const failure = collectInvoice(store, invoice, { offSession: input.offSession ?? false });
  const isPaid = store.invoices.get(invoice.id)?.status === 'paid';
  if (input.behavior === 'error_if_incomplete' && !isPaid)
    throw incomplete(failure, 'subscription can start');
}

function subscriptionObject(store: Store, input: NewSubscription, invoiceId: string): Wire.Subscription {
  const now = store.now();
  const id = store.subscriptions.newId();
  const { items, cancelAt = null, cancelsAtPeriodEnd = false } = input;
  const [first] = items;
  if (first === undefined) throw new Error('a subscription needs an item');
  const anchor = input.anchor ?? input.trialEnd ?? now;
  const endOf = (price: Wire.Price) => input.anchor ?? input.trialEnd ?? cycleAt(price, anchor, now).end;
  const ends = Math.min(...input.items.map(({ price }) => endOf(price)));
  return {
    id,
    object: 'subscription',
    ...defaultSubscriptionParts,
    billing_cycle_anchor: anchor,
    cancel_at: cancelsAtPeriodEnd ? ends : cancelAt,
    cancel_at_period_end: cancelsAtPeriodEnd,
    canceled_at: cancelsAtPeriodEnd || cancelAt !== null ? now : null,
    cancellation_details: { comment: null, feedback: null, feedback_option: null, reason: null },
    collection_method: 'charge_automatically',
    created: now,
    currency: first.price.currency,
    customer: input.customer,
    items: {
      object: 'list',
      data: input.items.map(({ price, ...item }) =>
        newItem(store, id, price, { ...item, start: now, end: endOf(price) }),
      ),
      has_more: false,
      url: `/v1/subscription_items?subscription=${id}`,
    },
    latest_invoice: invoiceId,
    livemode: false,
    start_date: input.startDate ?? now,
    test_clock: testClockIdOf(store, input.customer),
    status: 'incomplete',
    trial_end: input.trialEnd,
    trial_start: input.trialEnd === null ? null : now,
    ...input.details,
  };
}

/** Fields of most new subscriptions. Objects are immutable, so all subscriptions share these values. */
const defaultSubscriptionParts = {
  ...nulls(
    'application application_fee_percent billing_cycle_anchor_config billing_thresholds customer_account',
    'days_until_due default_payment_method default_source description ended_at managed_payments',
    'next_pending_invoice_item_invoice on_behalf_of pause_collection pending_invoice_item_interval',
    'pending_setup_intent pending_update schedule transfer_data',
  ),
  automatic_tax: { disabled_reason: null, enabled: false, liability: null },
  billing_schedules: [],
  default_tax_rates: [],
  discounts: [],
  invoice_settings: {
    ...nulls('account_tax_ids custom_fields description footer'),
    issuer: { type: 'self' as const },
  },
  metadata: {},
  payment_settings: {
    ...nulls('payment_method_options payment_method_types'),
    save_default_payment_method: 'off' as const,
  },
  trial_settings: {
    end_behavior: { billing_cycle_anchor: null, missing_payment_method: 'create_invoice' as const },
  },
};
