import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { customerAndPrice, eventTypes, type TestSandbox, useSandbox } from './support.ts';

const hourSeconds = 3_600;
const daySeconds = 86_400;

/** An active subscription at 15.00 a month, and other prices. */
async function subscribed({ stripe }: TestSandbox, more: Partial<Stripe.SubscriptionCreateParams> = {}) {
  const { customer, price } = await customerAndPrice(stripe);
  await stripe.customers.update(customer.id, { source: 'tok_visa' });
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    ...more,
  });
  const { price: dearer } = await customerAndPrice(stripe, { unit_amount: 4_000 });
  const { price: yearly } = await customerAndPrice(stripe, { unit_amount: 9_000, interval: 'year' });
  const end = Number(subscription.items.data[0]?.current_period_end);
  return { customer, price, dearer, yearly, subscription, end };
}

/** Schedules another price for the end of the period. */
async function scheduled(
  stripe: Stripe,
  subscription: string,
  price: string,
  more: Partial<Stripe.SubscriptionScheduleUpdateParams.Phase> = {},
) {
  const created = await stripe.subscriptionSchedules.create({ from_subscription: subscription });
  const [now] = created.phases;
  const { start_date = 0, end_date = 0 } = now ?? {};
  return stripe.subscriptionSchedules.update(created.id, {
    phases: [
      {
        start_date,
        end_date,
        items: (now?.items ?? []).map((item) => ({
          price: String(item.price),
          quantity: item.quantity ?? 1,
        })),
      },
      { items: [{ price, quantity: 3 }], proration_behavior: 'none', ...more },
    ],
  });
}

const totalsOf = async (stripe: Stripe, subscription: string) =>
  (await stripe.invoices.list({ subscription, limit: 100 })).data.map(({ total }) => total);

test('a schedule changes the price at the end of the period, and lets the subscription go a period later', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const { subscription, dearer, end } = await subscribed(sandbox);
  const schedule = await scheduled(stripe, subscription.id, dearer.id);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).schedule, schedule.id);
  const preview = await stripe.invoices.createPreview({ subscription: subscription.id });
  assert.equal(preview.total, 12_000);
  assert.deepEqual(
    schedule.phases.map(({ start_date }) => start_date),
    [subscription.items.data[0]?.current_period_start, end],
  );
  await advance(end - subscription.created + 2 * hourSeconds);
  const changed = await stripe.subscriptions.retrieve(subscription.id, { expand: ['schedule'] });
  const [item] = changed.items.data;
  assert.deepEqual(
    [item?.price.id, item?.quantity, item?.id],
    [dearer.id, 3, subscription.items.data[0]?.id],
  );
  assert.deepEqual(await totalsOf(stripe, subscription.id), [12_000, 1_500]);
  const current = changed.schedule as Stripe.SubscriptionSchedule;
  assert.equal(current.current_phase?.start_date, end);
  const types = await eventTypes(stripe);
  assert.ok(types.lastIndexOf('subscription_schedule.updated') < types.lastIndexOf('invoice.created'));

  await advance(32 * daySeconds);
  const free = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual([free.schedule, free.status], [null, 'active']);
  const released = await stripe.subscriptionSchedules.retrieve(schedule.id);
  assert.deepEqual(
    [released.status, released.released_subscription, released.subscription, released.current_phase],
    ['released', subscription.id, null, null],
  );
  const all = await eventTypes(stripe);
  assert.ok(all.indexOf('subscription_schedule.expiring') < all.indexOf('subscription_schedule.released'));
  assert.deepEqual(await totalsOf(stripe, subscription.id), [12_000, 12_000, 1_500]);
});

test('a phase with another interval starts a new billing cycle', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const { subscription, yearly, end } = await subscribed(sandbox);
  await scheduled(stripe, subscription.id, yearly.id);
  await advance(end - subscription.created + 2 * hourSeconds);
  const changed = await stripe.subscriptions.retrieve(subscription.id);
  const [item] = changed.items.data;
  assert.deepEqual([changed.billing_cycle_anchor, item?.current_period_start], [end, end]);
  assert.equal(
    new Date(Number(item?.current_period_end) * 1_000).getUTCFullYear(),
    new Date(end * 1_000).getUTCFullYear() + 1,
  );
  assert.deepEqual(await totalsOf(stripe, subscription.id), [27_000, 1_500]);
});

