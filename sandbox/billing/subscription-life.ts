import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import type { Invoice, InvoiceLine, Plan, Price, Subscription, SubscriptionItem } from '../wire/objects.ts';
import { type Interval, periodEnd } from './calendar.ts';
import { collectInvoice, methodFor } from './collect.ts';
import { draftInvoice, draftSeconds, finalizeInvoice, invoiceObject, voidInvoice } from './invoice.ts';
import { cancelSubscription, updateSubscription } from './subscription-change.ts';

/** The processor expires an incomplete subscription after 23 hours. */
const incompleteSeconds = 23 * 60 * 60;
/** The processor announces the end of a trial three days ahead. */
export const trialNoticeSeconds = 3 * 86_400;

/** The processor announces renewals some days ahead. Seven is one of the settings it offers. */
const renewalNoticeSeconds = 7 * 86_400;

/**
 * The times at which the subscription needs work, given its current state. The state does not show whether a renewal or
 * the end of a trial was announced, so those announcements are only due after `doneUntil`.
 */
export function subscriptionDueTimes(subscription: Subscription, doneUntil: number): number[] {
  const { start, end } = periodOf(subscription);
  const notices = (times: readonly number[]) => times.filter((at) => at > Math.max(doneUntil, start));
  const cancelAt = subscription.cancel_at === null ? [] : [subscription.cancel_at];
  switch (subscription.status) {
    case 'incomplete':
      return [subscription.created + incompleteSeconds];
    case 'trialing':
      return [...notices([end - renewalNoticeSeconds, end - trialNoticeSeconds]), end, ...cancelAt];
    case 'active':
      return [...notices([end - renewalNoticeSeconds]), end, ...cancelAt];
    case 'past_due':
    case 'unpaid':
      return [end, ...cancelAt];
    default:
      return [];
  }
}

export function subscriptionFallsDue(store: Store, subscription: Subscription, at: number): void {
  const { end } = periodOf(subscription);
  if (subscription.status === 'incomplete') expire(store, subscription);
  else if (subscription.cancel_at === at || (at === end && subscription.cancel_at_period_end))
    cancelSubscription(store, subscription, 'cancellation_requested');
  else if (at === end) renew(store, subscription);
  else if (at === end - renewalNoticeSeconds) announceRenewal(store, subscription);
  else if (at === end - trialNoticeSeconds) store.emit('customer.subscription.trial_will_end', subscription);
}

/** The current period, which all items share. */
export function periodOf(subscription: Subscription): { readonly start: number; readonly end: number } {
  const [item] = subscription.items.data;
  return { start: item?.current_period_start ?? 0, end: item?.current_period_end ?? 0 };
}

export function withPeriod(items: Subscription['items'], start: number, end: number): Subscription['items'] {
  return {
    ...items,
    data: items.data.map((item) => ({ ...item, current_period_start: start, current_period_end: end })),
  };
}

/** The end of the period that starts at `start`, by the subscription's price and anchor. */
export function nextPeriodEnd(subscription: Subscription, start: number): number {
  const [item] = subscription.items.data;
  if (item === undefined) throw new Error(`${subscription.id} has no items`);
  return periodEndOf(item.price, subscription.billing_cycle_anchor, start);
}

export function periodEndOf({ id, recurring }: Price, anchor: number, start: number): number {
  if (recurring === null) throw new Error(`${id} is not recurring`);
  // The sandbox creates prices only with these four intervals; the package's type allows more.
  return periodEnd(anchor, recurring.interval as Interval, recurring.interval_count, start);
}

export function invoiceLines(
  subscription: Subscription,
  start: number,
  end: number,
  isTrial: boolean,
): InvoiceLine[] {
  return subscription.items.data.map((item) => {
    const quantity = item.quantity ?? 1;
    const amount = isTrial ? 0 : (item.price.unit_amount ?? 0) * quantity;
    return {
      id: newId('il_'),
      object: 'line_item',
      amount,
      currency: subscription.currency,
      description: isTrial ? 'Trial period' : `${quantity} × ${item.price.nickname ?? item.price.product}`,
      discount_amounts: [],
      discountable: true,
      discounts: [],
      invoice: null,
      livemode: false,
      metadata: subscription.metadata,
      parent: {
        invoice_item_details: null,
        subscription_item_details: {
          invoice_item: null,
          proration: false,
          proration_details: null,
          subscription: subscription.id,
          subscription_item: item.id,
        },
        type: 'subscription_item_details',
      },
      period: { start, end },
      pretax_credit_amounts: [],
      pricing: {
        type: 'price_details',
        price_details: { price: item.price.id, product: item.price.product },
        unit_amount_decimal: item.price.unit_amount_decimal ?? '0',
      },
      quantity,
      quantity_decimal: String(quantity),
      subscription: subscription.id,
      subtotal: amount,
      taxes: [],
    };
  });
}

