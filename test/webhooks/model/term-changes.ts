import type { Stripe } from 'stripe';
import { mainItemTruth } from '../../support/checks/subscription-truth.ts';
import { createPromotionCode } from '../../support/promotion-codes.ts';
import type { Command } from './world.ts';

export type TermCommand = Extract<
  Command,
  {
    what:
      | 'change quantity'
      | 'change add-ons'
      | 'meter'
      | 'discount'
      | 'end by date'
      | 'schedule'
      | 'release schedule'
      | 'detach card';
  }
>;

/** Changes the terms of a subscription on the dashboard. */
export async function changeTerms(
  stripe: Stripe,
  {
    id,
    customer,
    price,
    addOns,
    meter,
  }: {
    readonly id: string;
    readonly customer: string;
    readonly price: string | undefined;
    /** The prices of the add-ons. */
    readonly addOns: readonly string[];
    /** A metered price, which is not a Till plan. */
    readonly meter: string;
  },
  command: TermCommand,
): Promise<unknown> {
  // A list, because the model's faults meet single reads.
  const { data } = await stripe.subscriptions.list({ customer, status: 'all' });
  const subscription = data.find((one) => one.id === id);
  if (subscription === undefined) return;
  const { schedule } = subscription;
  switch (command.what) {
    case 'change quantity': {
      const item = mainItemTruth(subscription);
      const items = [{ id: item?.id ?? '', quantity: command.quantity }];
      return stripe.subscriptions.update(id, { items, proration_behavior: 'none' });
    }
    case 'change add-ons': {
      const items = addOns.flatMap((addOn, index) =>
        itemChange(subscription, addOn, command.quantities[index]),
      );
      return stripe.subscriptions.update(id, { items, proration_behavior: 'create_prorations' });
    }
    case 'meter': {
      const items = itemChange(subscription, meter, command.isThere ? null : 0);
      return stripe.subscriptions.update(id, { items });
    }
    case 'discount': {
      if (command.percent === null) return stripe.subscriptions.deleteDiscount(id);
      const terms = { percent_off: command.percent, duration: command.duration };
      const discount = command.hasCode
        ? { promotion_code: (await createPromotionCode({ stripe }, { max_redemptions: 1 }, terms)).id }
        : { coupon: (await stripe.coupons.create(terms)).id };
      return stripe.subscriptions.update(id, { discounts: [discount] });
    }
    case 'end by date': {
      const item = mainItemTruth(subscription);
      if (item === undefined) return;
      const { current_period_start: start, current_period_end: end } = item;
      const at = { 'this period': end, 'next period': end + (end - start), never: '' } as const;
      return stripe.subscriptions.update(id, { cancel_at: at[command.when] });
    }
    case 'schedule':
      return price === undefined ? undefined : scheduleChange(stripe, id, price, command.quantity);
    case 'release schedule':
      return typeof schedule === 'string' ? stripe.subscriptionSchedules.release(schedule) : undefined;
    case 'detach card': {
      const { default_payment_method: card } = subscription;
      return typeof card === 'string' ? stripe.paymentMethods.detach(card) : undefined;
    }
  }
}

/** Adds, changes or removes the item of a price. Null: without a quantity. */
function itemChange(
  { items }: Stripe.Subscription,
  price: string,
  quantity: number | null = 0,
): Stripe.SubscriptionUpdateParams.Item[] {
  const item = items.data.find((one) => one.price.id === price);
  if (quantity === 0) return item === undefined ? [] : [{ id: item.id, deleted: true }];
  if (item === undefined) return [{ price, ...(quantity === null ? {} : { quantity }) }];
  return quantity === null || item.quantity === quantity ? [] : [{ id: item.id, quantity }];
}

async function scheduleChange(stripe: Stripe, id: string, price: string, quantity: number): Promise<void> {
  const created = await stripe.subscriptionSchedules.create({ from_subscription: id });
  const [phase] = created.phases;
  const [item] = phase?.items ?? [];
  if (phase === undefined || item === undefined) return;
  await stripe.subscriptionSchedules.update(created.id, {
    end_behavior: 'release',
    phases: [
      {
        ...{ start_date: phase.start_date, end_date: phase.end_date },
        items: [{ price: String(item.price), quantity: item.quantity ?? 1 }],
      },
      { items: [{ price, quantity }], proration_behavior: 'none' },
    ],
  });
}
