/** Several hosts in an address, of which one is the primary, and a server that stops taking writes. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { inspectDatabase } from '#core/platform/inspect-database.ts';
import { createLogger } from '#core/platform/logger.ts';
import { migrate } from '#core/platform/migrate.ts';
import { isGone, OwnerLock } from '#core/platform/owner-lock.ts';
import { inspectPooler } from '#core/platform/pool-mode.ts';
import { Database, isOutage } from '#core/platform/postgres.ts';
import { connectToPrimary } from '#core/platform/primary-connection.ts';
import { migrationsFolder } from '#runtime/composition/compose-database.ts';
import { copyFiles, promote, replicaSettings, startOnCopy } from '../faults/rig/postgres-copy.ts';
import { PostgresServer } from '../faults/rig/postgres-server.ts';
import { freePort } from '../support/free-port.ts';
import { silentLogger as logger } from '../support/log-capture.ts';
import { TcpLine } from '../support/tcp-line.ts';

/** A primary and a standby with the same data, each behind a port. */
async function startPair(t: TestContext) {
  const primary = await PostgresServer.start(replicaSettings);
  t.after(() => primary.remove());
  await migrate({ url: primary.url, folder: migrationsFolder, logger });
  await primary.stop('fast');
  const standby = await startOnCopy(await copyFiles(primary), 'standby');
  t.after(() => standby.remove());
  await primary.start();
  const lines = [await TcpLine.open(standby.socketPath), await TcpLine.open(primary.socketPath)];
  for (const line of lines) t.after(() => line.close());
  const hosts = lines.map(({ port }) => `127.0.0.1:${port}`);
  // The standby comes first, after a host that refuses connections.
  hosts.unshift(`127.0.0.1:${await freePort()}`);
  return { primary, standby, url: primary.urlBy(0).replace('127.0.0.1:0', hosts.join()) };
}

const write = 'update till.api_keys set name = name';

test('everything finds the primary among several hosts, and finds it again after a failover', async (t) => {
  const { primary, standby, url } = await startPair(t);
  await migrate({ url, folder: migrationsFolder, logger });
  assert.equal((await inspectDatabase(url, migrationsFolder)).isStandby, false);
  assert.deepEqual(await inspectPooler(url, url), { mode: 'none' });
  const reacquired = Promise.withResolvers<void>();
  const lockLogger = createLogger('info', {
    write: (line) => (line.includes('owner lock reacquired') ? reacquired.resolve() : undefined),
  });
  const database = new Database({ url, poolSize: 3, logger });
  t.after(() => database.close());
  const ownerLock = new OwnerLock({ url, logger: lockLogger });
  t.after(() => ownerLock.close());
  await ownerLock.acquire();
  await database.ping();
  await database.query(write);
  assert.equal(await isGone(database, ownerLock.owner), false);

  await primary.stop('kill -9');
  const failure = await database.query(write).catch((error: unknown) => error);
  assert.ok(isOutage(failure), String(failure));
  await assert.rejects(database.ping());
  await assert.rejects(database.reach(), 'a standby is not used for reads');
  await assert.rejects(connectToPrimary(url, {}), (error: Error) => {
    assert.match(error.message, /^no server accepts writes: .*ECONNREFUSED.*; 127\.0\.0\.1:\d+ is a standby/);
    assert.doesNotMatch(error.message, new RegExp(/:([^:@]+)@/.exec(url)?.[1] ?? '^'));
    return true;
  });

  await promote(standby);
  await database.query(write);
  await database.ping();
  await reacquired.promise;
  assert.equal(await isGone(database, ownerLock.owner), false);
});

test('a host that accepts connections and never responds delays a connection by a bounded time', async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.remove());
  const line = await TcpLine.open(server.socketPath);
  t.after(() => line.close());
  const silent = await TcpLine.open(server.socketPath, { beforeResponse: () => new Promise(() => {}) });
  t.after(() => silent.close());
  const hosts = `127.0.0.1:${silent.port},127.0.0.1:${line.port}`;
  const database = new Database({ url: server.urlBy(0).replace('127.0.0.1:0', hosts), poolSize: 2, logger });
  t.after(() => database.close());
  assert.deepEqual(await database.query('select 1 as n'), [{ n: 1 }]);
});

test('once a server takes no more writes, none of its connections is used again, and the database is not ready', async (t) => {
  const server = await PostgresServer.start();
  t.after(() => server.remove());
  const database = new Database({ url: server.url, poolSize: 3, logger });
  t.after(() => database.close());
  const pids = async () => {
    const sleep = 'select pg_backend_pid() as pid, pg_sleep(0.05)';
    const rows = await Promise.all([1, 2, 3].map(() => database.query<{ pid: number }>(sleep)));
    return rows.flat().map(({ pid }) => pid);
  };
  const before = await pids();
  assert.equal(new Set(before).size, 3);
  const setReadOnly = async (value: 'on' | 'off') => {
    const client = await connectToPrimary(server.url, {});
    await client.query(`alter system set default_transaction_read_only = ${value}`);
    await client.query('select pg_reload_conf()');
    await client.end();
  };
  await setReadOnly('on');
  const create = () =>
    database.query('create table numbers (n int)').then(
      () => undefined,
      (error: unknown) => error,
    );
  // The sessions read the new setting a moment later.
  let failure: unknown;
  while (failure === undefined) {
    failure = await create();
    if (failure === undefined) await database.query('drop table numbers').catch((error: unknown) => error);
  }
  assert.ok(isOutage(failure), String(failure));
  await assert.rejects(database.ping(), /can only be read/);
  await setReadOnly('off');
  const after = await pids();
  assert.deepEqual(
    after.filter((pid) => before.includes(pid)),
    [],
  );
});
