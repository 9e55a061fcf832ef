import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import {
  type CustomerBody,
  createCustomer,
  createPlan,
  createSubscription,
  type SubscriptionBody,
} from '../support/objects.ts';
import { changed, subscribe } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import {
  consumeUsage,
  createMeter,
  type MeterBody,
  type MeterUsageBody,
  readUsage,
  recordUsage,
  usageOf,
} from '../support/usage.ts';
import { holdRows } from '../webhooks/row-lock.ts';

const dayMs = 86_400_000;

/** A Till with a sandbox of its own, whose clock the test moves. Webhooks wait until `settle`. */
async function start(t: { after(work: () => Promise<unknown>): void }, entitlementGraceDays = 3) {
  const backend = await startBackend(t);
  const options = { mustNotLogErrors: true, entitlementGraceDays };
  const till = await startTill({ in: 'process', on: backend, ...options });
  let aheadMs = 0;
  return {
    till,
    advance: async (days: number) => {
      await till.control('clock', { advanceSeconds: (days * dayMs) / 1_000 });
      aheadMs += days * dayMs;
    },
    /** The time of the sandbox. */
    now: (offsetMs = 0) => new Date(Date.now() + aheadMs + offsetMs).toISOString(),
  };
}

async function grant(
  till: TillInProcess,
  customer: CustomerBody,
  meter: MeterBody,
  { limit, interval = 'month' }: { readonly limit: number; readonly interval?: string },
): Promise<SubscriptionBody> {
  const plan = await createPlan(till, { interval, features: { [meter.key]: limit } });
  return subscribe(till, { plan, customerId: customer.id });
}

async function usageIn(
  till: TillInProcess,
  customer: CustomerBody,
  meter: MeterBody,
): Promise<MeterUsageBody> {
  const usage = await readUsage(till, customer, meter);
  assert.ok(usage !== undefined);
  return usage;
}

test('at the end of the period the next window begins, with the renewal webhook or without it', async (t) => {
  const { till, advance, now } = await start(t);
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const before = await grant(till, customer, meter, { limit: 10 });
  const inFirst = now();
  await recordUsage(till, usageOf(customer, meter, { quantity: 10, at: inFirst }));
  await advance(32);
  const open = await usageIn(till, customer, meter);
  assert.deepEqual([open.periodStart, open.used, open.remaining], [before.currentPeriodEnd, 0, 10]);
  const { allowed, used } = await consumeUsage(till, usageOf(customer, meter, { at: now(), quantity: 4 }));
  assert.deepEqual([allowed, used], [true, 4]);
  await till.settle();
  const renewed = await till.get<SubscriptionBody>(`/subscriptions/${before.id}`);
  const { periodStart, periodEnd, ...numbers } = await usageIn(till, customer, meter);
  assert.deepEqual([periodStart, periodEnd], [renewed.currentPeriodStart, renewed.currentPeriodEnd]);
  assert.deepEqual(numbers, { used: 4, limit: 10, remaining: 6 });
  // A late event counts in the window that has closed.
  await recordUsage(till, usageOf(customer, meter, { at: inFirst, quantity: 7 }));
  assert.equal((await usageIn(till, customer, meter)).used, 4);
  const counters = await till.sql('select used from till.usage_counters order by starts_at');
  assert.deepEqual(counters, [{ used: 17 }, { used: 4 }]);
  const { rejected } = await recordUsage(till, usageOf(customer, meter, { at: now(6 * 60_000), id: 'x' }));
  assert.deepEqual(rejected, [{ index: 0, id: 'x', code: 'in_future' }]);
});

test('a meter that resets monthly has twelve windows in a year, without any webhook', async (t) => {
  const { till, advance, now } = await start(t);
  const customer = await createCustomer(till);
  const meter = await createMeter(till, { resets: 'month' });
  const subscription = await grant(till, customer, meter, { limit: 10, interval: 'year' });
  await recordUsage(till, usageOf(customer, meter, { quantity: 3 }));
  const first = await usageIn(till, customer, meter);
  assert.equal(first.periodStart, subscription.currentPeriodStart);
  await advance(32);
  const second = await usageIn(till, customer, meter);
  assert.deepEqual([second.used, second.periodStart], [0, first.periodEnd]);
  await recordUsage(till, usageOf(customer, meter, { at: now(), quantity: 2 }));
  assert.equal((await usageIn(till, customer, meter)).used, 2);
});

