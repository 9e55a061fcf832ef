import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { inLanes } from './lanes.ts';

test('all items are worked on, in their order, and only as many at a time as there are lanes', async () => {
  const begun: number[] = [];
  let [running, runningMax] = [0, 0];
  await inLanes([1, 2, 3, 4, 5], 2, async (item) => {
    begun.push(item);
    running += 1;
    runningMax = Math.max(runningMax, running);
    await setImmediate();
    running -= 1;
  });
  assert.deepEqual([begun, runningMax], [[1, 2, 3, 4, 5], 2]);
});

test('after a failure no further item begins, and the failure is thrown once the others have ended', async () => {
  const begun: number[] = [];
  const ended: number[] = [];
  const work = async (item: number) => {
    begun.push(item);
    if (item === 1) throw new Error('failed');
    await setImmediate();
    ended.push(item);
  };
  await assert.rejects(inLanes([1, 2, 3, 4], 2, work), /failed/);
  assert.deepEqual([begun, ended], [[1, 2], [2]]);
});
