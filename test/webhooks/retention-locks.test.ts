import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import pg from 'pg';
import { effort } from '../support/effort.ts';
import { createCustomer } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';

/** A request waits for at most three locks of 100 ms each; the rest is for a machine that is busy with other tests. */
const requestMsMax = 3_000;
/** On a busy machine a lock may be missed now and then, but not every time. */
const runsMax = 50;
/** Every 1,000th is pending, and a week with more than 500 pending events is not dropped. */
const eventCount = effort({ short: 20_000, long: 500_000 });
/** More than the 500 pending events with which a week is not dropped. */
const fewEvents = 2_000;
const daySeconds = 86_400;
const oldSeconds = Math.floor(Date.now() / 1_000) - 60 * daySeconds;

async function connect(till: TillInProcess): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: till.databaseUrl });
  await client.connect();
  return client;
}

/** A week of which every 100th event has failed and every 1,000th is pending; the others are processed. */
async function fillOldWeek(till: TillInProcess, count: number): Promise<string> {
  const client = await connect(till);
  await client.query(`select till.make_weeks('webhook_events', to_timestamp($1), to_timestamp($1))`, [
    oldSeconds,
  ]);
  await client.query(
    `insert into till.webhook_events (id, type, object_id, created_at, payload, personal_data, state, next_try_at, received_at)
     select 'evt_' || number, 'invoice.paid', 'in_' || number, to_timestamp($1), '{}', 'none',
       case when number % 1000 = 0 then 'pending' when number % 100 = 1 then 'failed' else 'processed' end,
       now() + interval '1 day', now()
     from generate_series(1, $2::int) as number`,
    [oldSeconds, count],
  );
  await client.end();
  return weekOf(till, 'evt_1');
}

async function weekOf(till: TillInProcess, id: string): Promise<string> {
  const [row] = await till.sql<{ name: string }>(
    `select relname as name from till.webhook_events join pg_class on pg_class.oid = webhook_events.tableoid where id = $1`,
    [id],
  );
  assert(row);
  return row.name;
}

async function exists(till: TillInProcess, table: string): Promise<boolean> {
  return (await till.sql('select 1 as found from pg_class where relname = $1', [table])).length > 0;
}

/** As the service repeats it: a run that cannot have a lock in time leaves the rest to the next one. */
async function runUntilDone(till: TillInProcess): Promise<boolean> {
  for (let runs = 0; runs < runsMax; runs += 1) if (await till.services.retention.run()) return true;
  return false;
}

/** Sends webhooks and reads the list until the work is done; returns its result and the slowest request. */
async function whileServing<T>(till: TillInProcess, work: Promise<T>) {
  let isDone = false;
  const settled = work.finally(() => {
    isDone = true;
  });
  let slowestMs = 0;
  const timed = async (request: () => Promise<Response>) => {
    const startedMs = performance.now();
    assert.equal((await request()).status, 200);
    slowestMs = Math.max(slowestMs, performance.now() - startedMs);
  };
  do {
    await Promise.all([
      timed(() => till.send(eventOf('invoice.paid.newer'))),
      timed(() => till.fetch('/api/v1/webhook-events?state=failed')),
      timed(() => till.fetch('/api/v1/webhook-events?type=invoice.paid')),
    ]);
    await till.services.eventApplier.applyBatch();
  } while (!isDone);
  return { result: await settled, slowestMs };
}

