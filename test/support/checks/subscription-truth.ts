import assert from 'node:assert/strict';
import type { Stripe } from 'stripe';

/** What a row must say about a subscription, from the processor's own objects. */
export function subscriptionTruth(
  subscription: Stripe.Subscription,
  invoices: readonly Stripe.Invoice[],
  prices: readonly Stripe.Price[],
): [string, object] {
  const item = mainItemTruth(subscription);
  const others = subscription.items.data.filter((one) => one !== item);
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
      addOns: addOnsTruth(subscription),
      otherItems: others
        .filter(({ price }) => !isPlan(price))
        .map(({ price, quantity }) => ({
          ...{ processorPriceId: price.id, quantity: quantity ?? null, description: price.nickname },
        }))
        .toSorted((a, b) => (a.processorPriceId < b.processorPriceId ? -1 : 1)),
      cancelAtPeriodEnd: endsWithPeriodTruth(subscription),
      cancelAt: subscription.cancel_at,
      canceledAt: subscription.canceled_at,
      endedAt: subscription.ended_at,
      latestInvoice: idOf(subscription.latest_invoice),
      card: idOf(subscription.default_payment_method),
      discount: discountTruth(subscription, invoices),
      pendingChange: pendingChangeTruth(subscription, prices),
      paidUntil: paidUntilTruth(subscription, invoices),
      isIncomplete: false,
    },
  ];
}

type Item = Pick<Stripe.SubscriptionItem, 'price' | 'quantity'>;

/** The tests give a subscription one plan that is no add-on. That is the main plan, however the items are ordered. */
export function mainItemTruth<One extends { readonly price: Stripe.Price }>({
  items: { data },
}: {
  readonly items: { readonly data: readonly One[] };
}): One | undefined {
  const ofTill = data.filter(({ price }) => isPlan(price));
  return ofTill.find(({ price }) => price.metadata['till_add_on'] !== 'true') ?? ofTill[0] ?? data[0];
}

function isPlan({ metadata }: Stripe.Price): boolean {
  return metadata['till_id'] !== undefined;
}

/** The other plans, in the order of their prices. */
export function addOnsTruth<One extends Item>(subscription: {
  readonly items: { readonly data: readonly One[] };
}): readonly object[] {
  const main = mainItemTruth(subscription);
  return subscription.items.data
    .filter((one) => one !== main && isPlan(one.price))
    .map(({ price, quantity }) => ({ price: price.id, quantity: quantity ?? 1 }))
    .toSorted((a, b) => (a.price < b.price ? -1 : 1));
}

/** The processor may keep the comment of a cancellation that was taken back. */
export function reasonTruth(subscription: Stripe.Subscription): string | null {
  const { cancel_at: at, canceled_at: canceledAt, cancellation_details: details } = subscription;
  return at === null && canceledAt === null ? null : (details?.comment ?? null);
}

/** Whether it ends with its current period. The processor's portal says so by the date alone. */
export function endsWithPeriodTruth(subscription: Stripe.Subscription): boolean {
  const { cancel_at_period_end: flag, cancel_at: at, ended_at: endedAt } = subscription;
  const end = mainItemTruth(subscription)?.current_period_end;
  return flag || (endedAt === null && at !== null && at === end);
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
  const shown = code?.code ?? coupon.metadata?.['till_code'] ?? null;
  return { code: shown, percentOff, amountOff, currency: currency ?? null, end: discount.end };
}

function couponOf(discount: Stripe.Invoice['discounts'][number]): Stripe.Coupon {
  const coupon = typeof discount === 'object' ? discount.source.coupon : null;
  assert(typeof coupon === 'object' && coupon !== null, 'the discount is expanded');
  return coupon;
}

