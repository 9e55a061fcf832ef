import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { type Contract, contractPrice, useContract } from './support.ts';

const daySeconds = 86_400;
const start = Math.floor(Date.UTC(2027, 0, 15, 12) / 1_000);

async function contractClock({ stripe, cleanups }: Contract): Promise<Stripe.TestHelpers.TestClock> {
  const clock = await stripe.testHelpers.testClocks.create({ frozen_time: start, name: 'Contract' });
  cleanups.push(() => stripe.testHelpers.testClocks.del(clock.id).catch(() => {}));
  return clock;
}

/** Advances the clock and waits until it is ready. */
async function advance(stripe: Stripe, id: string, frozen_time: number): Promise<void> {
  const advancing = await stripe.testHelpers.testClocks.advance(id, { frozen_time });
  assert.equal(advancing.status, 'advancing');
  assert.equal(advancing.status_details.advancing?.target_frozen_time, frozen_time);
  for (;;) {
    const clock = await stripe.testHelpers.testClocks.retrieve(id);
    assert.notEqual(clock.status, 'internal_failure');
    if (clock.status === 'ready') return assert.equal(clock.frozen_time, frozen_time);
  }
}

test('a test clock is created frozen, and retrieved, listed and deleted', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const clock = await contractClock(contract);
  assert.match(clock.id, /^clock_/);
  assert.deepEqual(
    [clock.object, clock.frozen_time, clock.name, clock.status, clock.livemode],
    ['test_helpers.test_clock', start, 'Contract', 'ready', false],
  );
  assert.ok(clock.deletes_after > clock.created);
  assert.deepEqual((await stripe.testHelpers.testClocks.retrieve(clock.id)).id, clock.id);
  assert.ok((await stripe.testHelpers.testClocks.list({ limit: 10 })).data.some(({ id }) => id === clock.id));
  const deleted = await stripe.testHelpers.testClocks.del(clock.id);
  assert.deepEqual([deleted.id, deleted.deleted], [clock.id, true]);
  await assert.rejects(stripe.testHelpers.testClocks.retrieve(clock.id), {
    statusCode: 404,
    code: 'resource_missing',
  });
});

test('a subscription of an attached customer starts and renews on the clock', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const clock = await contractClock(contract);
  const customer = await stripe.customers.create({
    test_clock: clock.id,
    payment_method: 'pm_card_visa',
    email: 'contract@example.com',
  });
  assert.deepEqual([customer.test_clock, customer.created], [clock.id, start]);
  const [method] = (await stripe.customers.listPaymentMethods(customer.id)).data;
  await stripe.customers.update(customer.id, {
    invoice_settings: { default_payment_method: String(method?.id) },
  });
  const price = await contractPrice(contract);
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
  });
  assert.deepEqual(
    [subscription.status, subscription.test_clock, subscription.created, subscription.start_date],
    ['active', clock.id, start, start],
  );
  const [item] = subscription.items.data;
  const renewal = Math.floor(Date.UTC(2027, 1, 15, 12) / 1_000);
  assert.deepEqual([item?.current_period_start, item?.current_period_end], [start, renewal]);

  await advance(stripe, clock.id, renewal + 2 * 3_600);
  const renewed = await stripe.subscriptions.retrieve(subscription.id);
  assert.equal(renewed.items.data[0]?.current_period_start, renewal);
  const invoices = await stripe.invoices.list({ subscription: subscription.id });
  assert.deepEqual(
    invoices.data.map(({ status, test_clock, created }) => [status, test_clock, created]),
    [
      ['paid', clock.id, renewal],
      ['paid', clock.id, start],
    ],
  );
});

