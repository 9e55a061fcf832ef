/**
 * Counters are locked in one order, whatever changes them. Each test stops one transaction halfway, at a counter that
 * the test holds, and lets another one take the same counters meanwhile. In two orders they would deadlock.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type WindowTerms, windowOf } from '#core/model/usage-window.ts';
import { createCustomer, createPlan } from '../support/objects.ts';
import { subscribe } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';
import { consumeUsage, createMeter, readUsage, recordUsage, usageOf } from '../support/usage.ts';
import { holdRows } from '../webhooks/row-lock.ts';

const byId = (a: { readonly id: string }, b: { readonly id: string }) => (a.id < b.id ? -1 : 1);

test('periods that become longer extend counters while a batch changes them', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const meters = [await createMeter(till), await createMeter(till)].toSorted(byId);
  const [first, second] = meters;
  assert.ok(first !== undefined && second !== undefined);
  const plan = await createPlan(till, {
    features: Object.fromEntries(meters.map(({ key }) => [key, 1_000])),
  });
  const customers = [await createCustomer(till), await createCustomer(till)].toSorted(byId);
  // The rows of the tables are in the reverse order.
  for (const { id: customerId } of customers.toReversed()) await subscribe(till, { plan, customerId });
  const all = customers.flatMap((customer) => meters.map((meter) => ({ customer, meter })));
  for (const { customer, meter } of all.toReversed()) await recordUsage(till, usageOf(customer, meter));

  const held = await holdRows(
    till,
    `select from till.usage_counters where customer_id = '${customers[0]?.id}' and meter_id = '${second.id}' for update`,
  );
  const recorded = recordUsage(till, ...all.map(({ customer, meter }) => usageOf(customer, meter)));
  await held.awaited(1);
  const extended = till.sql(
    `update till.subscriptions set current_period_end = current_period_end + interval '1 day'`,
  );
  await held.awaited(2);
  await held.release();
  assert.equal((await recorded).recorded, all.length);
  await extended;
  assert.deepEqual(till.deadlocks, []);
  const ends = await till.sql(
    `select from till.usage_counters join till.subscriptions using (customer_id) where ends_at = current_period_end`,
  );
  assert.equal(ends.length, all.length);
});

test('consumptions create counters while a batch changes them', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const meters = [await createMeter(till), await createMeter(till), await createMeter(till)].toSorted(byId);
  const [fresh, used, last] = meters;
  assert.ok(fresh !== undefined && used !== undefined && last !== undefined);
  const plan = await createPlan(till, {
    features: Object.fromEntries(meters.map(({ key }) => [key, 1_000])),
  });
  const customer = await createCustomer(till);
  await subscribe(till, { plan, customerId: customer.id });
  await recordUsage(till, usageOf(customer, used), usageOf(customer, last));

  const held = await holdRows(
    till,
    `select from till.usage_counters where meter_id = '${last.id}' for update`,
  );
  // Not by HTTP: called together, they share a transaction.
  const consumed = Promise.all(
    meters.map((meter) => till.services.consumption.consume('tests', usageOf(customer, meter))),
  );
  await held.awaited(1);
  const recorded = recordUsage(till, usageOf(customer, fresh), usageOf(customer, used));
  await held.awaited(2);
  await held.release();
  assert.deepEqual(
    (await consumed).map(({ allowed }) => allowed),
    [true, true, true],
  );
  assert.equal((await recorded).recorded, 2);
  assert.deepEqual(till.deadlocks, []);
  const counts = await Promise.all(
    meters.map(async (meter) => (await readUsage(till, customer, meter))?.used),
  );
  assert.deepEqual(counts, [2, 3, 2]);
});

for (const { before, used } of [
  { before: 'in a window with usage', used: 2 },
  { before: 'as the first of its window', used: 1 },
])
  test(`usage that is counted ${before}, after its period became longer, does not make the window shorter`, async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const meters = [await createMeter(till), await createMeter(till)];
    const plan = await createPlan(till, {
      features: Object.fromEntries(meters.map(({ key }) => [key, 1_000])),
    });
    const customer = await createCustomer(till);
    await subscribe(till, { plan, customerId: customer.id });
    const [recorded, consumed] = meters.map((meter) => usageOf(customer, meter));
    assert.ok(recorded !== undefined && consumed !== undefined);
    if (used > 1) await recordUsage(till, ...meters.map((meter) => usageOf(customer, meter)));

    const held = await holdRows(till, 'lock table till.usage_events in share mode');
    const counted = Promise.all([recordUsage(till, recorded), consumeUsage(till, consumed)]);
    await held.awaited(2);
    await till.sql(
      `update till.subscriptions set current_period_end = current_period_end + interval '1 day'`,
    );
    await held.release();
    await counted;
    const rows = await till.sql<{ used: number; extended: boolean }>(
      `select used, ends_at = current_period_end as extended
       from till.usage_counters join till.subscriptions using (customer_id)`,
    );
    assert.deepEqual(rows, [
      { used, extended: true },
      { used, extended: true },
    ]);
  });

test('a renewal that is longer than the plan expects extends a window that is counted in meanwhile', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const meter = await createMeter(till);
  const plan = await createPlan(till, { features: { [meter.key]: 1_000 } });
  const customer = await createCustomer(till);
  await subscribe(till, { plan, customerId: customer.id });
  // The period has ended, and the renewal is not known yet. The processor's periods begin at whole seconds.
  await till.sql(
    `update till.subscriptions set current_period_start = date_trunc('second', now()) - interval '1 month 1 day',
       current_period_end = date_trunc('second', now()) - interval '1 day'`,
  );
  const held = await holdRows(till, 'lock table till.usage_events in share mode');
  const counted = recordUsage(till, usageOf(customer, meter));
  await held.awaited(1);
  await till.sql(
    `update till.subscriptions set current_period_start = current_period_end,
       current_period_end = current_period_end + interval '1 year'`,
  );
  await held.release();
  assert.equal((await counted).recorded, 1);
  const rows = await till.sql<{ used: number; extended: boolean }>(
    `select used, ends_at = current_period_end as extended
     from till.usage_counters join till.subscriptions using (customer_id) where used > 0`,
  );
  assert.deepEqual(rows, [{ used: 1, extended: true }]);
  assert.equal((await readUsage(till, customer, meter))?.used, 1);
});

test('a renewal that is as long as the plan says writes no counters', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const meter = await createMeter(till);
  const plan = await createPlan(till, { features: { [meter.key]: 1_000 } });
  const customer = await createCustomer(till);
  await subscribe(till, { plan, customerId: customer.id });
  await till.sql(
    `update till.subscriptions set current_period_start = '2026-01-15', current_period_end = '2026-02-15'`,
  );
  await till.sql('delete from till.usage_counters');
  await till.sql(
    `update till.subscriptions set current_period_start = '2026-02-15', current_period_end = '2026-03-15'`,
  );
  assert.deepEqual(await till.sql('select from till.usage_counters'), []);
});

test('a period that becomes longer extends the last of its months', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const meter = await createMeter(till, { resets: 'month' });
  const plan = await createPlan(till, { features: { [meter.key]: 1_000 } });
  const customer = await createCustomer(till);
  await subscribe(till, { plan, customerId: customer.id });
  await till.sql(
    `update till.subscriptions set current_period_start = date_trunc('second', now()) - interval '70 days',
       current_period_end = date_trunc('second', now()) + interval '5 days'`,
  );
  await recordUsage(till, usageOf(customer, meter));
  await till.sql(`update till.subscriptions set current_period_end = current_period_end + interval '5 days'`);
  const rows = await till.sql<{ used: number; extended: boolean }>(
    `select used, held.ends_at = current_period_end as extended
     from till.usage_counters as held join till.subscriptions using (customer_id) where used > 0`,
  );
  assert.deepEqual(rows, [{ used: 1, extended: true }]);
});

/** The boundaries of the periods that usage expects after a trial that ends then. */
function expectedPeriods(trialEnd: Date, interval: 'day' | 'week' | 'month' | 'year', intervalCount: number) {
  const createdAt = new Date(trialEnd.getTime() - 86_400_000);
  const terms: WindowTerms = {
    ...{
      interval,
      intervalCount,
      features: { calls: 1 },
      isEntitled: true,
      windowNumber: 0,
      trialEnd,
      createdAt,
    },
    ...{ currentPeriodStart: createdAt, currentPeriodEnd: trialEnd, processorAsOf: createdAt },
    ...{ endedAt: null, graceEndedAt: null },
  };
  const times = [createdAt, trialEnd];
  while (times.length < 5)
    times.push(windowOf([terms], { key: 'calls', resets: 'period' }, times.at(-1) ?? trialEnd).end);
  return times.map((time) => time.toISOString());
}

test('whenever a period begins, it gets counters if it is a second longer than usage expects', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  await createMeter(till);
  await subscribe(till, {});
  for (const day of ['2024-02-29', '2026-01-28', '2026-01-31', '2026-03-30', '2026-12-31'])
    for (const interval of ['day', 'week', 'month', 'year'] as const)
      for (const count of [1, 3]) {
        await till.sql(`update till.plans set interval = '${interval}', interval_count = ${count}`);
        const times = expectedPeriods(new Date(`${day}T10:00:00Z`), interval, count);
        for (const [place, start] of times.slice(1, -1).entries()) {
          const end = `timestamptz '${times[place + 2]}' + interval '1 second'`;
          await till.sql(`update till.subscriptions
            set current_period_start = '${times[place]}', current_period_end = '${start}'`);
          await till.sql('delete from till.usage_counters');
          await till.sql(`update till.subscriptions
            set current_period_start = '${start}', current_period_end = ${end}`);
          const found = await till.sql(`select from till.usage_counters where ends_at = ${end}`);
          assert.equal(found.length, 1, `${count} ${interval} from ${start}, after ${day}`);
        }
      }
});
