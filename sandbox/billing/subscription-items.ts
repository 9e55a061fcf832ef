import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import type { InvoiceLine, Price, Subscription, SubscriptionItem, TaxRate } from '../wire/objects.ts';
import { periodAt } from './calendar.ts';
import { costOf, isMetered, planOf, pricingOf } from './price.ts';
import { taxesOn } from './tax.ts';

type Items = Subscription['items'];
type Period = ReturnType<typeof periodAt>;

/** The current period that ends first: items with different intervals have different periods. */
export function periodOf({ items: { data } }: Subscription): Period {
  const end = Math.min(...data.map((item) => item.current_period_end));
  const ending = data.filter((item) => item.current_period_end === end);
  return { start: Math.min(...ending.map((item) => item.current_period_start)), end };
}

/** The items in one period, such as a trial. */
export function withPeriod(items: Items, start: number, end: number): Items {
  const period = { current_period_start: start, current_period_end: end };
  return { ...items, data: items.data.map((item) => ({ ...item, ...period })) };
}

/** The items, each at the start of a period. */
export function startedAt(items: Items, anchor: number, start: number): Items {
  return { ...items, data: items.data.map((item) => startItem(item, anchor, start)) };
}

export function startItem(item: SubscriptionItem, anchor: number, start: number): SubscriptionItem {
  const { end } = cycleAt(item.price, anchor, start);
  return { ...item, current_period_start: start, current_period_end: end };
}

/**
 * The whole period that contains a time, by the price and the anchor. An item that was added later has only its rest.
 */
export function cycleAt({ id, recurring }: Price, anchor: number, at: number): Period {
  if (recurring === null) throw new Error(`${id} is not recurring`);
  return periodAt(anchor, recurring.interval, recurring.interval_count, at);
}

export function intervalOf({ recurring }: Pick<Price, 'recurring'>): string {
  return `${recurring?.interval_count} ${recurring?.interval}`;
}

/** Marks the lines of a trial until their invoice describes them. */
export const trialDescription = 'Trial period';

export function productName(store: Store, price: Price): string {
  return store.products.get(price.product)?.name ?? price.product;
}

/** The items after a renewal at this time, and the lines of those that start a period. Usage is billed afterwards. */
export function renewal(
  store: Store,
  subscription: Subscription,
  at: number,
): { readonly items: Items; readonly lines: InvoiceLine[] } {
  const { items, billing_cycle_anchor: anchor } = subscription;
  const ending = items.data.filter((item) => item.current_period_end <= at);
  const next = (item: SubscriptionItem) => (ending.includes(item) ? startItem(item, anchor, at) : item);
  const billed = ending.map((item) => (isMetered(item.price) ? item : next(item)));
  return {
    items: { ...items, data: items.data.map(next) },
    lines: invoiceLines(store, subscription, billed),
  };
}

/** The lines for the current periods of these items. Their invoice describes them. */
export function invoiceLines(
  store: Store,
  subscription: Subscription,
  items: readonly SubscriptionItem[] = subscription.items.data,
  isTrial = false,
): InvoiceLine[] {
  return items.map((item) => {
    const quantity = isMetered(item.price) ? 0 : (item.quantity ?? 1);
    const amount = isTrial ? 0 : costOf(store, item.price, quantity);
    return {
      id: newId('il_'),
      object: 'line_item',
      amount,
      currency: subscription.currency,
      description: isTrial ? trialDescription : null,
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
          proration_details: { credited_items: null },
          subscription: subscription.id,
          subscription_item: item.id,
        },
        type: 'subscription_item_details',
      },
      period: { start: item.current_period_start, end: item.current_period_end },
      pretax_credit_amounts: [],
      pricing: pricingOf(item.price),
      quantity,
      quantity_decimal: String(quantity),
      subscription: subscription.id,
      subtotal: amount,
      taxes: taxesOn(0, item.tax_rates ?? []),
    };
  });
}

export function newItem(
  store: Store,
  subscriptionId: string,
  price: Price,
  input: {
    readonly quantity: number | undefined;
    readonly metadata: Record<string, string>;
    readonly taxRates?: readonly TaxRate[];
    readonly start: number;
    readonly end: number;
  },
): SubscriptionItem {
  return withPrice(
    {
      id: newId('si_', 14),
      object: 'subscription_item',
      billing_thresholds: null,
      created: store.now(),
      current_period_end: input.end,
      current_period_start: input.start,
      current_trial: null,
      discounts: [],
      metadata: input.metadata,
      plan: planOf(price),
      price,
      subscription: subscriptionId,
      tax_rates: [...(input.taxRates ?? [])],
    },
    price,
    input.quantity,
  );
}

/** The item with another price or quantity. The quantity is 1 by default, and absent if the price is metered. */
export function withPrice(
  { quantity: _, ...item }: SubscriptionItem,
  price: Price,
  quantity = 1,
): SubscriptionItem {
  return { ...item, plan: planOf(price), price, ...(isMetered(price) ? {} : { quantity }) };
}
