/** PostgreSQL keeps the plans of named statements. None of them may become slow when there are more rows. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createLogger } from '#core/platform/logger.ts';
import { Database, type Queryable } from '#core/platform/postgres.ts';
import { EntitlementStore } from '#features/subscriptions/entitlements/entitlement-store.ts';
import { UsageStore } from '#features/usage/usage-store.ts';
import { createCustomer } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { createMeter } from '../support/usage.ts';

/** From the sixth execution on, PostgreSQL uses the plan that it keeps. */
const runs = 8;

/** One connection, so that its prepared statements can be explained. */
function connect(t: TestContext, url: string): Database {
  const database = new Database({ url, poolSize: 1, logger: createLogger('error', process.stderr) });
  t.after(() => database.close());
  return database;
}

async function explain(database: Database, statement: string): Promise<string> {
  const rows = await database.query<{ 'QUERY PLAN': string }>(`explain execute ${statement}`);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

test('entitlements find counters by their index, even if they were read first when there were none', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const [customer, meter] = [await createCustomer(till), await createMeter(till)];
  const database = connect(t, till.databaseUrl);
  const store = new EntitlementStore();
  const read = async () => {
    for (let run = 0; run < runs; run += 1)
      await store.findWithUsage(database, { by: 'id', ids: [customer.id] }, new Date());
  };
  await till.sql('analyze till.usage_counters');
  await read();
  await till.sql(
    `insert into till.usage_counters (customer_id, meter_id, starts_at, ends_at, used)
     select gen_random_uuid(), '${meter.id}', now(), now() + interval '1 month', 1 from generate_series(1, 5000)`,
  );
  await read();
  const execution = `('{${customer.id}}', now())`;
  const scan = /Seq Scan on usage_counters/;
  assert.match(
    await explain(database, `"find_entitlements_id" ${execution}`),
    scan,
    'this plan is out of date',
  );
  assert.doesNotMatch(await explain(database, `"find_entitlements_id_many" ${execution}`), scan);
});

test('the plan that adds a batch compares no row with each of the others', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const [{ id: customerId }, { id: meterId }] = [await createCustomer(till), await createMeter(till)];
  const database = connect(t, till.databaseUrl);
  const store = new UsageStore();
  const now = new Date();
  const at = BigInt(now.getTime()) * 1_000n;
  const endsAt = new Date(now.getTime() + 1);
  const window = { customerId, meterId, startsAt: now, windowNumber: 0, endsAt, limit: null, readAt: now };
  for (let run = 0; run < runs; run += 1) {
    const events = [{ application: 'tests', id: `event-${run}`, at, quantity: 1, window: 0 }];
    await database.transaction((tx) => store.add(tx, { events, windows: [window] }, 'reached', now));
  }
  await database.query('set plan_cache_mode = force_generic_plan');
  const arrays = Array.from({ length: 10 }, () => `'{}'`).join(', ');
  const plan = await explain(database, `add_usage(${arrays}, now(), 'reached', 0, now())`);
  assert.match(plan, /Insert on usage_counters/);
  assert.doesNotMatch(plan, /Nested Loop/);
});

test('repeated events are looked up by their keys, however many events the day has', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const database = connect(t, till.databaseUrl);
  await till.sql(
    `insert into till.usage_events
       (application, id, day, at, quantity, customer_id, meter_id, window_start, created_at)
     select 'tests', 'event-' || n, (now() at time zone 'utc')::date, now(), 1, gen_random_uuid(), gen_random_uuid(),
       now(), now()
     from generate_series(1, 20000) as n`,
  );
  await till.sql('analyze till.usage_events');
  const [{ day } = { day: '' }] = await database.query<{ day: string }>(
    'select max(day)::text as day from till.usage_events',
  );
  const keys = Array.from({ length: 1_000 }, (_, n) => ({ application: 'tests', id: `event-${n + 1}`, day }));
  let plan = '';
  const explaining: Queryable = {
    query: async (text, values) => {
      const rows = await database.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
      plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      return [];
    },
  };
  const store = new UsageStore();
  await store.find(explaining, keys);
  assert.match(plan, /Index Scan using usage_events_\d{8}_pkey/);
  assert.doesNotMatch(plan, /Hash Join|Merge Join|Seq Scan/);
  assert.equal((await store.find(database, keys)).length, keys.length);
});
