import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReplicaLag } from './replica-lag.ts';

const at = (lsn: number, history = 1) => ({ history, lsn: BigInt(lsn) });

/** One sample each second: the primary is at 10 after the first, at 20 after the second. */
function sampled(seconds: number, lagMsMax = 5_000): ReplicaLag {
  const lag = new ReplicaLag(lagMsMax);
  for (let second = 1; second <= seconds; second += 1) lag.add(at(second * 10), second * 1_000);
  return lag;
}

test('the lag is the age of the first sample that the replica has not reached', () => {
  const lag = sampled(4);
  assert.equal(lag.lagMs(at(40), 4_000), 0);
  assert.equal(lag.lagMs(at(99), 4_500), 0);
  assert.equal(lag.lagMs(at(39), 4_500), 500);
  assert.equal(lag.lagMs(at(10), 4_500), 2_500);
});

test('an idle primary is no lag', () => {
  const lag = new ReplicaLag(5_000);
  for (let second = 1; second <= 60; second += 1) lag.add(at(10), second * 1_000);
  assert.equal(lag.lagMs(at(10), 60_000), 0);
});

test('a lag that is longer than the samples is not known: at the start, and beyond the limit', () => {
  assert.equal(new ReplicaLag(5_000).lagMs(at(10), 0), undefined);
  assert.equal(sampled(1).lagMs(at(9), 1_000), undefined);
  assert.equal(sampled(60).lagMs(at(540), 60_000), undefined);
  assert.equal(sampled(60).lagMs(at(550), 60_000), 4_000);
});

test('nothing is known of another history, or if the primary cannot be asked', () => {
  const lag = sampled(4);
  assert.equal(lag.lagMs(at(40, 2), 4_000), undefined);
  assert.deepEqual([lag.history(4_000), lag.history(11_000), lag.history(11_001)], [1, 1, undefined]);
  assert.equal(lag.lagMs(at(40), 11_001), undefined);
  lag.add(at(5, 2), 5_000);
  assert.equal(lag.history(5_000), 2);
  assert.equal(lag.lagMs(at(40), 5_000), undefined);
  assert.equal(lag.lagMs(at(4, 2), 5_000), undefined);
  assert.equal(lag.lagMs(at(5, 2), 5_000), 0);
});