export function newItem(
  store: Store,
  subscriptionId: string,
  price: Price,
  made: {
    readonly quantity: number;
    readonly metadata: Record<string, string>;
    readonly start: number;
    readonly end: number;
  },
): SubscriptionItem {
  return {
    id: newId('si_', 14),
    object: 'subscription_item',
    billing_thresholds: null,
    created: store.now(),
    current_period_end: made.end,
    current_period_start: made.start,
    current_trial: null,
    discounts: [],
    metadata: made.metadata,
    plan: planOf(price),
    price,
    quantity: made.quantity,
    subscription: subscriptionId,
    tax_rates: [],
  };
}

/** The price in the shape of the older plan object, which items still contain. */
export function planOf(price: Price): Plan {
  return {
    id: price.id,
    object: 'plan',
    active: price.active,
    amount: price.unit_amount,
    amount_decimal: price.unit_amount_decimal,
    billing_scheme: 'per_unit',
    created: price.created,
    currency: price.currency,
    interval: price.recurring?.interval ?? 'month',
    interval_count: price.recurring?.interval_count ?? 1,
    livemode: false,
    metadata: price.metadata,
    meter: null,
    nickname: price.nickname,
    product: price.product,
    tiers_mode: null,
    transform_usage: null,
    trial_period_days: null,
    usage_type: 'licensed',
  };
}

/** Finalizes a draft an hour after its creation and collects it. Later calls are the retries. */
export function invoiceFallsDue(store: Store, invoiceId: string, baseUrl: string): void {
  const invoice = store.invoices.get(invoiceId);
  if (invoice === undefined) return;
  const open = invoice.status === 'draft' ? finalizeInvoice(store, invoice, baseUrl) : invoice;
  collectInvoice(store, open, { offSession: true, baseUrl });
}

/** Sends the next invoice as it will be. It has no place among the invoices yet. */
function announceRenewal(store: Store, subscription: Subscription): void {
  if (subscription.cancel_at !== null || subscription.cancel_at_period_end) return;
  const { start, end } = periodOf(subscription);
  const draft = invoiceObject(store, subscription, {
    id: newId('upcoming_in_'),
    reason: 'upcoming',
    lines: invoiceLines(subscription, end, nextPeriodEnd(subscription, end), false),
    periodStart: start,
    periodEnd: end,
    autoAdvance: true,
  });
  const preview: Invoice = { ...draft, next_payment_attempt: end + draftSeconds };
  store.emit('invoice.upcoming', preview);
}

function expire(store: Store, subscription: Subscription): void {
  const invoice =
    subscription.latest_invoice === null ? undefined : store.invoices.get(subscription.latest_invoice);
  if (invoice?.status === 'open') voidInvoice(store, invoice);
  updateSubscription(store, subscription, { status: 'incomplete_expired', ended_at: store.now() });
}

function renew(store: Store, before: Subscription): void {
  const previous = periodOf(before);
  const endedTrial = before.status === 'trialing';
  if (endedTrial && endsWithoutMethod(store, before)) return;
  const start = previous.end;
  const end = nextPeriodEnd(before, start);
  const renewed: Subscription = {
    ...before,
    items: withPeriod(before.items, start, end),
    status: endedTrial ? 'active' : before.status,
  };
  const invoice = draftInvoice(store, renewed, {
    reason: 'subscription_cycle',
    lines: invoiceLines(renewed, start, end, false),
    periodStart: previous.start,
    periodEnd: previous.end,
    // An unpaid subscription keeps creating drafts, but they are not collected.
    autoAdvance: before.status !== 'unpaid',
  });
  const { id: _, object: __, ...changes } = { ...renewed, latest_invoice: invoice.id };
  updateSubscription(store, before, changes);
}

/** Cancels or pauses a trial that ends without a payment method, if it is set up that way. Returns true if so. */
function endsWithoutMethod(store: Store, subscription: Subscription): boolean {
  const wanted = subscription.trial_settings?.end_behavior.missing_payment_method ?? 'create_invoice';
  const invoice =
    subscription.latest_invoice === null ? undefined : store.invoices.get(subscription.latest_invoice);
  if (wanted === 'create_invoice' || (invoice !== undefined && methodFor(store, invoice) !== undefined))
    return false;
  if (wanted === 'cancel') cancelSubscription(store, subscription, 'cancellation_requested');
  else {
    const paused = store.change(store.subscriptions, subscription, { status: 'paused' });
    store.emit('customer.subscription.paused', paused, { status: subscription.status });
  }
  return true;
}