test('a change within the period keeps what was used, and one that starts a period starts a window', async (t) => {
  const { till, advance } = await start(t);
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const subscription = await grant(till, customer, meter, { limit: 10 });
  await recordUsage(till, usageOf(customer, meter, { quantity: 6 }));
  const first = await usageIn(till, customer, meter);
  const larger = await createPlan(till, { amount: 1_900, features: { [meter.key]: 20 } });
  await changed(till, subscription, { planId: larger.id });
  assert.deepEqual(await usageIn(till, customer, meter), { ...first, limit: 20, remaining: 14 });
  // The processor's periods begin at whole seconds.
  await advance(1);
  const yearly = await createPlan(till, { interval: 'year', features: { [meter.key]: 200 } });
  await changed(till, subscription, { planId: yearly.id });
  const { used, limit, periodStart } = await usageIn(till, customer, meter);
  assert.deepEqual([used, limit], [0, 200]);
  assert.ok(periodStart > first.periodStart);
});

test('a trial has its own window, and the first paid period follows it', async (t) => {
  const { till, advance } = await start(t);
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const plan = await createPlan(till, { features: { [meter.key]: 5 } });
  const order = { customerId: customer.id, planId: plan.id, trialPeriodDays: 7 };
  const { subscription } = await createSubscription(till, order);
  await recordUsage(till, usageOf(customer, meter));
  const trial = await usageIn(till, customer, meter);
  assert.deepEqual([trial.used, trial.limit, trial.periodEnd], [1, 5, subscription.trialEnd]);
  await advance(8);
  const paid = await usageIn(till, customer, meter);
  assert.deepEqual([paid.used, paid.periodStart], [0, subscription.trialEnd]);
});

test('a longer trial keeps what was used', async (t) => {
  const { till, advance } = await start(t);
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const plan = await createPlan(till, { features: { [meter.key]: 5 } });
  const order = { customerId: customer.id, planId: plan.id, trialPeriodDays: 7 };
  const { subscription } = await createSubscription(till, order);
  await recordUsage(till, usageOf(customer, meter, { quantity: 2 }));
  const trialEnd = Math.floor(Date.now() / 1_000) + 20 * 86_400;
  await till.stripe.subscriptions.update(subscription.processorSubscriptionId, { trial_end: trialEnd });
  await till.settle();
  await advance(10);
  const { used, periodEnd } = await usageIn(till, customer, meter);
  assert.deepEqual([used, periodEnd], [2, new Date(trialEnd * 1_000).toISOString()]);
});

test('a canceled subscription leaves the UTC month, and a new one begins its own window', async (t) => {
  const { till, advance } = await start(t);
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const first = await grant(till, customer, meter, { limit: 10 });
  await recordUsage(till, usageOf(customer, meter, { quantity: 6 }));
  await advance(1);
  await till.call('DELETE', `/subscriptions/${first.id}`);
  await till.settle();
  const without = await usageIn(till, customer, meter);
  assert.deepEqual([without.limit, without.remaining], [0, 0]);
  assert.match(without.periodStart, /-01T00:00:00\.000Z$/);
  const second = await grant(till, customer, meter, { limit: 8 });
  const { used, limit, periodStart } = await usageIn(till, customer, meter);
  assert.deepEqual([used, limit, periodStart], [0, 8, second.currentPeriodStart]);
});

