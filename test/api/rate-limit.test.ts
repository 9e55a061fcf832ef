import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { scopes } from '#core/model/api-key.ts';
import { systemClock } from '#core/platform/clock.ts';
import { MemoryCache } from '#core/platform/memory-cache.ts';
import { RedisCache } from '#core/platform/redis-cache.ts';
import { ApiGuard, ApiKeyRing } from '../../src/http/access/api-guard.ts';
import { RateLimiter } from '../../src/http/access/rate-limiter.ts';
import { testKey } from '../support/client.ts';
import { startFrame } from '../support/frame.ts';
import { captureLog } from '../support/log-capture.ts';
import { readProblem } from '../support/problem.ts';
import { skipWithoutRedis, startOwnRedis } from '../support/redis-server.ts';

const routes = async (app: FastifyInstance) => {
  app.get('/api/v1/things', async () => ({}));
};
/**
 * Till gives Redis less time, and counts alone after it. Here every count must reach Redis, however busy the machine
 * is.
 */
const commandTimeoutMs = 60_000;
/** A clock that stands still, so that no window ends in the middle of a test. */
const clock = { now: () => new Date(1_800_000_000_000) };

test('429: an API key above its rate is told when to retry; health, metrics and docs are never limited', async (t) => {
  const { call, url } = await startFrame(t, routes, { guard: memoryGuard(3) });
  for (let i = 0; i < 3; i += 1) assert.equal((await call('/api/v1/things')).status, 200);
  const refused = await call('/api/v1/things');
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d?$/);
  await readProblem(refused, 429, 'rate_limited');
  for (const path of ['/health', '/health/live', '/metrics', '/api/docs', '/api/docs/openapi.json']) {
    const response = await fetch(`${url}${path}`);
    assert.equal(response.status, 200, path);
    await response.bytes();
  }
});

test('429: wrong API keys are limited per address, and a right one still passes', async (t) => {
  const { call, url } = await startFrame(t, routes, { guard: memoryGuard(0) });
  assert.equal((await call('/api/v1/things')).status, 200);
  const attempt = (key: string) => fetch(`${url}/api/v1/things`, { headers: { 'x-api-key': key } });
  for (let i = 0; i < 60; i += 1) assert.equal((await attempt(`guess-${i}`)).status, 401);
  const refused = await attempt('guess');
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d?$/);
  await readProblem(refused, 429, 'rate_limited');
  assert.equal((await call('/api/v1/things')).status, 200);
});

test('a right API key is never refused for wrong ones from its address, even if the process has not seen it', async (t) => {
  const guard = storedKeysGuard();
  const { url } = await startFrame(t, routes, { guard });
  const attempt = async (key: string) =>
    (await fetch(`${url}/api/v1/things`, { headers: { 'x-api-key': key } })).status;
  for (let i = 0; i < 60; i += 1) assert.equal(await attempt(`guess-${i}`), 401);
  assert.equal(await attempt('guess'), 429);
  for (const key of ['stored', testKey, 'other']) assert.equal(await attempt(key), 200, key);
  assert.equal(await attempt('guess'), 429);
});

test('429: processes that share Redis count the wrong API keys of an address together', {
  skip: skipWithoutRedis(),
}, async (t) => {
  const redis = await startOwnRedis();
  assert.ok(redis);
  t.after(() => redis.stop());
  const urls = await Promise.all(
    [1, 2].map(async () => {
      const { logger } = captureLog();
      const shared = new RedisCache({ url: redis.url, logger, commandTimeoutMs });
      await shared.connect();
      t.after(() => shared.close());
      const limiter = new RateLimiter({ shared, fallback: new MemoryCache(clock), clock, logger });
      const guard = storedKeysGuard(limiter);
      return (await startFrame(t, routes, { guard })).url;
    }),
  );
  const attempt = async (url: string, key: string) =>
    (await fetch(`${url}/api/v1/things`, { headers: { 'x-api-key': key } })).status;
  for (let i = 0; i < 60; i += 1) assert.equal(await attempt(urls[i % 2] ?? '', `guess-${i}`), 401);
  for (const url of urls) assert.equal(await attempt(url, 'guess'), 429);
});

test('addresses that a proxy reports count only if the proxy is trusted', async (t) => {
  const trusted = await startFrame(t, routes, { guard: memoryGuard(0), trustProxy: ['127.0.0.1'] });
  const untrusted = await startFrame(t, routes, { guard: memoryGuard(0) });
  const attempts = async (url: string) => {
    const statuses: number[] = [];
    for (let i = 0; i < 61; i += 1) {
      const response = await fetch(`${url}/api/v1/things`, {
        headers: { 'x-forwarded-for': `192.0.2.${i}` },
      });
      statuses.push(response.status);
    }
    return statuses.at(-1);
  };
  assert.equal(await attempts(trusted.url), 401, 'each client has its own count');
  assert.equal(await attempts(untrusted.url), 429, 'a header that anyone can write changes nothing');
});

test('two processes share their limit in Redis, and go on alone without it', {
  skip: skipWithoutRedis(),
}, async (t) => {
  const redis = await startOwnRedis();
  assert.ok(redis);
  t.after(() => redis.stop());
  const frames = await Promise.all(
    [1, 2].map(async () => {
      const { logger, lines } = captureLog();
      const shared = new RedisCache({ url: redis.url, logger, commandTimeoutMs });
      await shared.connect();
      t.after(() => shared.close());
      const limiter = new RateLimiter({ shared, fallback: new MemoryCache(clock), clock, logger });
      const keys = new ApiKeyRing([{ name: 'tests', application: 'tests', key: testKey }]);
      const guard = new ApiGuard({ keys, limiter, requestsPerMinute: 10 });
      return { ...(await startFrame(t, routes, { guard })), lines };
    }),
  );
  const passed = async () => {
    const responses = await Promise.all(
      frames.flatMap(({ call }) => Array.from({ length: 15 }, () => call('/api/v1/things'))),
    );
    return responses.filter((response) => response.status === 200).length;
  };
  assert.equal(await passed(), 10);
  await redis.stop();
  assert.equal(await passed(), 20, 'ten for each on its own, and no request fails');
  for (const { lines } of frames) {
    assert.equal(
      lines.filter((line) => line.msg === 'shared rate limits unavailable; counting per process').length,
      1,
    );
  }
});

/** Accepts the API key of the tests at once, and `stored` and `other` after a lookup. */
function storedKeysGuard(limiter = memoryLimiter()): ApiGuard {
  const storedKeys = {
    find: async (key: string) => {
      const owner = { id: null, name: key, application: key, person: null };
      const caller = { ...owner, scopes, expiresAt: null, isValid: () => true };
      return key === 'stored' || key === 'other' ? caller : undefined;
    },
  };
  const keys = new ApiKeyRing([{ name: 'tests', application: 'tests', key: testKey }]);
  return new ApiGuard({ keys, storedKeys, limiter, requestsPerMinute: 0 });
}

function memoryGuard(requestsPerMinute: number): ApiGuard {
  return new ApiGuard({
    keys: new ApiKeyRing([{ name: 'tests', application: 'tests', key: testKey }]),
    limiter: memoryLimiter(),
    requestsPerMinute,
  });
}

function memoryLimiter(): RateLimiter {
  const { logger } = captureLog();
  const shared = new MemoryCache(systemClock);
  return new RateLimiter({ shared, fallback: shared, clock, logger });
}