test('a phase sets the card, the discounts and the metadata; what it does not name is cleared', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const { id: coupon } = await stripe.coupons.create({ percent_off: 50, duration: 'forever' });
  const { customer, subscription, dearer, end } = await subscribed(sandbox, {
    discounts: [{ coupon }],
    metadata: { a: '1', b: '1' },
  });
  const card = await stripe.paymentMethods.attach('pm_card_mastercard', { customer: customer.id });
  const schedule = await stripe.subscriptionSchedules.create({ from_subscription: subscription.id });
  const [now] = schedule.phases;
  assert.equal(now?.discounts[0]?.discount, subscription.discounts[0]);
  const keeps = { discounts: [{ discount: String(subscription.discounts[0]) }] };
  const current = {
    start_date: Number(now?.start_date),
    end_date: end,
    items: [{ price: String(now?.items[0]?.price) }],
  };
  const next = { items: [{ price: dearer.id }], default_payment_method: card.id, metadata: { b: '2' } };
  const update = (phases: Stripe.SubscriptionScheduleUpdateParams.Phase[]) =>
    stripe.subscriptionSchedules.update(schedule.id, { phases });
  await update([
    { ...current, ...keeps },
    { ...next, ...keeps },
  ]);
  assert.deepEqual((await stripe.subscriptions.retrieve(subscription.id)).discounts, subscription.discounts);
  await advance(end - subscription.created + 2 * hourSeconds);
  const changed = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual(
    [changed.default_payment_method, changed.discounts, changed.metadata],
    [card.id, subscription.discounts, { a: '1', b: '2' }],
  );
  assert.deepEqual(await totalsOf(stripe, subscription.id), [2_000, 750]);
  await update([{ start_date: end, items: [{ price: dearer.id }] }]);
  const cleared = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual([cleared.discounts, cleared.default_payment_method], [[], null]);
});

test('a subscription under a schedule refuses a cancellation of its own, but not other changes', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe } = sandbox;
  const { subscription, dearer } = await subscribed(sandbox);
  const schedule = await scheduled(stripe, subscription.id, dearer.id);
  for (const params of [
    { cancel_at_period_end: true },
    { cancel_at_period_end: false },
    { cancel_at: '' as const },
  ])
    await assert.rejects(stripe.subscriptions.update(subscription.id, params), {
      statusCode: 400,
      message: `The subscription is managed by the subscription schedule \`${schedule.id}\`, and updating any cancelation behavior directly is not allowed. Please update the schedule instead.`,
    });
  await stripe.subscriptions.update(subscription.id, {
    items: [{ id: String(subscription.items.data[0]?.id), quantity: 2 }],
  });
  const followed = await stripe.subscriptionSchedules.retrieve(schedule.id);
  assert.deepEqual(
    followed.phases.map(({ items }) => items[0]?.quantity),
    [2, 3],
  );
  await assert.rejects(stripe.subscriptionSchedules.create({ from_subscription: subscription.id }), {
    statusCode: 400,
    message: /already attached to a schedule/,
  });
});

test('a phase that starts a period without a card leaves the subscription past due', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, price: free } = await customerAndPrice(stripe, { unit_amount: 0 });
  const { price: yearly } = await customerAndPrice(stripe, { unit_amount: 9_000, interval: 'year' });
  const { id } = await stripe.subscriptions.create({ customer: customer.id, items: [{ price: free.id }] });
  const { id: schedule, phases } = await stripe.subscriptionSchedules.create({ from_subscription: id });
  const start_date = Number(phases[0]?.start_date);
  await stripe.subscriptionSchedules.update(schedule, {
    phases: [
      { start_date, end_date: start_date + daySeconds, items: [{ price: free.id }] },
      { items: [{ price: yearly.id }] },
    ],
  });
  await advance(daySeconds + hourSeconds);
  const late = await stripe.subscriptions.retrieve(id, { expand: ['latest_invoice'] });
  const invoice = late.latest_invoice as Stripe.Invoice;
  assert.deepEqual([late.status, invoice.status, invoice.total], ['past_due', 'open', 9_000]);
});

test('a released schedule leaves the subscription as it is, and cannot be changed', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const { subscription, dearer } = await subscribed(sandbox);
  const schedule = await scheduled(stripe, subscription.id, dearer.id);
  const released = await stripe.subscriptionSchedules.release(schedule.id);
  assert.equal(released.status, 'released');
  for (const again of [
    stripe.subscriptionSchedules.release(schedule.id),
    stripe.subscriptionSchedules.cancel(schedule.id),
    stripe.subscriptionSchedules.update(schedule.id, { metadata: { a: '1' } }),
  ])
    await assert.rejects(again, { statusCode: 400, message: /currently in the `released` status/ });
  await stripe.subscriptions.update(subscription.id, { cancel_at_period_end: true });
  await advance(40 * daySeconds);
  assert.deepEqual(await totalsOf(stripe, subscription.id), [1_500]);
});

test('a canceled schedule ends its subscription, and a canceled subscription its schedule', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe } = sandbox;
  const first = await subscribed(sandbox);
  const { id } = await scheduled(stripe, first.subscription.id, first.dearer.id);
  const canceled = await stripe.subscriptionSchedules.cancel(id);
  assert.deepEqual([canceled.status, typeof canceled.canceled_at], ['canceled', 'number']);
  assert.equal((await stripe.subscriptions.retrieve(first.subscription.id)).status, 'canceled');
  const second = await subscribed(sandbox);
  const other = await scheduled(stripe, second.subscription.id, second.dearer.id);
  await stripe.subscriptions.cancel(second.subscription.id);
  assert.equal((await stripe.subscriptionSchedules.retrieve(other.id)).status, 'canceled');
});

