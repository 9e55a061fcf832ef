import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from './pace.ts';

test('calls are spaced evenly, even after a late one, and idle time is not saved up', async () => {
  let nowMs = 0;
  let lateMs = 0;
  const sleep = async (ms: number) => {
    nowMs += ms + lateMs;
  };
  const pace = new Pace(20, { nowMs: () => nowMs, sleep });
  const times: number[] = [];
  const take = (count: number) =>
    Promise.all(Array.from({ length: count }, () => pace.turn().then(() => times.push(nowMs))));
  await take(3);
  nowMs = 10_000;
  await take(2);
  lateMs = 30;
  await take(2);
  assert.deepEqual(times, [0, 50, 100, 10_000, 10_050, 10_130, 10_210]);
});
