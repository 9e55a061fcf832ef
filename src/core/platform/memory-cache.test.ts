import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryCache } from './memory-cache.ts';

test('a counter adds up until it expires, then starts again', async () => {
  let nowMs = 0;
  const cache = new MemoryCache({ now: () => new Date(nowMs) });
  assert.equal(await cache.increment('a', 2, 1_000), 2);
  nowMs = 999;
  assert.equal(await cache.increment('a', 3, 1_000), 5);
  nowMs = 1_000;
  assert.equal(await cache.increment('a', 1, 1_000), 1);
});

test('callers who invent cache keys cannot fill the memory', async () => {
  const cache = new MemoryCache({ now: () => new Date(0) });
  await cache.increment('first', 1, 1_000);
  for (let i = 0; i < 100_000; i += 1) await cache.increment(`key-${i}`, 1, 1_000);
  assert.equal(await cache.increment('key-99999', 1, 1_000), 2, 'the newest are kept');
  assert.equal(await cache.increment('first', 1, 1_000), 1, 'the oldest made room');
});