describe('dropping a week', () => {
  test(`of ${eventCount} events keeps what failed or waits, and requests are served meanwhile`, async (t) => {
    const till = await startTill({ in: 'process', for: t, retentionDays: 35 });
    const week = await fillOldWeek(till, eventCount);
    const { result, slowestMs } = await whileServing(till, runUntilDone(till));
    assert.equal(result, true);
    assert.ok(slowestMs < requestMsMax, `a request took ${slowestMs} ms`);
    assert.equal(await exists(till, week), false);
    const kept = await till.sql<{ state: string; count: number }>(
      `select state, count(*) as count from till.webhook_events_other group by state order by state`,
    );
    assert.deepEqual(kept, [
      { state: 'failed', count: eventCount / 100 },
      { state: 'pending', count: eventCount / 1_000 },
    ]);
  });

  test('scans nothing while the inbox is locked', async (t) => {
    const till = await startTill({ in: 'process', for: t, retentionDays: 35 });
    const week = await fillOldWeek(till, 20_000);
    const client = await connect(till);
    const scans = async () => {
      await client.query('select pg_stat_force_next_flush()');
      const { rows } = await client.query(
        'select seq_scan, seq_tup_read from pg_stat_user_tables where relname = $1',
        [week],
      );
      return rows[0];
    };
    const before = await scans();
    await client.query('select pg_stat_force_next_flush(), till.detach_webhook_week($1, 500)', [week]);
    assert.deepEqual(await scans(), before);
    await client.query(`select pg_stat_force_next_flush(), till.move_webhook_events($1, 'failed', 1000)`, [
      week,
    ]);
    assert.deepEqual(await scans(), before);
    await client.end();
  });

  test('continues wherever an earlier run ended', async (t) => {
    const steps = [
      'select till.detach_webhook_week($1, 50)',
      `select till.move_webhook_events($1, 'failed', 10)`,
      `select till.move_webhook_events($1, 'failed', 1000)`,
    ];
    for (let done = 1; done <= steps.length; done += 1) {
      const till = await startTill({ in: 'process', for: t, retentionDays: 35 });
      const week = await fillOldWeek(till, fewEvents);
      for (const step of steps.slice(0, done)) await till.sql(step, [week]);
      assert.equal(await till.services.retention.run(), true);
      assert.equal(await exists(till, week), false);
      const [kept] = await till.sql('select count(*) as count from till.webhook_events');
      assert.deepEqual(kept, { count: fewEvents / 100 + fewEvents / 1_000 });
    }
  });

  test('waits for a week in which too many events are pending, and says so', async (t) => {
    const till = await startTill({ in: 'process', for: t, retentionDays: 35 });
    const week = await fillOldWeek(till, fewEvents);
    await till.sql(`update till.webhook_events set state = 'pending'`);
    assert.equal(await till.services.retention.run(), true);
    assert.equal(await exists(till, week), true);
    const message = 'expired week of webhook events kept: too many pending events';
    assert.ok(till.lines.some((line) => line.msg === message && line['week'] === week));
    await till.sql(`update till.webhook_events set state = 'processed'`);
    assert.equal(await till.services.retention.run(), true);
    assert.equal(await exists(till, week), false);
  });

  test('hides no personal data from a search that runs meanwhile', async (t) => {
    const till = await startTill({ in: 'process', for: t, retentionDays: 35 });
    await till.sql(`select till.make_weeks('webhook_events', to_timestamp($1), to_timestamp($1))`, [
      oldSeconds,
    ]);
    const { id, processorCustomerId } = await createCustomer(till);
    const person = { id: processorCustomerId, name: 'Ada Lovelace of Detach', email: 'ada@detach.example' };
    const event = eventOf('customer.updated', person, { created: oldSeconds });
    await till.take(event);
    await till.sql(
      `update till.webhook_events set state = 'failed', personal_data = 'customer' where id = $1`,
      [idOf(event)],
    );
    // As if a run had ended right after the week was detached.
    await till.sql('select till.detach_webhook_week($1, 0)', [await weekOf(till, idOf(event))]);
    assert.equal((await till.fetch(`/api/v1/customers/${id}`, { method: 'DELETE' })).status, 204);
    await till.services.erasure.run();
    await till.services.retention.run();
    await till.services.erasure.run();
    const rows = await till.sql<{ payload: string; personal_data: string }>(
      'select payload, personal_data from till.webhook_events where id = $1',
      [idOf(event)],
    );
    assert.deepEqual(
      rows.map(({ personal_data, payload }) => [personal_data, payload.includes(person.email)]),
      [['none', false]],
    );
  });

  test('refuses any table but a detached week', async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const event = eventOf('balance.available');
    await till.take(event);
    const week = await weekOf(till, idOf(event));
    for (const [name, reason] of [
      [week, /not a detached week/],
      ['payments', /not a week/],
      ['webhook_events_other', /not a week/],
    ] as const) {
      await assert.rejects(till.sql('select till.drop_detached_webhook_week($1)', [name]), reason);
      await assert.rejects(till.sql(`select till.move_webhook_events($1, 'failed', 1)`, [name]), reason);
    }
    await assert.rejects(till.sql(`select till.detach_webhook_week('payments', 1)`), /not a week/);
  });
});

test('during a backup, weeks are created and dropped later, and requests are served meanwhile', async (t) => {
  const till = await startTill({ in: 'process', for: t, retentionDays: 35 });
  const expired = await fillOldWeek(till, 1_000);
  const [row] = await till.sql<{ name: string }>(
    `select max(relname) as name from pg_class where relname ~ '^webhook_events_[0-9]{8}$'`,
  );
  assert(row);
  await till.sql(`drop table till.${row.name}`);
  const backup = await connect(till);
  await backup.query('begin');
  // What pg_dump does.
  await backup.query('lock table till.webhook_events in access share mode');
  const { result, slowestMs } = await whileServing(till, till.services.retention.run());
  assert.ok(slowestMs < requestMsMax, `a request took ${slowestMs} ms`);
  assert.equal(result, false, 'it has to be repeated soon');
  assert.equal(await exists(till, row.name), false);
  assert.equal(await exists(till, expired), true);
  assert.ok(till.lines.some(({ msg }) => msg === 'maintenance of weeks postponed: table locked'));
  await backup.query('commit');
  await backup.end();
  assert.equal(await till.services.retention.run(), true);
  assert.equal(await exists(till, row.name), true);
  assert.equal(await exists(till, expired), false);
});