test('a subscription that is restarted within a second begins at 0', async (t) => {
  const { till } = await start(t);
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const first = await grant(till, customer, meter, { limit: 10 });
  await recordUsage(till, usageOf(customer, meter, { quantity: 6 }));
  await till.call('DELETE', `/subscriptions/${first.id}`);
  await till.settle();
  const second = await grant(till, customer, meter, { limit: 8 });
  await till.sql(
    `update till.subscriptions set current_period_start = '${first.currentPeriodStart}' where id = '${second.id}'`,
  );
  const { used, periodStart } = await usageIn(till, customer, meter);
  assert.deepEqual([used, periodStart], [0, first.currentPeriodStart]);
  const eight = usageOf(customer, meter, { quantity: 8 });
  assert.deepEqual((await consumeUsage(till, eight)).allowed, true, 'all of the new limit is left');
  assert.equal((await usageIn(till, customer, meter)).used, 8);
  const sums = async () => (await counted(till)).map(([, used]) => used).toSorted();
  assert.deepEqual(await sums(), [6, 8]);
  await till.sql('update till.usage_counters set used = used + 1');
  assert.equal((await till.services.usageCheck.run(true)).wrong.length, 2);
  assert.deepEqual(await sums(), [6, 8]);
});

test('subscriptions that are inserted at the same time have windows of their own', async (t) => {
  const { till } = await start(t);
  await subscribe(till, {});
  const insert = (
    id: string,
  ) => `insert into till.subscriptions (id, processor_subscription_id, processor_main_item_id, customer_id, plan_id,
      status, processor_as_of, processor_as_of_latest, created_at, updated_at)
    select gen_random_uuid(), '${id}', 'si_1', customer_id, plan_id, status, now(), now(), now(), now()
    from till.subscriptions`;
  const held = await holdRows(till, insert('sub_first'));
  await till.sql(insert('sub_second'));
  await held.release();
  const numbers = await till.sql(
    'select distinct window_number from till.subscriptions where window_number > 0',
  );
  assert.equal(numbers.length, 3);
});

test('of two subscriptions that grant a meter, the newest has the window, and features have the limit', async (t) => {
  const { till, advance, now } = await start(t);
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  await grant(till, customer, meter, { limit: 100 });
  await advance(3);
  const newest = await grant(till, customer, meter, { limit: 10 });
  await recordUsage(till, usageOf(customer, meter, { at: now(), quantity: 6 }));
  const { used, limit, periodStart } = await usageIn(till, customer, meter);
  assert.deepEqual([used, limit, periodStart], [6, 100, newest.currentPeriodStart]);
});

/** What was used in each window, by its start. */
async function counted(till: TillInProcess): Promise<readonly (readonly [string, number])[]> {
  const rows = await till.sql<{ second: Date; used: number }>(
    `select date_trunc('second', starts_at) as second, used from till.usage_counters where used <> 0 order by starts_at`,
  );
  return rows.map(({ second, used }) => [second.toISOString(), used]);
}

test('a period that was never reported keeps its window', async (t) => {
  const { till, advance, now } = await start(t);
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  await grant(till, customer, meter, { limit: 10, interval: 'day' });
  await advance(2);
  const inThird = now();
  await recordUsage(till, usageOf(customer, meter, { quantity: 3, at: inThird }));
  const { periodStart } = await usageIn(till, customer, meter);
  await advance(1);
  await till.settle();
  assert.ok((await usageIn(till, customer, meter)).periodStart > periodStart);
  await recordUsage(till, usageOf(customer, meter, { quantity: 4, at: inThird }));
  assert.deepEqual(await counted(till), [[periodStart, 7]]);
});

test('a late event counts by the plan that the subscription had then', async (t) => {
  const { till, advance, now } = await start(t);
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const subscription = await grant(till, customer, meter, { limit: 10 });
  const before = now();
  const { periodStart } = await usageIn(till, customer, meter);
  await recordUsage(till, usageOf(customer, meter, { quantity: 5, at: before }));
  await advance(1);
  const without = await createPlan(till, { amount: 1_900, features: {} });
  await changed(till, subscription, { planId: without.id });
  await recordUsage(till, usageOf(customer, meter, { quantity: 2, at: before }));
  assert.deepEqual(await counted(till), [[periodStart, 7]]);
  await advance(1);
  assert.equal((await usageIn(till, customer, meter)).limit, 0);
  await recordUsage(till, usageOf(customer, meter, { quantity: 1, at: now() }));
  const [, other] = (await counted(till)).toSorted(([, a], [, b]) => b - a);
  assert.match(String(other?.[0]), /-01T00:00:00\.000Z$/);
  await changed(till, subscription, { planId: subscription.planId });
  assert.equal((await usageIn(till, customer, meter)).used, 7);
});

