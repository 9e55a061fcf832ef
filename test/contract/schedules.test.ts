import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { type Contract, contractCustomer, contractPrice, useContract } from './support.ts';

/** An active subscription and the price that it is to move to. */
async function subscribed(contract: Contract, more: Partial<Stripe.SubscriptionCreateParams> = {}) {
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const [price, dearer] = [await contractPrice(contract), await contractPrice(contract, 4_000)];
  const method = await stripe.paymentMethods.attach('pm_card_visa', { customer: customer.id });
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    default_payment_method: method.id,
    ...more,
  });
  assert.equal(subscription.status, 'active');
  return { customer, price, dearer, method, subscription };
}

/** What the subscription has now, and another price from the end of the period. */
async function scheduled({ stripe }: Contract, subscription: Stripe.Subscription, price: string) {
  const created = await stripe.subscriptionSchedules.create({ from_subscription: subscription.id });
  const [phase] = created.phases;
  return stripe.subscriptionSchedules.update(created.id, {
    end_behavior: 'release',
    phases: [
      {
        start_date: Number(phase?.start_date),
        end_date: Number(phase?.end_date),
        items: [{ price: String(phase?.items[0]?.price), quantity: 1 }],
      },
      { items: [{ price, quantity: 2 }], proration_behavior: 'none' },
    ],
    metadata: { till_id: 's' },
  });
}

test('a schedule created from a subscription has the terms of the subscription as its first phase', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { customer, price, subscription } = await subscribed(contract);
  const schedule = await stripe.subscriptionSchedules.create({ from_subscription: subscription.id });
  assert.match(schedule.id, /^sub_sched_/);
  assert.deepEqual(
    [schedule.object, schedule.status, schedule.customer, schedule.subscription, schedule.end_behavior],
    ['subscription_schedule', 'active', customer.id, subscription.id, 'release'],
  );
  const [item] = subscription.items.data;
  const [phase] = schedule.phases;
  assert.deepEqual(
    [schedule.phases.length, phase?.start_date, phase?.end_date, phase?.items[0]?.price],
    [1, item?.current_period_start, item?.current_period_end, price.id],
  );
  assert.deepEqual(schedule.current_phase, { start_date: phase?.start_date, end_date: phase?.end_date });
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).schedule, schedule.id);
  await assert.rejects(stripe.subscriptionSchedules.create({ from_subscription: subscription.id }), {
    statusCode: 400,
    message: /already attached to a schedule/,
  });
});

test('a second phase follows the first, and the subscription stays as it is until then', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { customer, price, dearer, subscription } = await subscribed(contract);
  const schedule = await scheduled(contract, subscription, dearer.id);
  const [first, second] = schedule.phases;
  assert.deepEqual(
    [second?.start_date, second?.items[0]?.price, second?.items[0]?.quantity, second?.proration_behavior],
    [first?.end_date, dearer.id, 2, 'none'],
  );
  assert.ok(Number(second?.end_date) > Number(second?.start_date));
  assert.deepEqual(schedule.metadata, { till_id: 's' });
  const same = await stripe.subscriptions.retrieve(subscription.id, { expand: ['schedule'] });
  assert.deepEqual([same.items.data[0]?.price.id, same.items.data[0]?.quantity], [price.id, 1]);
  assert.equal((same.schedule as Stripe.SubscriptionSchedule).phases.length, 2);
  const { data } = await stripe.subscriptionSchedules.list({ customer: customer.id });
  assert.deepEqual(
    data.map(({ id }) => id),
    [schedule.id],
  );
});

test('a subscription under a schedule refuses a cancellation of its own', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { dearer, subscription } = await subscribed(contract);
  await scheduled(contract, subscription, dearer.id);
  await assert.rejects(stripe.subscriptions.update(subscription.id, { cancel_at_period_end: true }), {
    statusCode: 400,
    message:
      /managed by the subscription schedule .* updating any cancelation behavior directly is not allowed/,
  });
});

test('a released schedule leaves the subscription alone, and cannot be changed any more', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { dearer, subscription } = await subscribed(contract);
  const { id } = await scheduled(contract, subscription, dearer.id);
  const released = await stripe.subscriptionSchedules.release(id);
  assert.deepEqual(
    [released.status, released.subscription, released.released_subscription, released.current_phase],
    ['released', null, subscription.id, null],
  );
  const free = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual([free.status, free.schedule], ['active', null]);
  await assert.rejects(stripe.subscriptionSchedules.release(id), { statusCode: 400 });
  await assert.rejects(stripe.subscriptionSchedules.update(id, { metadata: { a: '1' } }), {
    statusCode: 400,
    message: /currently in the `released` status/,
  });
  const again = await stripe.subscriptionSchedules.create({ from_subscription: subscription.id });
  assert.notEqual(again.id, id);
});

test('canceling a schedule cancels its subscription', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { dearer, subscription } = await subscribed(contract);
  const { id } = await scheduled(contract, subscription, dearer.id);
  const canceled = await stripe.subscriptionSchedules.cancel(id);
  assert.equal(canceled.status, 'canceled');
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'canceled');
});

test('phases need a start to count from, and the running phase keeps its own', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { price, subscription } = await subscribed(contract);
  const { id, phases } = await stripe.subscriptionSchedules.create({ from_subscription: subscription.id });
  const items = [{ price: price.id }];
  await assert.rejects(stripe.subscriptionSchedules.update(id, { phases: [{ items }] }), {
    statusCode: 400,
  });
  const start_date = Number(phases[0]?.start_date) - 86_400;
  await assert.rejects(stripe.subscriptionSchedules.update(id, { phases: [{ start_date, items }] }), {
    statusCode: 400,
  });
  await assert.rejects(stripe.subscriptionSchedules.retrieve('sub_sched_none'), {
    statusCode: 404,
    code: 'resource_missing',
  });
});

test('the same request with one idempotency key creates one schedule', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { subscription } = await subscribed(contract);
  const create = () =>
    stripe.subscriptionSchedules.create(
      { from_subscription: subscription.id },
      { idempotencyKey: `schedule-${subscription.id}` },
    );
  assert.equal((await create()).id, (await create()).id);
});