test('a scheduled change and the end of a discount happen on the clock', async (t) => {
  const contract = await useContract(t);
  const { stripe, cleanups } = contract;
  const clock = await contractClock(contract);
  const customer = await stripe.customers.create({
    test_clock: clock.id,
    payment_method: 'pm_card_visa',
    email: 'contract@example.com',
  });
  const [method] = (await stripe.customers.listPaymentMethods(customer.id)).data;
  const [price, dearer] = [await contractPrice(contract), await contractPrice(contract, 4_000)];
  const coupon = await stripe.coupons.create({
    percent_off: 10,
    duration: 'repeating',
    duration_in_months: 1,
  });
  cleanups.push(() => stripe.coupons.del(coupon.id));
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    default_payment_method: String(method?.id),
    discounts: [{ coupon: coupon.id }],
  });
  const { id, phases } = await stripe.subscriptionSchedules.create({ from_subscription: subscription.id });
  const discounts = [{ discount: String(subscription.discounts[0]) }];
  const renewal = Number(phases[0]?.end_date);
  const schedule = await stripe.subscriptionSchedules.update(id, {
    phases: [
      {
        start_date: Number(phases[0]?.start_date),
        end_date: renewal,
        items: [{ price: price.id }],
        discounts,
      },
      { items: [{ price: dearer.id }], proration_behavior: 'none' },
    ],
  });
  assert.deepEqual([schedule.test_clock, schedule.created], [clock.id, start]);

  await advance(stripe, clock.id, renewal + 2 * 3_600);
  const changed = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual([changed.items.data[0]?.price.id, changed.discounts], [dearer.id, []]);
  const invoices = await stripe.invoices.list({ subscription: subscription.id });
  assert.deepEqual(
    invoices.data.map(({ total, created }) => [total, created]),
    [
      [4_000, renewal],
      [1_350, start],
    ],
  );
  await advance(stripe, clock.id, renewal + 32 * daySeconds);
  assert.equal((await stripe.subscriptionSchedules.retrieve(id)).status, 'released');
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).schedule, null);
});

test('customers and subscriptions of a clock are listed only by their clock', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const clock = await contractClock(contract);
  const customer = await stripe.customers.create({ test_clock: clock.id });
  const listed = await stripe.customers.list({ test_clock: clock.id });
  assert.deepEqual(
    listed.data.map(({ id }) => id),
    [customer.id],
  );
  assert.ok((await stripe.customers.list({ limit: 100 })).data.every(({ id }) => id !== customer.id));
});

test('a clock moves only forward, and at most two intervals of its shortest subscription', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const clock = await contractClock(contract);
  for (const frozen_time of [start, start - daySeconds, start + 3 * 366 * daySeconds])
    await assert.rejects(stripe.testHelpers.testClocks.advance(clock.id, { frozen_time }), {
      statusCode: 400,
      type: 'StripeInvalidRequestError',
    });
  const customer = await stripe.customers.create({ test_clock: clock.id });
  const price = await contractPrice(contract);
  await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    trial_period_days: 30,
  });
  await assert.rejects(
    stripe.testHelpers.testClocks.advance(clock.id, { frozen_time: start + 90 * daySeconds }),
    { statusCode: 400 },
  );
  await advance(stripe, clock.id, start + 10 * daySeconds);
});

test('deleting a clock deletes its customers', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const clock = await contractClock(contract);
  const customer = await stripe.customers.create({ test_clock: clock.id });
  await stripe.testHelpers.testClocks.del(clock.id);
  const found = await stripe.customers
    .retrieve(customer.id)
    .catch((error: Stripe.errors.StripeError) => error);
  assert.ok('code' in found ? found.code === 'resource_missing' : 'deleted' in found && found.deleted);
});

test('a customer cannot be attached to a clock that does not exist', async (t) => {
  const { stripe } = await useContract(t);
  await assert.rejects(stripe.customers.create({ test_clock: 'clock_none' }), {
    code: 'resource_missing',
    param: 'test_clock',
  });
  await assert.rejects(stripe.testHelpers.testClocks.create({} as { frozen_time: number }), {
    code: 'parameter_missing',
    param: 'frozen_time',
  });
});
