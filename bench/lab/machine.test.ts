import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuMsOfTree } from './cpu.ts';
import { describeDisturbance, othersShare, othersShareMax, parseStat, readMachine } from './machine.ts';

const start = { atMs: 0, busyMs: 0, stolenMs: 0, ownMs: 0 };

test('the CPU time of others is what all processes used without the own ones, and what the host took', () => {
  const end = { atMs: 1_000, busyMs: 1_500, stolenMs: 100, ownMs: 1_300 };
  assert.equal(othersShare(start, end, 2), 0.15);
  assert.equal(othersShare(start, { ...end, ownMs: 1_600 }, 2), 0);
});

test('the first line of /proc/stat has the times of all cores', () => {
  const stat = 'cpu  100 1 20 900 50 7 8 30 0 0\ncpu0 50 1 10 450 25 3 4 15 0 0\n';
  assert.deepEqual(parseStat(stat), { busyMs: 1_210, stolenMs: 300 });
});

test('a scenario that something else disturbed is named', () => {
  const quiet = { names: ['quiet'], seconds: 1, othersShare: othersShareMax, workMs: 1 };
  const disturbed = { names: ['disturbed'], seconds: 1, othersShare: 0.5, workMs: 1 };
  assert.equal(describeDisturbance([quiet]), undefined);
  assert.match(describeDisturbance([quiet, disturbed]) ?? '', /50 % .*: disturbed$/);
});

test('the work of this process is its own', () => {
  // Kernel threads end, and take their time with them, so the sum with theirs may also shrink.
  const fromMs = cpuMsOfTree(process.pid);
  const { user } = process.cpuUsage();
  while (process.cpuUsage().user < user + 200_000);
  const usedMs = cpuMsOfTree(process.pid) - fromMs;
  assert.ok(usedMs >= 180, `${usedMs} ms`);
  assert.ok(readMachine().ownMs >= fromMs + usedMs);
});
