import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takeTurns } from './rounds.ts';

/** Two contestants that do the same work. Their cores take these times for it, round by round. */
function race(ours: readonly number[], theirs: readonly number[]) {
  const times = ours.flatMap((workMs, round) => [workMs, theirs[round] ?? Number.NaN]);
  let turns = 0;
  const contestant = async () => {
    const workMs = times[turns] ?? Number.NaN;
    turns += 1;
    return { ratePerSecond: 1_000 / workMs, serviceCpuMs: workMs, databaseCpuMs: 0 };
  };
  const cores = { workMsSince: () => times[turns - 1] ?? Number.NaN };
  const medians = takeTurns({ scale: { rounds: 3 }, cores }, { ours: contestant, theirs: contestant });
  return medians.then((runs) => ({ ...runs, rounds: turns / 2 }));
}

test('rounds on cores of one speed count as they are', async () => {
  const { ours, rounds } = await race([1, 3, 2], [1, 3, 2]);
  assert.equal(rounds, 3);
  assert.equal(ours.serviceCpuMs, 2);
});

test('rounds in which the speed of the cores changed are repeated and do not count', async () => {
  const { ours, theirs, rounds } = await race([1, 2, 1, 1, 2, 1], [2, 1, 2, 1, 2, 1]);
  assert.equal(rounds, 6);
  assert.equal(ours.serviceCpuMs, theirs.serviceCpuMs);
});

test('the most even rounds count if none is even, and there are at most twice as many', async () => {
  const { ours, theirs, rounds } = await race([1, 1, 1, 1, 1, 1], [9, 2, 9, 2, 9, 2]);
  assert.equal(rounds, 6);
  assert.deepEqual([ours.serviceCpuMs, theirs.serviceCpuMs], [1, 2]);
});
