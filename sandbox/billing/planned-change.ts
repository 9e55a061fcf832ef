import { unitOf } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import type { InvoiceItem, InvoiceLine, Subscription, SubscriptionItem } from '../wire/objects.ts';
import { badParam } from '../wire/wire-error.ts';
import { creditedItems } from './credited-items.ts';
import { currentTerms } from './discount.ts';
import { discountAmounts } from './discount-amounts.ts';
import { invoiceItemObject } from './invoice-item.ts';
import { prorationText } from './line-text.ts';
import { creditsFor, type ProratedItem, type Proration, prorationsBetween } from './proration.ts';
import { invoiceLines, nextPeriodEnd, periodOf, productName, withPeriod } from './subscription-items.ts';

export type ProrationBehavior = 'always_invoice' | 'create_prorations' | 'none';

export interface WantedChange {
  readonly items: Subscription['items'];
  /** `now` always starts a new period. `unchanged` keeps the period when a free price becomes a paid one. */
  readonly anchor: 'now' | 'unchanged' | null;
  readonly proration: ProrationBehavior;
  /** Prorates as if the change happened at this time. */
  readonly prorationDate: number | null;
}

/** A change and its cost. It is not stored, so it can be previewed, applied, or held until it is paid. */
export interface PlannedChange {
  /** The subscription after the change. */
  readonly subscription: Subscription;
  readonly prorations: readonly InvoiceItem[];
  /** What is billed at once. Null if the prorations wait for the next invoice. */
  readonly bill: {
    readonly lines: readonly InvoiceLine[];
    /** Bills everything that waits for an invoice of the subscription, not only the prorations of this change. */
    readonly includesPending: boolean;
  } | null;
}

/**
 * Plans a change of items. In classic billing mode, a different interval or a change from a free to a paid price starts
 * a new period now, which is billed at once, as after a reset of the anchor. In flexible mode, only a reset does that.
 */
export function planChange(store: Store, before: Subscription, wanted: WantedChange): PlannedChange {
  const { items, anchor, proration, prorationDate } = wanted;
  const period = periodOf(before);
  if (prorationDate !== null && (prorationDate < period.start || prorationDate > period.end))
    throw badParam(
      'Cannot specify proration date outside of current subscription period or current phase.',
      'proration_date',
    );
  // A trial costs nothing, and a paused subscription has no period to prorate.
  if (before.status === 'trialing' || before.status === 'paused')
    return { subscription: { ...before, items }, prorations: [], bill: null };
  const at = prorationDate ?? Math.min(store.now(), period.end);
  const unit = unitOf(before.currency);
  const old = proratedItems(store, before, before.items);
  const isFlexible = before.billing_mode.type === 'flexible';
  if (!startsPeriod(before, items, anchor)) {
    const changes =
      proration === 'none'
        ? []
        : prorationsBetween(old, proratedItems(store, before, items), period, at, unit);
    return {
      subscription: { ...before, items },
      prorations: itemsFor(store, before, items, changes),
      bill:
        proration === 'always_invoice' && changes.length > 0
          ? { lines: [], includesPending: isFlexible }
          : null,
    };
  }
  const credits = proration === 'none' ? [] : creditsFor(old, period, at, unit);
  const subscription = restarted(store, before, items);
  const { start, end } = periodOf(subscription);
  return {
    subscription,
    prorations: itemsFor(store, before, items, credits),
    bill: {
      lines: invoiceLines(subscription, start, end, false),
      includesPending: isFlexible || proration !== 'always_invoice',
    },
  };
}

/** The subscription with a new period and a new anchor, both starting now. */
export function restarted(store: Store, before: Subscription, items: Subscription['items']): Subscription {
  const now = store.now();
  const anchored: Subscription = { ...before, items, billing_cycle_anchor: now };
  const end = nextPeriodEnd(anchored, now);
  return {
    ...anchored,
    items: withPeriod(items, now, end),
    ...(before.cancel_at_period_end ? { cancel_at: end } : {}),
  };
}

function startsPeriod(
  { items: before, billing_mode: { type: mode } }: Subscription,
  after: Subscription['items'],
  anchor: WantedChange['anchor'],
): boolean {
  if (anchor === 'now') return true;
  const keeps = anchor === 'unchanged' || mode === 'flexible';
  if (intervalOf(before) === intervalOf(after)) return !keeps && isFree(before) && !isFree(after);
  if (keeps)
    throw badParam(
      `The sandbox cannot keep the billing cycle anchor when the interval changes, which is the default in flexible billing mode. Set billing_cycle_anchor to now.`,
      'billing_cycle_anchor',
    );
  return true;
}

export function intervalOf({ data: [item] }: Subscription['items']): string {
  const recurring = item?.price.recurring;
  return `${recurring?.interval_count} ${recurring?.interval}`;
}

function isFree({ data }: Subscription['items']): boolean {
  return data.every(({ price, quantity }) => (price.unit_amount ?? 0) * (quantity ?? 1) === 0);
}

/** The cost of the items with the discounts of the subscription. */
function proratedItems(
  store: Store,
  subscription: Subscription,
  { data }: Subscription['items'],
): ProratedItem[] {
  const items = data.map(proratedItem);
  const lines = items.map(({ unitAmount, quantity }) => ({
    amount: unitAmount * quantity,
    discountable: true,
  }));
  const taken = discountAmounts(lines, currentTerms(store, subscription), unitOf(subscription.currency));
  return items.map((item, index) => ({
    ...item,
    off: (taken[index] ?? []).reduce((sum, { amount }) => sum + amount, 0),
  }));
}

function proratedItem({ id, price, quantity }: SubscriptionItem): ProratedItem {
  return { id, price: price.id, unitAmount: price.unit_amount ?? 0, quantity: quantity ?? 1 };
}

/** The prorations as invoice items. A removed item is found only in the subscription before the change. */
function itemsFor(
  store: Store,
  before: Subscription,
  after: Subscription['items'],
  prorations: readonly Proration[],
): InvoiceItem[] {
  const items = [...before.items.data, ...after.data];
  return prorations.flatMap((proration) => {
    const { item, amount, period } = proration;
    const price = items.find(({ price: { id } }) => id === item.price)?.price;
    if (price === undefined) return [];
    return invoiceItemObject(store, {
      customer: before.customer,
      currency: before.currency,
      amount,
      quantity: item.quantity,
      pricing: {
        type: 'price_details',
        price_details: { price: price.id, product: price.product },
        unit_amount_decimal: unitText(amount, item.quantity),
      },
      description: prorationText(productName(store, price), proration),
      discountable: false,
      metadata: {},
      period,
      invoice: null,
      subscription: before.id,
      prorated: {
        subscriptionItem: item.id,
        creditedItems: proration.kind === 'credit' ? creditedItems(store, before, item.id) : null,
      },
    });
  });
}

/** Twelve decimal places are the processor's own limit. */
const decimalPlacesMax = 12;

function unitText(amount: number, quantity: number): string {
  const unit = quantity === 0 ? amount : amount / quantity;
  return String(Number(unit.toFixed(decimalPlacesMax)));
}
