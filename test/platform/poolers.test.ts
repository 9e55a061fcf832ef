/** The database through the real PgBouncer, in each of its modes. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { Failure } from '#core/errors.ts';
import { isGone } from '#core/platform/owner-lock.ts';
import { detectPoolMode, inspectPooler } from '#core/platform/pool-mode.ts';
import { Database, isOutage } from '#core/platform/postgres.ts';
import { Shutdown } from '#core/platform/shutdown.ts';
import { codeOf } from '#core/platform/unavailable.ts';
import { joinDatabase, migrateDatabase } from '#runtime/composition/compose-database.ts';
import { loadConfig } from '#runtime/composition/config.ts';
import { captureLog } from '../support/log-capture.ts';
import { PgBouncer, skipWithoutPgBouncer } from '../support/pgbouncer.ts';
import { lineToDatabase } from '../support/tcp-line.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { until } from '../support/until.ts';

const { logger } = captureLog();
const modes = ['transaction', 'session'] as const;

describe('through PgBouncer', { skip: skipWithoutPgBouncer() }, () => {
  let server: TestDatabase;
  const bouncers = {} as Record<(typeof modes)[number] | 'statement', PgBouncer>;

  before(async () => {
    server = await createTestDatabase('empty');
    const databaseUrl = server.url;
    for (const mode of [...modes, 'statement'] as const)
      bouncers[mode] = await PgBouncer.start({ databaseUrl, mode });
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    await client.query('create table numbers (n int primary key)');
    await client.end();
  });

  after(async () => {
    await Promise.all(Object.values(bouncers).map((bouncer) => bouncer.remove()));
    await server.drop();
  });

  for (const poolMode of modes) {
    describe(`in ${poolMode} mode`, () => {
      let database: Database;

      before(async () => {
        database = new Database({ url: bouncers[poolMode].url, poolSize: 4, logger, poolMode });
        await database.query('truncate numbers');
      });

      after(() => database.close());

      test('every statement is under the limits, and named ones work on whatever session they meet', async () => {
        const text = `select current_setting('statement_timeout') as statement,
          current_setting('idle_in_transaction_session_timeout') as idle, current_setting('jit') as jit, $1::int as n`;
        const read = (n: number) => [
          database.query(text, [n], 'read_limits'),
          database.transaction((tx) => tx.query(text, [n], 'read_limits')),
        ];
        const results = await Promise.all(Array.from({ length: 20 }, (_, n) => read(n)).flat());
        const expected = Array.from({ length: 40 }, (_, n) => [
          { statement: '10s', idle: '10s', jit: 'off', n: Math.floor(n / 2) },
        ]);
        assert.deepEqual(results, expected);
      });

      test('a statement that fails leaves nothing behind, and is a defect, not an outage', async () => {
        await database.query('insert into numbers values ($1)', [1]);
        const failed = database.query('insert into numbers values ($1), ($2)', [2, 1]);
        await assert.rejects(failed, (error: Error) => !(error instanceof Failure));
        const unbound = database.query('select 1', ['a value that the text does not name']);
        await assert.rejects(unbound, (error: Error) => codeOf(error) === '08P01');
        const rolledBack = database.transaction(async (tx) => {
          tx.send('insert into numbers values ($1)', [2]);
          tx.send('insert into numbers values ($1)', [1]);
        });
        await assert.rejects(rolledBack, /duplicate key/);
        assert.deepEqual(await database.query('select n from numbers'), [{ n: 1 }]);
      });

      test('a session that ends is an outage: alone, within a transaction, and between two of its statements', async () => {
        const end = 'select pg_terminate_backend(pg_backend_pid())';
        await assert.rejects(database.query(end), isOutage);
        await assert.rejects(
          database.transaction((tx) => tx.query(end)),
          isOutage,
        );
        const between = database.transaction(async (tx) => {
          const [own] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
          // Returns once the other session has ended.
          await database.query('select pg_terminate_backend($1, 10000)', [own?.pid]);
          await tx.query('insert into numbers values (3)');
        });
        await assert.rejects(between, isOutage);
        assert.deepEqual(await database.query('select n from numbers where n = 3'), []);
      });

      test('a transaction that PostgreSQL ended because it was idle can be retried', async () => {
        const idle = database.transaction(async (tx) => {
          await tx.query(`set local idle_in_transaction_session_timeout = '50ms'`);
          const [own] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
          const isThere = 'select from pg_stat_activity where pid = $1';
          await until(async () => (await database.query(isThere, [own?.pid])).length === 0);
          await tx.query('insert into numbers values (4)');
        });
        await assert.rejects(idle, { code: 'database_unavailable' });
        assert.deepEqual(await database.query('select n from numbers where n = 4'), []);
      });

      test('a PgBouncer that ends is an outage, and once it is back everything works again', async () => {
        const bouncer = bouncers[poolMode];
        const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
        const { promise: gone, resolve: go } = Promise.withResolvers<void>();
        const cut = database.transaction(async (tx) => {
          await tx.query('insert into numbers values (5)');
          begin();
          await gone;
          await tx.query('select 1');
        });
        await begun;
        await bouncer.kill();
        go();
        await assert.rejects(cut, isOutage);
        await assert.rejects(database.query('select 1'), isOutage);
        await assert.rejects(database.ping());
        await bouncer.start();
        assert.deepEqual(await database.query('select n from numbers where n = 5'), []);
        await database.ping();
      });
    });
  }

  test('shared sessions keep no name and no limit', async () => {
    const client = new pg.Client({ connectionString: bouncers.transaction.url });
    await client.connect();
    const text = `select current_setting('statement_timeout') as limit, (select count(*) from pg_prepared_statements)::int as names`;
    const { rows } = await client.query(text);
    await client.end();
    assert.deepEqual(rows, [{ limit: '0', names: 0 }]);
  });

  test('each mode is recognised, even under load', async () => {
    assert.equal(await detectPoolMode(server.url), 'none');
    const { transaction, session, statement } = bouncers;
    assert.equal(await detectPoolMode(session.url), 'session');
    assert.equal(await detectPoolMode(statement.url), 'statement');
    assert.equal(await detectPoolMode(transaction.url), 'transaction');
    const busy = new Database({ url: transaction.url, poolSize: 10, logger, poolMode: 'transaction' });
    let isDone = false;
    const work = async () => {
      while (!isDone) await busy.query('select 1');
    };
    const working = Promise.all(Array.from({ length: 10 }, work));
    for (let times = 0; times < 3; times += 1)
      assert.equal(await detectPoolMode(transaction.url), 'transaction');
    isDone = true;
    await working;
    await busy.close();
  });

  test('a PgBouncer that refuses a connection is an outage, although it reports a violation of the protocol', async (t) => {
    const bouncer = await PgBouncer.start({
      databaseUrl: server.url,
      mode: 'session',
      settings: { max_client_conn: 1 },
    });
    t.after(() => bouncer.remove());
    const [first, second] = [1, 2].map(
      () => new Database({ url: bouncer.url, poolSize: 1, logger, poolMode: 'session' }),
    );
    t.after(() => Promise.all([first?.close(), second?.close()]));
    await first?.query('select 1');
    const refused = await second?.query('select 1').catch((error: unknown) => error);
    assert.ok(refused instanceof Failure && isOutage(refused));
    assert.equal(codeOf(refused.cause), '08P01');
  });

  test('sessions that are assigned in turn are recognised as shared, however many there are', async (t) => {
    const bouncer = await PgBouncer.start({
      databaseUrl: server.url,
      mode: 'transaction',
      settings: { server_round_robin: 1 },
    });
    t.after(() => bouncer.remove());
    for (let sessions = 1; sessions <= 4; sessions += 1) {
      const many = new Database({ url: bouncer.url, poolSize: sessions, logger, poolMode: 'transaction' });
      await Promise.all(Array.from({ length: sessions }, () => many.query('select pg_sleep(0.02)')));
      assert.equal(await detectPoolMode(bouncer.url), 'transaction', `${sessions} sessions`);
      await many.close();
    }
  });

  test('addresses with which Till would not work are refused with what to set', async (t) => {
    const { transaction, session, statement } = bouncers;
    const inspect = async (url: string, directUrl?: string) =>
      (await inspectPooler(url, directUrl)).mistake ?? 'none';
    for (const url of [server.url, session.url]) {
      assert.equal(await inspect(url), 'none');
      assert.equal(await inspect(transaction.url, url), 'none');
      assert.equal(await inspect(url, server.url), 'none');
    }
    assert.match(await inspect(transaction.url), /^DATABASE_URL .*set DATABASE_DIRECT_URL to the address/);
    assert.match(await inspect(statement.url, server.url), /^DATABASE_URL .*pool_mode = statement/);
    for (const { url } of [transaction, statement])
      assert.match(await inspect(transaction.url, url), /^DATABASE_DIRECT_URL .*PostgreSQL itself/);
    const other = await createTestDatabase('empty');
    t.after(() => other.drop());
    assert.match(await inspect(transaction.url, other.url), /lead to different databases/);
  });

  test('the service and its commands use both addresses, and refuse a pooler that they would not work with', async (t) => {
    const { transaction } = bouncers;
    const shutdown = new Shutdown(logger);
    t.after(() => shutdown.run());
    const refused = loadConfig({ DATABASE_URL: transaction.url }, '/srv/till');
    const message = /^DATABASE_URL leads to a pooler .*set DATABASE_DIRECT_URL/;
    await assert.rejects(joinDatabase({ config: refused, logger, shutdown }), { message });
    await assert.rejects(migrateDatabase({ config: refused, logger, shutdown }), { message });
    const direct = new Set<string | undefined>();
    const { line, url: directUrl } = await lineToDatabase(server.url, {
      // The first message of a connection has its parameters.
      onSent: () => (chunk) => direct.add(/application_name\0([^\0]+)/.exec(chunk.toString('latin1'))?.[1]),
    });
    t.after(() => line.close());
    const environment = { DATABASE_URL: transaction.url, DATABASE_DIRECT_URL: directUrl };
    const start = { config: loadConfig(environment, '/srv/till'), logger, shutdown };
    await migrateDatabase(start);
    const { database, ownerLock } = await joinDatabase(start);
    assert.deepEqual([...direct].filter(Boolean).sort(), [
      'till migrate',
      'till owner lock',
      'till pooler check',
    ]);
    const [till] = await database.query<{ name: string }>(
      `select application_name as name from pg_stat_activity where pid = pg_backend_pid()`,
    );
    assert.equal(till?.name, 'till');
    assert.equal(await isGone(database, ownerLock.owner), false, 'the lock is seen through the pooler');
    const [names] = await database.query<{ count: number }>('select count(*) from pg_prepared_statements');
    assert.equal(names?.count, 0);
  });
});
