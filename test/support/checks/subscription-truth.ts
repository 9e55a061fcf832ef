import assert from 'node:assert/strict';
import type { Stripe } from 'stripe';

/** What a row must say about a subscription, from the processor's own objects. */
export function subscriptionTruth(
  subscription: Stripe.Subscription,
  invoices: readonly Stripe.Invoice[],
): [string, object] {
  const [item] = subscription.items.data;
  const status = subscription.status === 'paused' ? 'unpaid' : subscription.status;
  return [
    subscription.id,
    {
      customer: idOf(subscription.customer),
      price: item?.price.id,
      status,
      periodStart: item?.current_period_start,
      periodEnd: item?.current_period_end,
      trialEnd: subscription.trial_end,
      quantity: item?.quantity ?? 1,
      cancelAtPeriodEnd: endsWithPeriodTruth(subscription),
      cancelAt: subscription.cancel_at,
      canceledAt: subscription.canceled_at,
      endedAt: subscription.ended_at,
      latestInvoice: idOf(subscription.latest_invoice),
      card: idOf(subscription.default_payment_method),
      discount: discountTruth(subscription, invoices),
      pendingChange: pendingChangeTruth(subscription),
      paidUntil: paidUntilTruth(subscription, invoices),
      isIncomplete: false,
    },
  ];
}

/** Whether it ends with its current period. The processor's portal says so by the date alone. */
export function endsWithPeriodTruth(subscription: Stripe.Subscription): boolean {
  const { cancel_at_period_end: flag, cancel_at: at, ended_at: endedAt, items } = subscription;
  return flag || (endedAt === null && at !== null && at === items.data[0]?.current_period_end);
}

/** The first discount, or the one for one invoice that the latest invoice has used and that is not paid yet. */
function discountTruth(
  { discounts, latest_invoice: latest }: Stripe.Subscription,
  invoices: readonly Stripe.Invoice[],
): object | null {
  const invoice = invoices.find(({ id }) => id === idOf(latest));
  const isUnpaid = invoice?.status === 'draft' || invoice?.status === 'open';
  const used = isUnpaid ? invoice.discounts.filter((one) => couponOf(one).duration === 'once') : [];
  const [discount] = discounts.length > 0 ? discounts : used;
  if (discount === undefined) return null;
  const coupon = couponOf(discount);
  assert(typeof discount === 'object' && !('deleted' in discount));
  const code = discount.promotion_code;
  assert(typeof code !== 'string');
  const { percent_off: percentOff, amount_off: amountOff, currency } = coupon;
  return { code: code?.code ?? null, percentOff, amountOff, currency: currency ?? null, end: discount.end };
}

function couponOf(discount: Stripe.Invoice['discounts'][number]): Stripe.Coupon {
  const coupon = typeof discount === 'object' ? discount.source.coupon : null;
  assert(typeof coupon === 'object' && coupon !== null, 'the discount is expanded');
  return coupon;
}

/** The price and quantity of the change that waits, or of the next phase that differs from now. */
function pendingChangeTruth(subscription: Stripe.Subscription): object | null {
  const { pending_update: update, schedule, items, ended_at: endedAt } = subscription;
  const [item] = items.data;
  if (endedAt !== null) return null;
  if (update !== null) {
    const [next = item] = update.subscription_items ?? [];
    return { price: next?.price.id, quantity: next?.quantity, at: null };
  }
  assert(typeof schedule !== 'string');
  const later = (schedule?.phases ?? []).filter(
    ({ start_date: start }) => start >= (schedule?.current_phase?.end_date ?? 0),
  );
  const phases = later.map(({ start_date: at, items: [next] }) => ({
    ...{ price: next === undefined ? null : idOf(next.price), quantity: next?.quantity ?? 1, at },
  }));
  return phases.find(({ price, quantity }) => price !== item?.price.id || quantity !== item.quantity) ?? null;
}

/** Till shows it while the subscription is `past_due`: where the latest paid invoice ends. */
function paidUntilTruth(
  { id, status }: Stripe.Subscription,
  invoices: readonly Stripe.Invoice[],
): number | null {
  if (status !== 'past_due') return null;
  const paid = invoices
    .filter((invoice) => idOf(invoice.parent?.subscription_details?.subscription ?? null) === id)
    .filter((invoice) => invoice.status === 'paid')
    .flatMap((invoice) => {
      const until = coversUntilTruth(invoice);
      return until === null ? [] : [{ created: invoice.created, until }];
    })
    .toSorted((a, b) => b.created - a.created || b.until - a.until);
  return paid[0]?.until ?? null;
}

/** Where the last period ends that the lines of the subscription pay for. Changes within a period do not count. */
export function coversUntilTruth({ lines }: Stripe.Invoice): number | null {
  const ends = lines.data
    .filter(({ parent, amount }) => amount >= 0 && parent?.subscription_item_details?.proration === false)
    .map(({ period }) => period.end);
  return ends.length === 0 ? null : Math.max(...ends);
}

export function idOf(reference: string | { readonly id: string } | null): string | null {
  return typeof reference === 'string' ? reference : (reference?.id ?? null);
}

/** The same values from the rows. */
export const subscriptionRows = `
  select processor_subscription_id as key, json_build_object('customer', processor_customer_id,
    'price', processor_price_id, 'status', status,
    'periodStart', extract(epoch from current_period_start)::bigint,
    'periodEnd', extract(epoch from current_period_end)::bigint,
    'trialEnd', extract(epoch from trial_end)::bigint, 'quantity', quantity,
    'cancelAtPeriodEnd', cancel_at_period_end, 'cancelAt', extract(epoch from cancel_at)::bigint,
    'canceledAt', extract(epoch from canceled_at)::bigint, 'endedAt', extract(epoch from ended_at)::bigint,
    'metadata', coalesce(subscriptions.metadata, '{}'),
    'latestInvoice', processor_latest_invoice_id, 'card', default_payment_method_id,
    'discount', case when discount is not null and not exists (select from till.invoices
      where invoices.processor_invoice_id = discount->>'usedBy'
        and invoices.status not in ('draft', 'open')) then json_build_object('code', discount->'code',
      'percentOff', discount->'percentOff', 'amountOff', discount->'amountOff',
      'currency', discount->'currency',
      'end', extract(epoch from (discount->>'endsAt')::timestamptz)::bigint) end,
    'pendingChange', case when pending_change is not null then json_build_object(
      'price', (select next.processor_price_id from till.plans next
        where next.id = (pending_change->>'planId')::uuid),
      'quantity', pending_change->'quantity',
      'at', extract(epoch from (pending_change->>'at')::timestamptz)::bigint) end,
    'paidUntil', case when status = 'past_due' then (
      select extract(epoch from covers_until)::bigint from till.invoices paid
      where paid.processor_subscription_id = subscriptions.processor_subscription_id
        and paid.status = 'paid' and covers_until is not null
      order by paid.created_at desc, covers_until desc limit 1) end,
    'isIncomplete', is_incomplete) as value
  from till.subscriptions join till.customers on customers.id = customer_id
    join till.plans on plans.id = plan_id`;
