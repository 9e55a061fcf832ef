import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instantOf } from '#features/usage/usage-batch.ts';
import { UsageErasureStore } from '#features/usage/usage-erasure-store.ts';
import { UsageStore } from '#features/usage/usage-store.ts';
import { startBackend } from '../support/backend.ts';
import { createClient, readJson } from '../support/client.ts';
import { createCustomer, createPlan } from '../support/objects.ts';
import { subscribe } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { consumeUsage, createMeter, readUsage, recordUsage, usageOf } from '../support/usage.ts';
import { holdRows } from '../webhooks/row-lock.ts';

const dayMs = 86_400_000;

/** The name of the partition of a day. */
function partitionOf(days: number): string {
  return `usage_events_${new Date(Date.now() + days * dayMs).toISOString().slice(0, 10).replaceAll('-', '')}`;
}

test('days of usage events exist ahead, and are dropped once they are older than is kept', async (t) => {
  const till = await startTill({ in: 'process', for: t, usageRetentionDays: 36 });
  const names = async () =>
    (
      await till.sql<{ name: string }>(
        `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'till.usage_events'::regclass`,
      )
    ).map(({ name }) => name.replace('till.', ''));
  await till.sql(`drop table till.${partitionOf(7)}`);
  await till.sql(`select till.make_days('usage_events', current_date - 40, current_date - 40)`);
  assert.ok((await names()).includes(partitionOf(-40)));
  assert.equal(await till.services.retention.run(), true);
  const kept = await names();
  assert.ok(kept.includes(partitionOf(7)) && kept.includes(partitionOf(-36)));
  assert.ok(!kept.includes(partitionOf(-40)));
  await assert.rejects(
    till.sql(`select till.drop_usage_day('${partitionOf(-35)}')`),
    /is not old enough/,
    'repeated events are recognised for 35 days',
  );
});

test('events outside of all days count once too, and are deleted in time', async (t) => {
  const till = await startTill({ in: 'process', for: t, usageRetentionDays: 36 });
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  await till.control('clock', { advanceSeconds: 60 * 86_400 });
  const event = usageOf(customer, meter, { at: new Date(Date.now() + 60 * dayMs).toISOString() });
  assert.equal((await recordUsage(till, event)).recorded, 1);
  assert.equal((await recordUsage(till, event)).duplicates, 1);
  const others = () => till.sql('select from till.usage_events_other');
  await till.services.retention.run();
  assert.equal((await others()).length, 1);
  await till.sql(
    `update till.usage_events_other set at = at - interval '200 days', day = (at - interval '200 days')::date`,
  );
  await till.services.retention.run();
  assert.equal((await others()).length, 0);
});

test('what subscriptions were is recorded when it decides about usage, and kept as long as usage can be late', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const { id } = await subscribe(till);
  const update = (values: string) => till.sql(`update till.subscriptions set ${values} where id = '${id}'`);
  const changes = async () =>
    (
      await till.sql<{ age: number }>(
        `select extract(day from now() - changed_at)::integer as age from till.subscription_history order by id`,
      )
    ).map(({ age }) => age);
  const renewAt = (days: number) =>
    update(`processor_as_of = now() - interval '${days} days', current_period_start = current_period_end,
      current_period_end = current_period_end + interval '1 day'`);
  await renewAt(60);
  assert.deepEqual(await changes(), [], 'without meters there is no usage');
  await createMeter(till);
  for (const days of [59, 42, 41, 5]) await renewAt(days);
  assert.deepEqual(await changes(), [42, 41, 5]);
  await update(
    `metadata = '{ "team": "blue" }', checked_at = now(), cancel_at_period_end = true, quantity = 7`,
  );
  assert.deepEqual(await changes(), [42, 41, 5], 'nothing of this decides about usage');
  await update(`processor_as_of = now(), status = 'unpaid'`);
  assert.deepEqual(await changes(), [5, 0]);
});

