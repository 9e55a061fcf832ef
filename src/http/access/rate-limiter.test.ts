import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import type { Cache } from '#core/platform/cache.ts';
import { createLogger } from '#core/platform/logger.ts';
import { MemoryCache } from '#core/platform/memory-cache.ts';
import { RateLimiter } from './rate-limiter.ts';

/** A shared cache that the test can break. */
class BreakableCache implements Cache {
  readonly kind = 'redis';
  readonly #inner: MemoryCache;
  broken = false;
  commands = 0;

  constructor(inner: MemoryCache) {
    this.#inner = inner;
  }

  async increment(key: string, by: number, ttlMs: number): Promise<number> {
    this.commands += 1;
    if (this.broken) throw new Error('the cache is gone');
    return this.#inner.increment(key, by, ttlMs);
  }

  async ping(): Promise<void> {}
  async close(): Promise<void> {}
}

function setUp() {
  const time = { ms: 1_000_000_000_000 - (1_000_000_000_000 % 60_000) };
  const clock = { now: () => new Date(time.ms) };
  const lines: string[] = [];
  const logger = createLogger(
    'info',
    new Writable({
      write(chunk, _encoding, done) {
        lines.push(JSON.parse(String(chunk)).msg);
        done();
      },
    }),
  );
  const shared = new BreakableCache(new MemoryCache(clock));
  const limiter = new RateLimiter({ shared, fallback: new MemoryCache(clock), clock, logger });
  const take = async (count: number, limit: number) => {
    const decisions = await Promise.all(Array.from({ length: count }, () => limiter.take('key', limit)));
    return decisions.filter((decision) => decision.allowed).length;
  };
  return { time, lines, shared, limiter, take };
}

test('exactly the limit passes, whether requests arrive at once or one by one', async () => {
  const atOnce = setUp();
  assert.equal(await atOnce.take(25, 10), 10);
  assert.equal(atOnce.shared.commands, 1, 'requests of one turn share a command');
  const oneByOne = setUp();
  let passed = 0;
  for (let i = 0; i < 25; i += 1) passed += await oneByOne.take(1, 10);
  assert.equal(passed, 10);
});

test('a refusal says when the window ends, and the next window starts at zero', async () => {
  const { time, limiter, take } = setUp();
  await take(1, 1);
  time.ms += 42_500;
  assert.deepEqual(await limiter.take('key', 1), { allowed: false, retryAfterSeconds: 18 });
  time.ms += 17_500;
  assert.equal((await limiter.take('key', 1)).allowed, true);
});

test('buckets are counted separately', async () => {
  const { limiter } = setUp();
  assert.equal((await limiter.take('a', 1)).allowed, true);
  assert.equal((await limiter.take('b', 1)).allowed, true);
  assert.equal((await limiter.take('a', 1)).allowed, false);
});

test('after the clock is set back, the shared cache is still used', async () => {
  const { time, shared, take } = setUp();
  time.ms += 3_600_000;
  shared.broken = true;
  await take(1, 2);
  shared.broken = false;
  time.ms -= 3_600_000;
  const { commands } = shared;
  await take(1, 2);
  assert.equal(shared.commands, commands + 1);
});

test('without the shared cache the limit holds per process; the log reports the outage once, and its end', async () => {
  const { time, lines, shared, take } = setUp();
  shared.broken = true;
  assert.equal(await take(3, 2), 2);
  assert.equal(await take(3, 2), 0);
  const commands = shared.commands;
  assert.equal(await take(3, 2), 0);
  assert.equal(shared.commands, commands, 'no request waits for a cache that is known to be down');
  time.ms += 1_001;
  assert.equal(await take(1, 2), 0);
  assert.deepEqual(lines, ['shared rate limits unavailable; counting per process']);

  shared.broken = false;
  time.ms += 1_001;
  assert.equal(await take(3, 2), 2);
  assert.deepEqual(lines, [
    'shared rate limits unavailable; counting per process',
    'shared rate limits restored',
  ]);
});
