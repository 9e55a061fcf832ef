import assert from 'node:assert/strict';
import { test } from 'node:test';
import { restartDelayMs } from './supervisor.ts';

test('the restart delay starts short, doubles with each crash in a row, and never exceeds ten seconds', () => {
  assert.deepEqual(
    [1, 2, 3, 7, 8, 1_000, 5_000].map(restartDelayMs),
    [100, 200, 400, 6_400, 10_000, 10_000, 10_000],
  );
});