test("a deleted customer's usage keeps its numbers and loses its ids", async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const [customer, other, meter] = [
    await createCustomer(till, { externalId: 'mary' }),
    await createCustomer(till),
    await createMeter(till),
  ];
  const event = usageOf(customer, meter, { id: 'mary@example.com', quantity: 3 });
  // More than a batch, all of the same time.
  const events = Array.from({ length: 1_200 }, (_, index) => ({
    ...event,
    id: `mary-${index}`,
    quantity: 1,
  }));
  await recordUsage(till, event, ...events.slice(600), usageOf(other, meter, { id: 'kept' }));
  await recordUsage(till, ...events.slice(0, 600));
  await till.call('DELETE', `/customers/${customer.id}`);
  await till.services.erasure.run();
  await searchAgain(till);
  const rows = await till.sql<{ id: string; quantity: number }>('select id, quantity from till.usage_events');
  assert.deepEqual(
    rows.filter(({ id }) => /mary/.test(id)),
    [],
  );
  assert.equal(rows.length, 1_202);
  assert.equal(rows.filter(({ id }) => id === 'kept').length, 1);
  assert.deepEqual((await till.services.usageCheck.run(false)).wrong, []);
  // Nothing recognises the ids any more, so repeated events must not reach the counters.
  const { customerId: _, ...fact } = event;
  const byExternalId = { ...fact, externalId: 'mary' };
  for (const again of [event, byExternalId]) {
    const { rejected } = await recordUsage(till, again);
    assert.deepEqual(rejected, [{ index: 0, id: event.id, code: 'customer_not_found' }]);
    assert.equal((await till.tryPost('/usage/consume', again)).status, 404);
  }
  const [counter] = await till.sql<{ used: number }>(
    `select used from till.usage_counters where customer_id = '${customer.id}'`,
  );
  assert.equal(counter?.used, 1_203);
});

/** The second search for personal data comes ten minutes after the first. */
async function searchAgain(till: TillInProcess): Promise<void> {
  await till.sql(`update till.customers set erase_at = erase_at - interval '11 minutes'`);
  await till.services.erasure.run();
}

test("the search for a deleted customer's usage reads each event a few times, however many there are", async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const [count, limit] = [3_000, 100];
  // Events of thirty days. Of each day, 25 have the same time, and a batch ends between these.
  await till.sql(
    `insert into till.usage_events (at, window_start, quantity, created_at, customer_id, meter_id, day, application, id)
     select at, at, 1, at, '${customer.id}', '${meter.id}', (at at time zone 'utc')::date, 'tests', 'mary-' || n
     from (select n, date_trunc('day', now(), 'utc') - (n % 30) * interval '1 day'
       + greatest(n / 30 - 25, 0) * interval '1 microsecond' as at from generate_series(1, ${count}) as n) as events`,
  );
  const store = new UsageErasureStore();
  const read = await till.database.transaction(async (tx) => {
    let from: string | null = null;
    for (let batches = 0; batches <= count / limit; batches += 1) {
      const batch = await store.eraseOfCustomer(tx, { customerId: customer.id, from, limit });
      from = batch.last;
    }
    assert.equal(from, null, 'no batch is left');
    const [rows] = await tx.query<{ read: number }>(
      `select sum(idx_tup_fetch + seq_tup_read)::integer as read from pg_stat_xact_user_tables
       where relname ~ '^usage_events_'`,
    );
    return rows?.read ?? 0;
  });
  assert.ok(read < 4 * count, `${read} rows were read`);
  assert.deepEqual(await till.sql(`select id from till.usage_events where id ~ 'mary'`), []);
});

test('a customer that cannot be erased does not keep others from being erased', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const [failing, other, meter] = [
    await createCustomer(till),
    await createCustomer(till),
    await createMeter(till),
  ];
  for (const customer of [failing, other]) {
    await recordUsage(till, usageOf(customer, meter, { id: `mary-${customer.id}` }));
    await till.call('DELETE', `/customers/${customer.id}`);
  }
  await till.services.erasure.run();
  await till.sql(
    `create function till.fail() returns trigger language plpgsql as $$ begin raise 'cannot be erased'; end $$`,
  );
  await till.sql(
    `create trigger fail before update on till.usage_events for each row
     when (old.customer_id = '${failing.id}') execute function till.fail()`,
  );
  await assert.rejects(searchAgain(till), /cannot be erased/);
  const left = () => till.sql(`select customer_id as id from till.usage_events where id ~ 'mary'`);
  assert.deepEqual(await left(), [{ id: failing.id }]);
  await till.sql('drop trigger fail on till.usage_events');
  await till.services.erasure.run();
  assert.deepEqual(await left(), []);
});

