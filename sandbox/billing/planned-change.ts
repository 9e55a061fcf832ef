import { unitOf } from '../payments/money.ts';
import type { Store } from '../state/store.ts';
import type { InvoiceItem, InvoiceLine, Subscription } from '../wire/objects.ts';
import { badParam } from '../wire/wire-error.ts';
import { currentTerms, type DiscountTerms, discountAmounts } from './discount.ts';
import { invoiceItemObject, pendingOf } from './invoice-item.ts';
import { prorationText } from './line-text.ts';
import { costOf, isMetered, pricingOf } from './price.ts';
import { creditsFor, type ProratedItem, type Proration, prorationsBetween } from './proration.ts';
import { cycleAt, intervalOf, invoiceLines, periodOf, productName, startedAt } from './subscription-items.ts';

type ProrationBehavior = 'always_invoice' | 'create_prorations' | 'none';

interface WantedChange {
  readonly items: Subscription['items'];
  /** `now` always starts a new period. `unchanged` keeps the period when a free price becomes a paid one. */
  readonly anchor: 'now' | 'unchanged' | null;
  readonly proration: ProrationBehavior;
  /** Prorates as if the change happened at this time. */
  readonly prorationDate: number | null;
  /** By default, the discounts that the subscription or its customer has. */
  readonly discounts?: readonly DiscountTerms[] | undefined;
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
  const at = prorationDate ?? store.now();
  const unit = unitOf(before.currency);
  const terms = wanted.discounts ?? currentTerms(store, before);
  const old = proratedItems(store, before, before.items, terms);
  const isFlexible = before.billing_mode.type === 'flexible';
  if (!startsPeriod(store, before, items, anchor)) {
    const changes =
      proration === 'none'
        ? []
        : prorationsBetween(old, proratedItems(store, before, items, terms), at, unit);
    return {
      subscription: { ...before, items },
      prorations: itemsFor(store, before, items, changes),
      bill:
        proration === 'always_invoice' && changes.length > 0
          ? { lines: [], includesPending: isFlexible }
          : null,
    };
  }
  const credits = proration === 'none' ? [] : creditsFor(old, at, unit);
  const subscription = restarted(store, before, items);
  return {
    subscription,
    prorations: itemsFor(store, before, items, credits),
    bill: {
      lines: invoiceLines(store, subscription),
      includesPending: isFlexible || proration !== 'always_invoice',
    },
  };
}

/** The subscription with a new anchor and new periods, all starting now. */
export function restarted(store: Store, before: Subscription, items: Subscription['items']): Subscription {
  const now = store.now();
  const moved: Subscription = {
    ...before,
    items: startedAt(items, now, now),
    billing_cycle_anchor: now,
  };
  return before.cancel_at_period_end ? { ...moved, cancel_at: periodOf(moved).end } : moved;
}

function startsPeriod(
  store: Store,
  { items: before, billing_mode: { type: mode } }: Subscription,
  after: Subscription['items'],
  anchor: WantedChange['anchor'],
): boolean {
  if (anchor === 'now') return true;
  if (mode === 'flexible') return false;
  if (sharesInterval(before, after))
    return anchor !== 'unchanged' && isFree(store, before) && !isFree(store, after);
  if (anchor === 'unchanged')
    throw badParam(
      'In classic billing mode, the sandbox cannot keep the billing cycle anchor when the interval changes.',
      'billing_cycle_anchor',
    );
  return true;
}

/** Whether a period can continue. In classic billing mode, all items have the same interval. */
export function sharesInterval(before: Subscription['items'], after: Subscription['items']): boolean {
  const intervals = new Set(before.data.map(({ price }) => intervalOf(price)));
  return after.data.some(({ price }) => intervals.has(intervalOf(price)));
}

function isFree(store: Store, { data }: Subscription['items']): boolean {
  return data.every(({ price, quantity }) => costOf(store, price, quantity) === 0);
}

/** The cost of the items with the discounts. Usage is not prorated. */
function proratedItems(
  store: Store,
  subscription: Subscription,
  { data }: Subscription['items'],
  terms: readonly DiscountTerms[] = currentTerms(store, subscription),
): ProratedItem[] {
  const items = data.filter(({ price }) => !isMetered(price));
  const lines = items.map(({ price, quantity }) => ({
    amount: costOf(store, price, quantity),
    discountable: true,
    product: price.product,
  }));
  const taken = discountAmounts(lines, terms, unitOf(subscription.currency));
  return items.map((item, index) => ({
    id: item.id,
    price: item.price.id,
    quantity: item.quantity ?? 1,
    amount: (taken[index] ?? []).reduce((left, { amount }) => left - amount, lines[index]?.amount ?? 0),
    period: cycleAt(item.price, subscription.billing_cycle_anchor, item.current_period_start),
    since: item.current_period_start,
  }));
}

/** The credits for the unused time of a subscription that ends now. */
export function unusedTime(store: Store, subscription: Subscription): InvoiceItem[] {
  const { currency, items, status } = subscription;
  // A trial costs nothing, and a paused or incomplete subscription has no paid period.
  if (status !== 'active' && status !== 'past_due' && status !== 'unpaid') return [];
  const credits = creditsFor(proratedItems(store, subscription, items), store.now(), unitOf(currency));
  return itemsFor(store, subscription, items, credits);
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
      pricing: pricingOf(price, unitText(amount, item.quantity)),
      description: prorationText(productName(store, price), proration),
      discountable: false,
      period,
      subscription: before.id,
      tax_rates: items.find(({ id }) => id === item.id)?.tax_rates ?? [],
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

type ProrationDetails = NonNullable<InvoiceItem['proration_details']>;

/** The charge that a credit for the subscription item reverses: an item that waits for an invoice, or a line of one. */
function creditedItems(
  store: Store,
  subscription: Subscription,
  subscriptionItem: string,
): ProrationDetails['credited_items'] {
  const { id } = subscription;
  const waiting = pendingOf(store, subscription).findLast(
    ({ amount, parent }) => amount > 0 && parent?.subscription_details.subscription_item === subscriptionItem,
  );
  if (waiting !== undefined) return { type: 'invoice_item', invoice_item: waiting.id };
  const end = subscription.items.data.find((item) => item.id === subscriptionItem)?.current_period_end;
  const billed = store.invoices
    .allWithin('subscription', id)
    .filter(({ status }) => status !== 'draft' && status !== 'void')
    .flatMap((invoice) =>
      invoice.lines.data
        .filter(
          ({ amount, parent, period }) =>
            amount > 0 &&
            period.end === end &&
            parent?.subscription_item_details?.subscription_item === subscriptionItem,
        )
        .map((line) => ({ invoice: invoice.id, created: invoice.created, line: line.id })),
    )
    .sort((a, b) => a.created - b.created)
    .at(-1);
  if (billed === undefined) return null;
  return {
    type: 'invoice_line_items',
    invoice_line_item_details: { invoice: billed.invoice, invoice_line_items: [billed.line] },
  };
}
