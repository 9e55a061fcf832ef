import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { completeIndexes } from '../../src/platform/deferred-indexes.ts';
import { migrate } from '../../src/platform/migrate.ts';
import { silentLogger } from '../support/log-capture.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { projectFolder } from '../support/till-in-child.ts';
import { until } from '../support/until.ts';

const logger = silentLogger;
const migrationsFolder = join(projectFolder, 'migrations');
/** What a later release may add: indexes of the inbox and of a table. */
const newIndexes = ['webhook_events_version_idx', 'webhook_events_tries_idx'];
const laterMigration = `
  create index webhook_events_version_idx on only till.webhook_events (api_version, created_at, id);
  create index webhook_events_tries_idx on only till.webhook_events (attempts, created_at, id) where attempts > 0;`;
const deferred = [{ name: 'customers_phone_idx', table: 'customers', definition: '(phone, created_at, id)' }];
const events = `
  insert into till.webhook_events (id, type, created_at, payload, state, next_try_at, received_at)
  select 'evt_' || number, 'invoice.paid', now(), '{}', 'processed', now(), now()
  from generate_series(1, 100) as number`;
const customers = `
  insert into till.customers (id, processor_customer_id, email, processor_as_of, processor_as_of_latest, created_at,
    updated_at)
  select gen_random_uuid(), 'cus_' || number, 'ada' || number || '@example.com', now(), now(), now(), now()
  from generate_series(1, 100) as number`;

/** An inbox and a table of this release, upgraded to a later one. */
async function upgraded(t: TestContext) {
  const database = await createTestDatabase();
  const clients: pg.Client[] = [];
  t.after(async () => {
    for (const client of clients) await client.end();
    await database.drop();
  });
  const connect = async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    clients.push(client);
    return client;
  };
  const folder = await mkdtemp(join(tmpdir(), 'till-indexes-'));
  t.after(() => rm(folder, { recursive: true }));
  const client = await connect();
  await client.query(events);
  await client.query(customers);
  await cp(migrationsFolder, folder, { recursive: true });
  await writeFile(join(folder, '9000_later.sql'), laterMigration);
  await migrate({ url: database.url, folder, logger });
  return { url: database.url, client, connect };
}

async function validity(client: pg.Client): Promise<readonly boolean[]> {
  const { rows } = await client.query<{ valid: boolean }>(
    `select indisvalid as valid from pg_index join pg_class on pg_class.oid = indexrelid
     where relname = any ($1) order by 1`,
    [newIndexes],
  );
  return rows.map(({ valid }) => valid);
}

test('an upgrade builds the indexes of the weeks after it, while writes go on', async (t) => {
  const { url, client, connect } = await upgraded(t);
  assert.deepEqual(await validity(client), [false, false]);
  const writer = await connect();
  await writer.query('begin');
  const insert = (id: string) =>
    `insert into till.webhook_events (id, type, created_at, payload, state, next_try_at, received_at)
     values ('${id}', 'invoice.paid', now(), '{}', 'pending', now(), now())`;
  await writer.query(insert('evt_before'));
  const built = completeIndexes({ url, logger });
  await waiting(client);
  // The build waits for the writer that came before it, and nothing waits for the build.
  await client.query(insert('evt_meanwhile'));
  await writer.query('commit');
  assert.equal(await built, true);
  assert.deepEqual(await validity(client), [true, true]);
});

test('an upgrade builds the indexes of tables after it, and again after an interrupted build', async (t) => {
  const { url, client } = await upgraded(t);
  const isValid = async () => {
    const { rows } = await client.query<{ valid: boolean }>(
      `select indisvalid as valid from pg_index where indexrelid = to_regclass('till.customers_phone_idx')`,
    );
    return rows[0]?.valid;
  };
  assert.equal(await isValid(), undefined);
  assert.equal(await completeIndexes({ url, logger, deferred }), true);
  assert.equal(await isValid(), true);
  // What an interrupted build leaves behind.
  await client.query(
    `update pg_index set indisvalid = false where indexrelid = 'till.customers_phone_idx'::regclass`,
  );
  assert.equal(await completeIndexes({ url, logger, deferred }), true);
  assert.equal(await isValid(), true);
});

test('weeks that are created before the build is done have their indexes from the start', async (t) => {
  const { url, client } = await upgraded(t);
  await client.query(
    `select till.make_weeks('webhook_events', now() + interval '40 weeks', now() + interval '40 weeks')`,
  );
  assert.equal(await completeIndexes({ url, logger }), true);
  assert.deepEqual(await validity(client), [true, true]);
});

test('a build that was interrupted starts over, and one that was not attached is attached', async (t) => {
  const { url, client } = await upgraded(t);
  const { rows } = await client.query<{ week: string }>(
    `select relname as week from till.webhook_events join pg_class on pg_class.oid = webhook_events.tableoid limit 1`,
  );
  const [version, attempts] = newIndexes.map((name) => `${rows[0]?.week}_${name}`);
  await client.query(`create index ${version} on till.${rows[0]?.week} (api_version, created_at, id)`);
  await client.query(
    `create index ${attempts} on till.${rows[0]?.week} (attempts, created_at, id) where attempts > 0`,
  );
  await client.query(
    `update pg_index set indisvalid = false where indexrelid = 'till.${attempts}'::regclass`,
  );
  assert.equal(await completeIndexes({ url, logger }), true);
  assert.deepEqual(await validity(client), [true, true]);
});

test('a build that is stopped ends at once, and the next one finishes it', async (t) => {
  const { url, client, connect } = await upgraded(t);
  const writer = await connect();
  await writer.query('begin');
  await writer.query(`update till.webhook_events set attempts = 1 where id = 'evt_1'`);
  const stopping = new AbortController();
  const built = completeIndexes({ url, logger, signal: stopping.signal });
  await waiting(client);
  stopping.abort();
  assert.equal(await built, false);
  await writer.query('commit');
  assert.equal(await completeIndexes({ url, logger }), true);
  assert.deepEqual(await validity(client), [true, true]);
});

function waiting(client: pg.Client): Promise<void> {
  return until(async () => {
    const { rowCount } = await client.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'till indexes'
         and wait_event_type = 'Lock'`,
    );
    return rowCount === 1;
  }, 'the build does not wait');
}