test('a batch that is repeated while its customer is deleted and erased counts once', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const [customer, other, meter] = [
    await createCustomer(till),
    await createCustomer(till),
    await createMeter(till),
  ];
  const event = usageOf(customer, meter, { id: 'mary@example.com', quantity: 3 });
  const kept = usageOf(other, meter, { at: event.at });
  await recordUsage(till, event, kept);
  // The repeated batch has read its customers, and waits for an earlier event of another transaction.
  const held = await holdRows(
    till,
    `insert into till.usage_events (at, window_start, quantity, created_at, customer_id, meter_id, day, application, id)
     select at, window_start, quantity, created_at, customer_id, meter_id, day, application, '!first'
     from till.usage_events where id = '${kept.id}'`,
  );
  const repeated = recordUsage(till, { ...kept, id: '!first' }, event);
  await held.awaited(1);
  await till.call('DELETE', `/customers/${customer.id}`);
  await till.services.erasure.run();
  await held.release();
  assert.deepEqual(await repeated, { recorded: 0, duplicates: 2, rejected: [] });
  const [counter] = await till.sql<{ used: number }>(
    `select used from till.usage_counters where customer_id = '${customer.id}'`,
  );
  assert.equal(counter?.used, 3);
  await searchAgain(till);
  assert.deepEqual(await till.sql(`select id from till.usage_events where id ~ 'mary'`), []);
});

test('a process that stood still after it read a customer does not count an erased event again', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const event = usageOf(customer, meter, { id: 'mary@example.com', quantity: 3 });
  await recordUsage(till, event);
  const readMs = Date.now();
  await till.call('DELETE', `/customers/${customer.id}`);
  await till.services.erasure.run();
  await searchAgain(till);
  const startsAt = new Date(event.at);
  const addRead = (minutesAgo: number) => {
    const window = {
      customerId: customer.id,
      meterId: meter.id,
      startsAt,
      windowNumber: 0,
      endsAt: startsAt,
    };
    const batch = {
      events: [{ application: 'tests', id: event.id, at: instantOf(event), quantity: 3, window: 0 }],
      windows: [{ ...window, limit: null, readAt: new Date(readMs - minutesAgo * 60_000) }],
    };
    return till.database.transaction((tx) => new UsageStore().add(tx, batch, 'reached', new Date()));
  };
  // What it read is as old as the erasure at least.
  await assert.rejects(addRead(10), { code: 'overloaded' });
  await assert.rejects(addRead(6), { code: 'overloaded' });
  const stored = await till.sql('select quantity from till.usage_events');
  const counters = await till.sql('select used from till.usage_counters');
  assert.deepEqual([stored, counters], [[{ quantity: 3 }], [{ used: 3 }]]);
  assert.equal((await addRead(4)).count, 1, 'a slow request still counts');
});

test('a counter that differs from its events is found, and corrected', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  await recordUsage(till, usageOf(customer, meter, { quantity: 5 }));
  const { usageCheck } = till.services;
  assert.deepEqual(await usageCheck.run(false), { customers: 1, wrong: [] });
  await till.sql('update till.usage_counters set used = 7');
  const { wrong } = await usageCheck.run(false);
  assert.deepEqual(
    wrong.map(({ customerId, used, sum }) => [customerId, used, sum]),
    [[customer.id, '7', '5']],
  );
  await usageCheck.run(true);
  assert.equal((await readUsage(till, customer, meter))?.used, 5);
  assert.deepEqual((await usageCheck.run(false)).wrong, []);
});

test('after the retention was raised, windows with events that it has dropped are left as they are', async (t) => {
  const backend = await startBackend(t);
  const before = await startTill({ in: 'process', on: backend, usageRetentionDays: 36 });
  const [customer, meter] = [await createCustomer(before), await createMeter(before)];
  // Events of these days ago, whose windows began with them. The first one goes on.
  const daysAgo = [60, 40, 36, 5, 0];
  for (const days of daysAgo) {
    await before.sql(
      `select till.make_days('usage_events', today - ${days}, today - ${days})
       from (select (now() at time zone 'utc')::date as today) as clock`,
    );
    await before.sql(
      `with event as (
         insert into till.usage_events (at, window_start, quantity, created_at, customer_id, meter_id, day, application, id)
         select at, at, 10, at, '${customer.id}', '${meter.id}', (at at time zone 'utc')::date, 'tests', 'of-${days}'
         from (select now() - interval '${days} days' as at) as time returning *)
       insert into till.usage_counters (customer_id, meter_id, starts_at, ends_at, used)
       select customer_id, meter_id, at, now() + interval '1 year', 10 from event`,
    );
  }
  const dropped = () => before.sql<{ count: number }>('select count(*)::integer from till.usage_events');
  assert.deepEqual(await dropped(), [{ count: 5 }]);
  await before.services.retention.run();
  assert.deepEqual(await dropped(), [{ count: 3 }]);
  const raised = await startTill({ in: 'process', on: backend, usageRetentionDays: 90 });
  assert.deepEqual((await raised.services.usageCheck.run(true)).wrong, []);
  // What was dropped before is found by the days, even if a later day was not dropped with them.
  await before.sql('update till.usage_counters set used = 11');
  await before.sql(
    `select till.make_days('usage_events', today - 70, today - 70)
     from (select (now() at time zone 'utc')::date as today) as clock`,
  );
  const { wrong } = await raised.services.usageCheck.run(true);
  const ages = wrong.map(({ startsAt }) => Math.round((Date.now() - startsAt.getTime()) / dayMs));
  assert.deepEqual(ages, [36, 5, 0], 'whose events are kept');
  const used = await before.sql('select used from till.usage_counters order by starts_at');
  assert.deepEqual(used, [{ used: 11 }, { used: 11 }, { used: 10 }, { used: 10 }, { used: 10 }]);
});

