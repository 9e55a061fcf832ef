import { newId } from '../ids.ts';
import type { Store } from '../state/store.ts';
import type { InvoiceLine, Plan, Price, Subscription, SubscriptionItem } from '../wire/objects.ts';
import { type Interval, periodEnd } from './calendar.ts';

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
  // The sandbox creates prices only with these four intervals. The package's type allows more.
  return periodEnd(anchor, recurring.interval as Interval, recurring.interval_count, start);
}

/** Marks the lines of a trial until their invoice describes them. */
export const trialDescription = 'Trial period';

export function productName(store: Store, price: Price): string {
  return store.products.get(price.product)?.name ?? price.product;
}

/** The lines for one period. Their invoice describes them. */
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
  input: {
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
    current_period_end: input.end,
    current_period_start: input.start,
    current_trial: null,
    discounts: [],
    metadata: input.metadata,
    plan: planOf(price),
    price,
    quantity: input.quantity,
    subscription: subscriptionId,
    tax_rates: [],
  };
}

/** The price in the form of the older plan object, which items still contain. */
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