/** The plans of the change that waits, or of the next phase that differs from now. */
function pendingChangeTruth(
  subscription: Stripe.Subscription,
  prices: readonly Stripe.Price[],
): object | null {
  const { pending_update: update, schedule, items, ended_at: endedAt } = subscription;
  if (endedAt !== null) return null;
  const termsOf = (data: readonly Item[]) => {
    const main = mainItemTruth({ items: { data } });
    return {
      ...{ price: main?.price.id, quantity: main?.quantity ?? 1 },
      addOns: addOnsTruth({ items: { data } }),
    };
  };
  if (update !== null) return { ...termsOf(update.subscription_items ?? items.data), at: null };
  assert(typeof schedule !== 'string');
  const later = (schedule?.phases ?? []).filter(
    ({ start_date: start }) => start >= (schedule?.current_phase?.end_date ?? 0),
  );
  const itemsText = (data: readonly Item[]) =>
    data
      .map(({ price, quantity }) => `${price.id} ${quantity}`)
      .toSorted()
      .join();
  const next = later
    .map((phase) => ({
      at: phase.start_date,
      data: phase.items.map(({ price, quantity }): Item => {
        const found = prices.find(({ id }) => id === idOf(price));
        assert(found !== undefined);
        return { price: found, ...(quantity === undefined ? {} : { quantity }) };
      }),
    }))
    .find(({ data }) => itemsText(data) !== itemsText(items.data));
  return next === undefined ? null : { ...termsOf(next.data), at: next.at };
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

/** Where the shortest of the periods ends that start last. Changes within a period do not count. */
export function coversUntilTruth({ lines }: Stripe.Invoice): number | null {
  const periods = lines.data
    .filter(({ parent, amount }) => amount >= 0 && parent?.subscription_item_details?.proration === false)
    .map(({ period }) => period);
  const last = Math.max(...periods.map(({ start }) => start));
  const ends = periods.filter(({ start }) => start === last).map(({ end }) => end);
  return ends.length === 0 ? null : Math.min(...ends);
}

export function idOf(reference: string | { readonly id: string } | null): string | null {
  return typeof reference === 'string' ? reference : (reference?.id ?? null);
}

/** The add-ons of a row by their prices. */
export function addOnRows(addOns: string): string {
  return `(select coalesce(json_agg(json_build_object('price', added.processor_price_id,
      'quantity', one->'quantity') order by added.processor_price_id collate "C"), '[]')
    from jsonb_array_elements(${addOns}) one join till.plans added on added.id = (one->>'planId')::uuid)`;
}

/** The same values from the rows. */
export const subscriptionRows = `
  select processor_subscription_id as key, json_build_object('customer', processor_customer_id,
    'price', processor_price_id, 'status', status,
    'periodStart', extract(epoch from current_period_start)::bigint,
    'periodEnd', extract(epoch from current_period_end)::bigint,
    'trialEnd', extract(epoch from trial_end)::bigint, 'quantity', quantity,
    'addOns', ${addOnRows('add_ons')}, 'otherItems', other_items,
    'cancelAtPeriodEnd', cancel_at_period_end, 'cancelAt', extract(epoch from cancel_at)::bigint,
    'canceledAt', extract(epoch from canceled_at)::bigint, 'endedAt', extract(epoch from ended_at)::bigint,
    'metadata', coalesce(subscriptions.metadata, '{}'), 'reason', cancellation_reason,
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
      'quantity', pending_change->'quantity', 'addOns', ${addOnRows("pending_change->'addOns'")},
      'at', extract(epoch from (pending_change->>'at')::timestamptz)::bigint) end,
    'paidUntil', case when status = 'past_due' then (
      select extract(epoch from covers_until)::bigint from till.invoices paid
      where paid.processor_subscription_id = subscriptions.processor_subscription_id
        and paid.status = 'paid' and covers_until is not null
      order by paid.created_at desc, covers_until desc limit 1) end,
    'isIncomplete', is_incomplete) as value
  from till.subscriptions join till.customers on customers.id = customer_id
    join till.plans on plans.id = plan_id`;