test('a trial that ends in a pause keeps its window for late events', async (t) => {
  const { till, advance, now } = await start(t);
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const plan = await createPlan(till, { features: { [meter.key]: 5 } });
  const trial = { trialPeriodDays: 7, trialEndWithoutCard: 'pause' as const };
  await createSubscription(till, { customerId: customer.id, planId: plan.id, ...trial });
  const inTrial = now();
  await recordUsage(till, usageOf(customer, meter, { quantity: 2, at: inTrial }));
  const { periodStart } = await usageIn(till, customer, meter);
  await advance(8);
  await till.settle();
  assert.equal((await usageIn(till, customer, meter)).limit, 0);
  await recordUsage(till, usageOf(customer, meter, { quantity: 1, at: inTrial }));
  assert.deepEqual(await counted(till), [[periodStart, 3]]);
});

/** From the next renewal on, the subscription cannot be paid. */
async function stopPaying(till: TillInProcess, { processorSubscriptionId: id }: SubscriptionBody) {
  const { customer } = await till.stripe.subscriptions.retrieve(id);
  const card = { customer: String(customer) };
  const { id: failing } = await till.stripe.paymentMethods.attach('pm_card_chargeCustomerFail', card);
  await till.stripe.subscriptions.update(id, { default_payment_method: failing });
}

test('a period that ended unpaid keeps its window for late events of its grace period', async (t) => {
  const { till, advance, now } = await start(t);
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  await stopPaying(till, await grant(till, customer, meter, { limit: 10, interval: 'day' }));
  await advance(1.25);
  await till.settle();
  const inGrace = now();
  await recordUsage(till, usageOf(customer, meter, { quantity: 2, at: inGrace }));
  const { periodStart, used } = await usageIn(till, customer, meter);
  assert.equal(used, 2);
  await advance(1);
  await till.settle();
  assert.ok((await usageIn(till, customer, meter)).periodStart > periodStart);
  await recordUsage(till, usageOf(customer, meter, { quantity: 3, at: inGrace }));
  assert.deepEqual(await counted(till), [[periodStart, 5]]);
});

test('a grace period that ended by itself keeps its window for late events', async (t) => {
  const { till, advance, now } = await start(t);
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const subscription = await grant(till, customer, meter, { limit: 10, interval: 'day' });
  await stopPaying(till, subscription);
  await advance(1.25);
  await till.settle();
  const inGrace = now();
  const { periodStart } = await usageIn(till, customer, meter);
  const record = () => recordUsage(till, usageOf(customer, meter, { at: inGrace }));
  await record();
  // Till does not learn of further renewals yet.
  await advance(3.5);
  await till.services.eventUpkeep.writeDue();
  assert.equal((await usageIn(till, customer, meter)).limit, 0, 'the grace period has ended');
  await record();
  await advance(1);
  await till.settle();
  const { currentPeriodStart, status } = await till.get<SubscriptionBody>(
    `/subscriptions/${subscription.id}`,
  );
  assert.ok(status === 'past_due' && String(currentPeriodStart) > periodStart);
  await record();
  assert.deepEqual(await counted(till), [[periodStart, 3]]);
});

/** Uses up what is left of a limit of 10, and checks that nothing is left at this time. */
async function useUp(till: TillInProcess, customer: CustomerBody, meter: MeterBody, at: string) {
  const consume = async (quantity: number) =>
    (await consumeUsage(till, usageOf(customer, meter, { quantity, at }))).allowed;
  assert.deepEqual([await consume(10), await consume(1)], [true, false]);
}