test('a schedule that cancels at its end completes, and shows the date on the subscription', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const { subscription, end } = await subscribed(sandbox);
  const { id } = await stripe.subscriptionSchedules.create({ from_subscription: subscription.id });
  await stripe.subscriptionSchedules.update(id, { end_behavior: 'cancel' });
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).cancel_at, end);
  await advance(end - subscription.created);
  const completed = await stripe.subscriptionSchedules.retrieve(id);
  assert.deepEqual([completed.status, completed.completed_at], ['completed', end]);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'canceled');
  assert.ok((await eventTypes(stripe)).includes('subscription_schedule.completed'));
});

test('a schedule that no longer cancels takes the date from the subscription', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const { subscription, end } = await subscribed(sandbox);
  await stripe.subscriptions.update(subscription.id, { cancel_at: end });
  const { id } = await stripe.subscriptionSchedules.create({ from_subscription: subscription.id });
  await stripe.subscriptionSchedules.update(id, { end_behavior: 'release' });
  const staying = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual([staying.cancel_at, staying.canceled_at], [null, null]);
  await advance(end - subscription.created);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'active');
});

test('a subscription that ends unpaid aborts its schedule', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const { customer, subscription, dearer } = await subscribed(sandbox);
  const bad = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', { customer: customer.id });
  const { id } = await scheduled(stripe, subscription.id, dearer.id, { default_payment_method: bad.id });
  await advance(50 * daySeconds);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'canceled');
  assert.equal((await stripe.subscriptionSchedules.retrieve(id)).status, 'canceled');
  assert.ok((await eventTypes(stripe)).includes('subscription_schedule.aborted'));
});

test('a subscription that has not started, is paused or has ended cannot be scheduled', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe } = sandbox;
  const { customer, price } = await customerAndPrice(stripe);
  const subscribe = (more: Partial<Stripe.SubscriptionCreateParams>) =>
    stripe.subscriptions.create({ customer: customer.id, items: [{ price: price.id }], ...more });
  const incomplete = await subscribe({ payment_behavior: 'default_incomplete' });
  const paused = await subscribe({
    trial_period_days: 5,
    trial_settings: { end_behavior: { missing_payment_method: 'pause' } },
  });
  await stripe.subscriptions.update(paused.id, { trial_end: 'now' });
  const canceled = await subscribe({ trial_period_days: 5 });
  await stripe.subscriptions.cancel(canceled.id);
  for (const { id } of [incomplete, paused, canceled])
    await assert.rejects(stripe.subscriptionSchedules.create({ from_subscription: id }), {
      statusCode: 400,
      message: /^You cannot migrate a subscription that is in the/,
    });
});

test('phases must be complete and in order', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe } = sandbox;
  const { subscription, price, dearer, end } = await subscribed(sandbox);
  const euros = await stripe.prices.create({
    currency: 'eur',
    unit_amount: 900,
    recurring: { interval: 'month' },
    product_data: { name: 'Euro' },
  });
  const archived = await stripe.prices.update(dearer.id, { active: false });
  const { id, phases } = await stripe.subscriptionSchedules.create({ from_subscription: subscription.id });
  const start_date = Number(phases[0]?.start_date);
  const items = [{ price: price.id }];
  const bad: Stripe.SubscriptionScheduleUpdateParams.Phase[][] = [
    [{ items }],
    [{ start_date: start_date + 1, items }],
    [
      { start_date, end_date: end, items },
      { start_date: end + 1, items },
    ],
    [{ start_date, end_date: end, items }, { items: [{ price: euros.id }] }],
    [{ start_date, end_date: end, items }, { items: [{ price: archived.id }] }],
    [{ start_date, end_date: end, items }, { items: [{ price: 'price_none' }] }],
    [{ start_date, end_date: end, items: [] }],
  ];
  for (const phases of bad)
    await assert.rejects(stripe.subscriptionSchedules.update(id, { phases }), { statusCode: 400 });
  assert.deepEqual((await stripe.subscriptionSchedules.retrieve(id)).phases, phases);
});

test('a trial goes on while its phase says so', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const { subscription, price, dearer } = await subscribed(sandbox, { trial_period_days: 10 });
  const { id, phases } = await stripe.subscriptionSchedules.create({ from_subscription: subscription.id });
  const { start_date, end_date, trial_end } = phases[0] ?? {};
  assert.deepEqual([end_date, trial_end], [subscription.trial_end, subscription.trial_end]);
  const current = {
    start_date: Number(start_date),
    end_date: Number(end_date),
    items: [{ price: price.id }],
  };
  await stripe.subscriptionSchedules.update(id, {
    phases: [{ ...current, trial_end: Number(trial_end) }, { items: [{ price: dearer.id }] }],
  });
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'trialing');
  await advance(10 * daySeconds + 2 * hourSeconds);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'active');
  assert.deepEqual(await totalsOf(stripe, subscription.id), [4_000, 0]);
});
