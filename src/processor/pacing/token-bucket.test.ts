import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../../test/support/seeds.ts';
import { mostInASecond } from '../../../test/support/virtual-time.ts';
import { bucketSize, TokenBucket } from './token-bucket.ts';

test('a burst, what flows into the bucket within a second, and some reserve are together one limit', () => {
  const sizeOf = (limit: number) => {
    const { capacity, perSecond } = bucketSize(limit);
    return [capacity, Math.round(perSecond * 10) / 10];
  };
  assert.deepEqual(sizeOf(25), [2, 22.2]);
  assert.deepEqual(sizeOf(100), [8, 86.1]);
  assert.deepEqual(sizeOf(20), [2, 17.6]);
  assert.deepEqual(sizeOf(1), [1, 0.9]);
  assert.deepEqual(sizeOf(0.5), [1, 0.5]);
});

test('calls that take up to 80 ms longer than others to arrive stay within the limit too', async () => {
  const delays = fc.array(fc.nat({ max: 79 }), { minLength: 100, maxLength: 100 });
  await assertProperty(
    fc.property(fc.integer({ min: 1, max: 100 }), delays, (limit, delaysMs) => {
      const bucket = new TokenBucket(bucketSize(limit), 0);
      let nowMs = 0;
      const arrivals = delaysMs.map((delayMs) => {
        nowMs += bucket.waitMs(nowMs);
        bucket.take();
        return nowMs + delayMs;
      });
      assert.ok(mostInASecond(arrivals) <= Math.ceil(limit), `${mostInASecond(arrivals)} of ${limit}`);
    }),
  );
});

test('no second has more tokens than the limit, whenever they are asked for', async () => {
  const gaps = fc.array(fc.nat({ max: 300 }), { minLength: 1, maxLength: 300 });
  await assertProperty(
    fc.property(fc.integer({ min: 1, max: 200 }), gaps, (limit, gapsMs) => {
      const bucket = new TokenBucket(bucketSize(limit), 0);
      const taken: number[] = [];
      let nowMs = 0;
      for (const gapMs of gapsMs) {
        nowMs += gapMs;
        while (bucket.waitMs(nowMs) === 0) {
          bucket.take();
          taken.push(nowMs);
        }
      }
      assert.ok(mostInASecond(taken) <= limit, `${mostInASecond(taken)} of ${limit}`);
    }),
  );
});

test('a token is there exactly when the bucket says so', async () => {
  await assertProperty(
    fc.property(fc.integer({ min: 1, max: 200 }), (limit) => {
      const bucket = new TokenBucket(bucketSize(limit), 0);
      let nowMs = 0;
      for (let count = 0; count < 3 * limit; count += 1) {
        nowMs += bucket.waitMs(nowMs);
        assert.equal(bucket.waitMs(nowMs), 0);
        bucket.take();
      }
      const { capacity, perSecond } = bucketSize(limit);
      assert.ok(Math.abs(nowMs - ((3 * limit - capacity) / perSecond) * 1_000) < 1, `${nowMs} ms`);
    }),
  );
});

test('a clock that is set back adds no token', () => {
  const bucket = new TokenBucket({ capacity: 1, perSecond: 1 }, 10_000);
  bucket.take();
  assert.equal(bucket.waitMs(5_000), 1_000);
  assert.equal(bucket.waitMs(6_000), 0);
});
