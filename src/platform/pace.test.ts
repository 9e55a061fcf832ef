import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from './pace.ts';

test('calls are spaced evenly, also those that come together, and time without calls is not saved up', () => {
  let nowMs = 0;
  const pace = new Pace(20, () => nowMs);
  assert.deepEqual([pace.delayMs(), pace.delayMs(), pace.delayMs()], [0, 50, 100]);
  nowMs = 10_000;
  assert.deepEqual([pace.delayMs(), pace.delayMs()], [0, 50]);
  nowMs = 10_030;
  assert.equal(pace.delayMs(), 70);
});
