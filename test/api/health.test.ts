import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#core/platform/clock.ts';
import { MemoryCache } from '#core/platform/memory-cache.ts';
import { Database } from '#core/platform/postgres.ts';
import { RedisCache } from '#core/platform/redis-cache.ts';
import { version } from '#core/platform/version.ts';
import { startFrame } from '../support/frame.ts';
import { freePort } from '../support/free-port.ts';
import { captureLog } from '../support/log-capture.ts';
import { skipWithoutRedis, startOwnRedis } from '../support/redis-server.ts';
import { createTestDatabase } from '../support/test-database.ts';

const { logger } = captureLog();
const up = { status: 'up' };
const down = { status: 'down', message: 'not reachable or not writable' };

test('200: every dependency is up', async (t) => {
  const server = await createTestDatabase();
  const database = new Database({ url: server.url, poolSize: 1, logger });
  t.after(async () => {
    await database.close();
    await server.drop();
  });
  const cache = new MemoryCache(systemClock);
  const { url } = await startFrame(t, undefined, {
    dependencies: [
      { name: 'database', check: () => database.ping() },
      { name: 'cache', check: () => cache.ping() },
    ],
  });
  const response = await fetch(`${url}/health`);
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), {
    status: 'ok',
    info: { database: up, cache: up },
    error: {},
    details: { database: up, cache: up },
    version,
  });
});

test('503: a stopping service says so, with its dependencies up', async (t) => {
  const { url } = await startFrame(t, undefined, {
    dependencies: [{ name: 'database', check: async () => {} }],
    isStopping: () => true,
  });
  const response = await fetch(`${url}/health`);
  assert.equal(response.status, 503);
  const service = { status: 'down', message: 'stopping' };
  assert.deepEqual(await response.json(), {
    status: 'error',
    info: { database: up },
    error: { service },
    details: { database: up, service },
    version,
  });
});

test('503: a database that cannot be reached stands under error, without saying where it is', async (t) => {
  const database = new Database({
    url: `postgres://x:y@127.0.0.1:${await freePort()}/x`,
    poolSize: 1,
    logger,
  });
  t.after(() => database.close());
  const { url } = await startFrame(t, undefined, {
    dependencies: [
      { name: 'database', check: () => database.ping() },
      { name: 'cache', check: async () => {} },
    ],
  });
  const response = await fetch(`${url}/health`);
  assert.equal(response.status, 503);
  assert.deepEqual(await response.json(), {
    status: 'error',
    info: { cache: up },
    error: { database: down },
    details: { database: down, cache: up },
    version,
  });
  assert.equal((await fetch(`${url}/health/live`)).status, 200, 'the process itself lives');
});

test('503 and 200 again: Redis is killed, frozen and back', { skip: skipWithoutRedis() }, async (t) => {
  const first = await startOwnRedis();
  assert.ok(first);
  const cache = new RedisCache({ url: first.url, logger });
  await cache.connect();
  t.after(() => cache.close());
  const { url } = await startFrame(t, undefined, {
    dependencies: [{ name: 'cache', check: () => cache.ping() }],
  });
  assert.equal((await fetch(`${url}/health`)).status, 200);

  first.process?.kill('SIGSTOP');
  const frozen = await fetch(`${url}/health`);
  assert.equal(frozen.status, 503);
  assert.deepEqual(await frozen.json(), {
    status: 'error',
    info: {},
    error: { cache: down },
    details: { cache: down },
    version,
  });
  first.process?.kill('SIGCONT');
  await first.stop();
  assert.equal((await fetch(`${url}/health`)).status, 503);

  const second = await startOwnRedis(Number(new URL(first.url).port));
  assert.ok(second);
  t.after(() => second.stop());
  await cache.reconnected();
  assert.equal((await fetch(`${url}/health`)).status, 200);
});

test('ready: while the database can be reached and the process is not stopping, whatever the cache does', async (t) => {
  const server = await createTestDatabase();
  const database = new Database({ url: server.url, poolSize: 1, logger });
  const absent = new Database({ url: `postgres://x:y@127.0.0.1:${await freePort()}/x`, poolSize: 1, logger });
  t.after(async () => {
    await Promise.all([database.close(), absent.close()]);
    await server.drop();
  });
  const cache = {
    name: 'cache',
    check: async () => {
      throw new Error('down');
    },
  };
  const readinessOf = async (used: Database, isStopping = false) => {
    const { url, call } = await startFrame(t, undefined, {
      dependencies: [{ name: 'database', check: () => used.ping(), reach: () => used.reach() }, cache],
      isStopping: () => isStopping,
      servesApi: false,
      requestsPerMinute: 1,
    });
    assert.equal((await call('/health')).status, 503);
    const responses = await Promise.all(Array.from({ length: 100 }, () => fetch(`${url}/health/ready`)));
    const texts = await Promise.all(
      responses.map(async (response) => `${response.status} ${await response.text()}`),
    );
    return [...new Set(texts)];
  };
  assert.deepEqual(await readinessOf(database), ['200 {"status":"ok"}']);
  assert.deepEqual(await readinessOf(database, true), ['503 {"status":"error"}']);
  assert.deepEqual(await readinessOf(absent), ['503 {"status":"error"}']);
});

test('ready: a database that can only be read is reachable, and /health says that it is not well', async (t) => {
  const server = await createTestDatabase();
  const readOnly = `${server.url}&options=${encodeURIComponent('-c default_transaction_read_only=on')}`;
  const database = new Database({ url: readOnly, poolSize: 1, logger });
  t.after(async () => {
    await database.close();
    await server.drop();
  });
  const { url } = await startFrame(t, undefined, {
    dependencies: [{ name: 'database', check: () => database.ping(), reach: () => database.reach() }],
  });
  const [health, ready] = await Promise.all([fetch(`${url}/health`), fetch(`${url}/health/ready`)]);
  assert.deepEqual([health.status, ready.status], [503, 200]);
});

test('health checks at the same time share one probe', async (t) => {
  const gate = Promise.withResolvers<void>();
  let looks = 0;
  const check = () => {
    looks += 1;
    return gate.promise;
  };
  const { url, app } = await startFrame(t, undefined, {
    dependencies: [{ name: 'database', check, reach: check }],
  });
  const arrived = Promise.withResolvers<void>();
  let requests = 0;
  app.server.on('request', () => {
    requests += 1;
    if (requests === 20) setImmediate(arrived.resolve);
  });
  const paths = ['/health', '/health/ready'];
  const responses = Promise.all(Array.from({ length: 20 }, (_, index) => fetch(`${url}${paths[index % 2]}`)));
  await arrived.promise;
  gate.resolve();
  assert.ok((await responses).every((response) => response.status === 200));
  assert.equal(looks, 2, 'one for each path');
});
