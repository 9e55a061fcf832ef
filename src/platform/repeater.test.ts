import assert from 'node:assert/strict';
import { test } from 'node:test';
import { delayAfter } from './repeater.ts';

test('work that failed or did not finish is retried with backoff, and never later than its usual delay', () => {
  const hour = 3_600_000;
  const delays = Array.from({ length: 13 }, (_, unfinishedRuns) => delayAfter(unfinishedRuns, hour));
  assert.deepEqual(delays.slice(0, 4), [hour, 5_000, 10_000, 20_000]);
  assert.deepEqual(
    delays.slice(1),
    delays.slice(1).toSorted((a, b) => a - b),
  );
  assert.equal(delays.at(-1), hour);
  assert.equal(delayAfter(1_000_000, hour), hour);
  assert.equal(delayAfter(1, 1_000), 1_000, 'never later than usual');
});
