import assert from 'node:assert/strict';
import { test } from 'node:test';
import { restartDelayMs } from './process-group.ts';

test('the delay doubles with each end in a row, up to half a minute', () => {
  assert.deepEqual(
    [1, 2, 3, 6, 7, 8, 2_000].map(restartDelayMs),
    [500, 1_000, 2_000, 16_000, 30_000, 30_000, 30_000],
  );
});
