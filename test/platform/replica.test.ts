/** Which server serves a read, and what happens to reads that a replica breaks off. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { Failure } from '#core/errors.ts';
import { inspectReplica } from '#core/platform/inspect-replica.ts';
import { createMetrics } from '#core/platform/metrics.ts';
import { migrate } from '#core/platform/migrate.ts';
import { newReading, type Position, runReading } from '#core/platform/position.ts';
import { Database, type Queryable } from '#core/platform/postgres.ts';
import { Replica } from '#core/platform/replica.ts';
import { migrationsFolder } from '#runtime/composition/compose-database.ts';
import {
  copyFiles,
  promote,
  startOnCopy,
  startStreamingPair,
  streamedSettings,
} from '../faults/rig/postgres-copy.ts';
import type { PostgresServer } from '../faults/rig/postgres-server.ts';
import { freePort } from '../support/free-port.ts';
import { silentLogger as logger } from '../support/log-capture.ts';
import { PgBouncer, skipWithoutPgBouncer } from '../support/pgbouncer.ts';
import { TcpLine } from '../support/tcp-line.ts';
import { until } from '../support/until.ts';

/** So long that a busy machine does not decide a test. */
const lagSecondsMax = 600;
/** More than may wait for the replica. */
const manyReads = 600;
/** Begins the history of a server, as its first event does. */
const appendNothing = `select till.append_events('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')`;

let primary: PostgresServer;
let standby: PostgresServer;
let database: Database;

before(async () => {
  ({ primary, standby } = await startStreamingPair());
  await migrate({ url: primary.url, folder: migrationsFolder, logger });
  database = new Database({ url: primary.url, poolSize: 5, logger });
  await database.query(appendNothing);
});

after(async () => {
  await database.close();
  await primary.remove();
  await standby.remove();
});

/** A router to the standby, which is known to be usable. */
async function openReplica(url = standby.url, primary = database) {
  const metrics = createMetrics({ eventTypes: [], mirrors: [] });
  const replica = new Database({ url, poolSize: 5, logger, poolMode: 'transaction', kind: 'replica' });
  const router = new Replica({ primary, replica, lagSecondsMax, metrics, logger });
  const valuesOf = async (metric: 'databaseReads' | 'replicaFallbacks') => {
    const { values } = await metrics[metric].get();
    return Object.fromEntries(
      values.filter(({ value }) => value > 0).map(({ labels, value }) => [Object.values(labels)[0], value]),
    );
  };
  return {
    router,
    valuesOf,
    close: () => replica.close(),
    read: <T>(position: Position | undefined, work: (db: Queryable) => Promise<T>) =>
      runReading(newReading(position), () => router.read(work, () => work(primary), {})),
  };
}

/** Watches until the standby has caught up with a sample of the primary. */
async function openUsable(url?: string, primary?: Database) {
  const opened = await openReplica(url, primary);
  const position = await opened.router.position();
  await until(async () => {
    await opened.router.watch();
    return opened.read(position, isOnStandby);
  });
  return { ...opened, position };
}

async function isOnStandby(db: Queryable): Promise<boolean> {
  const [row] = await db.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
  return row?.standby === true;
}

async function onStandby<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: standby.url });
  await client.connect();
  return work(client).finally(() => client.end());
}

test('a read that conflicts with the replay is repeated on the primary', async (t) => {
  const { read, position, valuesOf, close } = await openUsable();
  t.after(close);
  await onStandby(async (client) => {
    await client.query(`alter system set max_standby_streaming_delay = 0`);
    await client.query('select pg_reload_conf()');
  });
  await database.query('create table conflicting as select n from generate_series(1, 1000) n');
  const created = await database.query<{ lsn: string }>('select pg_current_wal_flush_lsn() as lsn');
  await onStandby(async (client) => {
    for (let isThere = false; !isThere; ) {
      const { rows } = await client.query(`select pg_last_wal_replay_lsn() >= $1 as there`, [
        created[0]?.lsn,
      ]);
      isThere = rows[0]?.there;
    }
  });
  const servers: boolean[] = [];
  const slow = read(position, async (db) => {
    const standby = await isOnStandby(db);
    servers.push(standby);
    // It has a snapshot while it sleeps, and the replay removes rows that the snapshot still shows.
    const seconds = standby ? 60 : 0;
    return db.query(`select count(*), pg_sleep(${seconds}) from conflicting`);
  });
  await onStandby(async (client) => {
    const running = `select from pg_stat_activity where query like 'select count(*), pg_sleep(60)%' and state = 'active'`;
    await until(async () => (await client.query(running)).rowCount === 1);
  });
  await database.query('delete from conflicting');
  await database.query('vacuum conflicting');
  await slow;
  assert.deepEqual(servers, [true, false]);
  assert.deepEqual(await valuesOf('replicaFallbacks'), { failed: 1 });
  assert.equal(await read(position, isOnStandby), true, 'the replica is still used');
});

test('a position far ahead costs a bounded wait, and only so many requests wait', async (t) => {
  const { read, position, valuesOf, close } = await openUsable();
  t.after(close);
  const forged = { ...position, lsn: position.lsn + (1n << 40n) };
  const results = await Promise.all(Array.from({ length: manyReads }, () => read(forged, isOnStandby)));
  assert.ok(results.every((isStandby) => !isStandby));
  const { position: late = 0, unavailable = 0 } = await valuesOf('replicaFallbacks');
  assert.equal(late + unavailable, manyReads);
});