test('sums above 2^53 are exact, and so is their correction', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const plan = await createPlan(till, { features: { [meter.key]: Number.MAX_SAFE_INTEGER } });
  await subscribe(till, { plan, customerId: customer.id });
  await recordUsage(till, usageOf(customer, meter));
  const { usageCheck } = till.services;
  const used = async () => {
    const [row] = await till.sql<{ used: string }>('select used::text from till.usage_counters');
    return row?.used;
  };
  // Nine below the limit. No single event is that large.
  await till.sql('update till.usage_events set quantity = 9007199254740982');
  await till.sql('update till.usage_counters set used = 9007199254740982');
  const consumed = await Promise.all(
    Array.from({ length: 8 }, () => consumeUsage(till, usageOf(customer, meter, { quantity: 3 }))),
  );
  assert.equal(consumed.filter(({ allowed }) => allowed).length, 3);
  assert.deepEqual(await usageCheck.run(false), { customers: 1, wrong: [] });
  await recordUsage(till, usageOf(customer, meter, { quantity: 2 }));
  assert.equal(await used(), '9007199254740993');
  await till.sql('update till.usage_counters set used = used - 1');
  const { wrong } = await usageCheck.run(true);
  assert.deepEqual(
    wrong.map(({ used, sum }) => [used, sum]),
    [['9007199254740992', '9007199254740993']],
  );
  assert.deepEqual([await used(), (await usageCheck.run(false)).wrong], ['9007199254740993', []]);
});

test('an API key with the scope usage records and consumes, and reads nothing', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const { key } = await till.post<{ key: string }>('/api-keys', { name: 'counter', scopes: ['usage'] });
  const counter = createClient(till, key);
  const event = usageOf(customer, meter);
  assert.equal((await recordUsage(counter, event)).recorded, 1);
  assert.equal((await consumeUsage(counter, usageOf(customer, meter))).allowed, false);
  for (const path of ['/meters', `/customers/${customer.id}/entitlements`, '/api-keys/current'])
    assert.equal((await counter.tryGet(path)).status, 403, path);
  assert.equal((await counter.tryPost('/meters', { key: 'x', name: 'X', resets: 'period' })).status, 403);
  const { key: reader } = await till.post<{ key: string }>('/api-keys', { name: 'reader', scopes: ['read'] });
  assert.equal((await createClient(till, reader).tryPost('/usage', { events: [event] })).status, 403);
  const { key: writer } = await till.post<{ key: string }>('/api-keys', {
    name: 'writer',
    scopes: ['write'],
  });
  const again = await recordUsage(createClient(till, writer), event);
  assert.equal(again.recorded, 1, 'an id belongs to the name of the API key');
});

test('429: usage has a rate limit of its own', async (t) => {
  const till = await startTill({ in: 'process', for: t, requestsPerMinute: 4, usageRequestsPerMinute: 3 });
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  for (let count = 0; count < 2; count += 1) await recordUsage(till, usageOf(customer, meter));
  await consumeUsage(till, usageOf(customer, meter));
  const refused = await till.tryPost('/usage', { events: [usageOf(customer, meter)] });
  assert.deepEqual([refused.status, refused.body['code']], [429, 'rate_limited']);
  await readJson(await till.call('GET', '/meters'), 200);
  await readJson(await till.call('GET', '/meters'), 200);
  assert.equal((await till.tryGet('/meters')).status, 429);
});
