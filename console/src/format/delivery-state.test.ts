import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deliveryState } from './delivery-state.ts';

test('a delivery whose attempts failed says so, and when the next one is', () => {
  const at = (ms: number) => new Date(ms).toISOString();
  const textOf = (status: 'pending' | 'succeeded' | 'failed', attempt: number, nextMs: number | null) =>
    deliveryState({ status, attempt, nextAttemptAt: nextMs === null ? null : at(nextMs) }, 0).text;
  assert.equal(textOf('pending', 0, 0), 'Pending');
  assert.equal(textOf('pending', 1, 4_200), 'Failing: 1 attempt, next in 5 s');
  assert.equal(textOf('pending', 5, 150_000), 'Failing: 5 attempts, next in 3 min');
  assert.equal(textOf('pending', 9, 7_200_000), 'Failing: 9 attempts, next in 2 h');
  assert.equal(textOf('pending', 2, -1), 'Failing: 2 attempts, next now');
  assert.equal(textOf('failed', 12, null), 'Failed: 12 attempts');
  assert.equal(textOf('succeeded', 2, null), 'Succeeded');
});