test('what the primary would refuse too is not repeated there', async (t) => {
  const { read, position, valuesOf, close } = await openUsable();
  t.after(close);
  const refused = new Failure('invalid_request', 'The cursor is invalid.');
  await assert.rejects(
    read(position, async () => {
      throw refused;
    }),
    refused,
  );
  assert.deepEqual(await valuesOf('replicaFallbacks'), {});
});

test('nothing is read from a replica without a position, outside of a request, or of another history', async (t) => {
  const { router, read, position, valuesOf, close } = await openUsable();
  t.after(close);
  assert.equal(await read(undefined, isOnStandby), false);
  assert.equal(await router.read(isOnStandby, () => isOnStandby(database), {}), false);
  assert.equal(await read({ ...position, history: position.history - 1 }, isOnStandby), false);
  assert.deepEqual(await valuesOf('replicaFallbacks'), { history: 1 });
});

test('a read that must see the commits of its request waits for them', async (t) => {
  const { router, position, close } = await openUsable();
  t.after(close);
  await database.query('create table if not exists own_commits as select 0 as n');
  await database.query('update own_commits set n = n + 1');
  const [row] = await database.query<{ n: number }>('select n from own_commits');
  const read = async (db: Queryable) => (await db.query<{ n: number }>('select n from own_commits'))[0]?.n;
  const seen = await runReading(newReading(position), () =>
    router.read(read, () => read(database), { seesOwnCommits: true }),
  );
  assert.equal(seen, row?.n);
});

test('a standby is found among several hosts, and an address of the primary alone is never read', async (t) => {
  const lines = [await TcpLine.open(primary.socketPath), await TcpLine.open(standby.socketPath)];
  for (const line of lines) t.after(() => line.close());
  const hosts = [await freePort(), ...lines.map(({ port }) => port)].map((port) => `127.0.0.1:${port}`);
  const found = await openUsable(primary.urlBy(0).replace('127.0.0.1:0', hosts.join()));
  t.after(found.close);
  assert.equal(await found.read(found.position, isOnStandby), true);
  const wrong = await openReplica(primary.url);
  t.after(wrong.close);
  await wrong.router.watch();
  assert.equal(await wrong.read(found.position, isOnStandby), false);
  assert.deepEqual(await wrong.valuesOf('replicaFallbacks'), { unavailable: 1 });
});

test('a replica can be behind a pooler in transaction mode', { skip: skipWithoutPgBouncer() }, async (t) => {
  const pooler = await PgBouncer.start({ databaseUrl: standby.url, mode: 'transaction' });
  t.after(() => pooler.remove());
  const { read, position, close } = await openUsable(pooler.url);
  t.after(close);
  const served = await Promise.all(Array.from({ length: 20 }, () => read(position, isOnStandby)));
  assert.ok(served.every(Boolean));
});

test('doctor tells a replica that follows from any other server', async () => {
  const { close } = await openUsable();
  await close();
  const { missingBytes, ...facts } = await inspectReplica(standby.url, primary.url);
  assert.deepEqual(facts, { isStandby: true, isOfPrimary: true });
  assert.ok(missingBytes >= 0);
  assert.equal((await inspectReplica(primary.url, primary.url)).isStandby, false);
});

test('after a restart of the primary, the replica is read again once it has an event of the new history', async (t) => {
  const { router, read, position, valuesOf, close } = await openUsable();
  t.after(close);
  await primary.stop('kill -9');
  await primary.start();
  const [row] = await database.query<{ history: number }>('select till.history() as history').catch(() =>
    // The connections of the pool are broken, and it opens another one.
    database.query<{ history: number }>('select till.history() as history'),
  );
  assert.notEqual(row?.history, position.history);
  await router.watch();
  const current = await router.position();
  assert.equal(current.history, row?.history);
  assert.equal(await read(current, isOnStandby), false, 'it has no event of the new history');
  assert.equal(await read(position, isOnStandby), false);
  assert.deepEqual(await valuesOf('replicaFallbacks'), { history: 2 });
  await database.query(appendNothing);
  while (!(await read(await router.position(), isOnStandby))) await router.watch();
});

test('a replica that has more of a lost history than the new primary is not read', async (t) => {
  const { primary: former, standby: diverged } = await startStreamingPair();
  t.after(() => former.remove());
  t.after(() => diverged.remove());
  await migrate({ url: former.url, folder: migrationsFolder, logger });
  await former.stop('fast');
  const next = await startOnCopy(await copyFiles(former), 'standby', streamedSettings);
  t.after(() => next.remove());
  await former.start();
  const lines = [await TcpLine.open(former.socketPath), await TcpLine.open(next.socketPath)];
  for (const line of lines) t.after(() => line.close());
  const hosts = lines.map(({ port }) => `127.0.0.1:${port}`).join();
  const cluster = new Database({ url: former.urlBy(0).replace('127.0.0.1:0', hosts), poolSize: 2, logger });
  t.after(() => cluster.close());
  // The tail that the failover loses.
  await cluster.query(appendNothing);
  await cluster.query('create table lost as select n from generate_series(1, 100000) n');
  const opened = await openUsable(diverged.url, cluster);
  t.after(opened.close);

  await former.stop('kill -9');
  await promote(next);
  await cluster.query(appendNothing);
  await opened.router.watch();
  const current = await opened.router.position();
  assert.ok(current.lsn < opened.position.lsn, 'the replica is ahead of the new primary');
  const before = await opened.valuesOf('replicaFallbacks');
  assert.equal(await opened.read(current, isOnStandby), false);
  assert.equal(
    await opened.read(opened.position, isOnStandby),
    false,
    'nor with a position of the lost history',
  );
  const { history = 0 } = await opened.valuesOf('replicaFallbacks');
  assert.equal(history - (before['history'] ?? 0), 2);
});