test('a second subscription that was never paid leaves the window of that time as it was', async (t) => {
  const { till, advance, now } = await start(t);
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const paid = await grant(till, customer, meter, { limit: 10 });
  await advance(1);
  const order = { customerId: customer.id, planId: paid.planId };
  const { subscription: expiring } = await createSubscription(till, order);
  const { subscription: canceled } = await createSubscription(till, order);
  await advance(0.5);
  const at = now();
  await useUp(till, customer, meter, at);
  await till.call('DELETE', `/subscriptions/${canceled.id}`);
  await advance(1);
  await till.settle();
  const statusOf = async ({ id }: { readonly id: string }) =>
    (await till.get<SubscriptionBody>(`/subscriptions/${id}`)).status;
  assert.equal(await statusOf(expiring), 'incomplete_expired');
  assert.notEqual(await statusOf(canceled), 'incomplete');
  const { allowed, used } = await consumeUsage(till, usageOf(customer, meter, { quantity: 10, at }));
  assert.deepEqual([allowed, used], [false, 10]);
  await recordUsage(till, usageOf(customer, meter, { quantity: 5, at }));
  assert.deepEqual(await counted(till), [[paid.currentPeriodStart, 15]]);
});

for (const isPeriodSeen of [true, false])
  test(`an unpaid time without grace has the same window before and after the subscription ends, ${isPeriodSeen ? 'with' : 'without'} the event of its period`, async (t) => {
    const { till, advance: pass, now } = await start(t, 0);
    const [customer, meter] = [await createCustomer(till), await createMeter(till)];
    const paid = await grant(till, customer, meter, { limit: 10 });
    await pass(1);
    const unpaid = await grant(till, customer, meter, { limit: 10, interval: 'day' });
    await stopPaying(till, unpaid);
    if (isPeriodSeen) {
      // The renewal is paid an hour after the period has begun.
      await pass(1);
      await till.settle();
    }
    await pass(isPeriodSeen ? 0.25 : 1.25);
    await till.settle();
    const { status } = await till.get<SubscriptionBody>(`/subscriptions/${unpaid.id}`);
    assert.equal(status, 'past_due');
    const at = now();
    await useUp(till, customer, meter, at);
    await pass(0.01);
    await till.call('DELETE', `/subscriptions/${unpaid.id}`);
    await till.settle();
    const { allowed, used } = await consumeUsage(till, usageOf(customer, meter, { quantity: 10, at }));
    assert.deepEqual([allowed, used], [false, 10]);
    await recordUsage(till, usageOf(customer, meter, { quantity: 5, at }));
    assert.deepEqual(await counted(till), [[paid.currentPeriodStart, 15]]);
  });

for (const isGraceEnded of [true, false])
  test(`after a subscription was canceled, only its grace period has its window, ${isGraceEnded ? 'seen' : 'not seen'} to end`, async (t) => {
    const { till, advance, now } = await start(t, 1);
    const pass = async (days: number) => {
      await advance(days);
      await till.settle();
    };
    const [customer, meter] = [await createCustomer(till), await createMeter(till)];
    const paid = await grant(till, customer, meter, { limit: 10 });
    await pass(1);
    const unpaid = await grant(till, customer, meter, { limit: 10, interval: 'week' });
    await stopPaying(till, unpaid);
    await pass(7.25);
    const inGrace = now();
    await pass(1);
    const afterGrace = now();
    const record = () =>
      recordUsage(
        till,
        usageOf(customer, meter, { at: inGrace }),
        usageOf(customer, meter, { at: afterGrace, quantity: 3 }),
      );
    await record();
    if (isGraceEnded) await till.services.eventUpkeep.writeDue();
    await pass(0.1);
    await till.call('DELETE', `/subscriptions/${unpaid.id}`);
    await till.settle();
    await record();
    assert.deepEqual(await counted(till), [
      [paid.currentPeriodStart, 6],
      [unpaid.currentPeriodEnd, 2],
    ]);
  });

test('a subscription that is canceled after its renewal keeps the window of the new period', async (t) => {
  const { till, advance, now } = await start(t);
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  await grant(till, customer, meter, { limit: 10 });
  await advance(1);
  const newest = await grant(till, customer, meter, { limit: 10, interval: 'day' });
  await advance(1.25);
  const inSecond = now();
  const { periodStart } = await usageIn(till, customer, meter);
  const record = () => recordUsage(till, usageOf(customer, meter, { at: inSecond }));
  await record();
  // Till learns of the renewal and of the end at once.
  await advance(0.1);
  await till.stripe.subscriptions.cancel(newest.processorSubscriptionId);
  await till.settle();
  await record();
  assert.deepEqual(await counted(till), [[periodStart, 2]]);
});
