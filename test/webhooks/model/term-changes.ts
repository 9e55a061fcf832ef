import type { Stripe } from 'stripe';
import type { Command } from './world.ts';

export type TermCommand = Extract<
  Command,
  { what: 'change quantity' | 'discount' | 'end by date' | 'schedule' | 'release schedule' | 'detach card' }
>;

/** Changes the terms of a subscription on the dashboard. */
export async function changeTerms(
  stripe: Stripe,
  {
    id,
    customer,
    price,
  }: { readonly id: string; readonly customer: string; readonly price: string | undefined },
  command: TermCommand,
): Promise<unknown> {
  // A list, because the model's faults meet single reads.
  const { data } = await stripe.subscriptions.list({ customer, status: 'all' });
  const subscription = data.find((one) => one.id === id);
  if (subscription === undefined) return;
  const { schedule } = subscription;
  switch (command.what) {
    case 'change quantity': {
      const [item] = subscription.items.data;
      const items = [{ id: item?.id ?? '', quantity: command.quantity }];
      return stripe.subscriptions.update(id, { items, proration_behavior: 'none' });
    }
    case 'discount': {
      if (command.percent === null) return stripe.subscriptions.deleteDiscount(id);
      const coupon = await stripe.coupons.create({ percent_off: command.percent, duration: 'forever' });
      return stripe.subscriptions.update(id, { discounts: [{ coupon: coupon.id }] });
    }
    case 'end by date': {
      const [item] = subscription.items.data;
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
