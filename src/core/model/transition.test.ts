import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atSecond } from '../../../test/support/transitions.ts';
import { laterOf } from './facts.ts';
import { judge, type Origin, type Rule, type Verdict } from './transition.ts';

const times = { older: atSecond(999), same: atSecond(1_000), newer: atSecond(1_001) };
const rowAsOf = times.same;

function verdictsOf(rule: Rule, origin: Origin, isSame: boolean): readonly Verdict[] {
  return [times.older, times.same, times.newer].map((factsAsOf) =>
    judge({ rule, origin, isSame, rowAsOf, factsAsOf }),
  );
}

test('a final event wins at any time; otherwise newer wins, older loses, and a tie needs a refresh', () => {
  for (const isSame of [true, false]) {
    assert.deepEqual(verdictsOf('always', 'event', isSame), ['take', 'take', 'take']);
    assert.deepEqual(verdictsOf('never', 'event', isSame), ['keep', 'keep', 'keep']);
  }
  assert.deepEqual(verdictsOf('if newer', 'event', false), ['keep', 'refresh', 'take']);
});

test('an event with the same values in the same second is not a tie', () => {
  assert.deepEqual(verdictsOf('if newer', 'event', true), ['keep', 'keep', 'take']);
});

test('a response for an unchanged row wins whatever its time, unless the current status is final', () => {
  for (const isSame of [true, false]) {
    assert.deepEqual(verdictsOf('if newer', 'current', isSame), ['take', 'take', 'take']);
    assert.deepEqual(verdictsOf('always', 'current', isSame), ['take', 'take', 'take']);
    assert.deepEqual(verdictsOf('never', 'current', isSame), ['keep', 'keep', 'keep']);
  }
});

test('a response for a row that changed meanwhile needs a refresh, unless it has the same values or is final', () => {
  assert.deepEqual(verdictsOf('if newer', 'moved', false), ['refresh', 'refresh', 'refresh']);
  assert.deepEqual(verdictsOf('if newer', 'moved', true), ['keep', 'keep', 'take']);
  assert.deepEqual(verdictsOf('always', 'moved', false), ['take', 'take', 'take']);
  assert.deepEqual(verdictsOf('never', 'moved', false), ['keep', 'keep', 'keep']);
});

test('an event dated between the request and the arrival of the response in the row is a tie', () => {
  const rowAsOf = { earliest: times.same.earliest, latest: atSecond(1_003).latest };
  const verdictAt = (second: number, isSame: boolean) =>
    judge({ rule: 'if newer', origin: 'event', isSame, rowAsOf, factsAsOf: atSecond(second) });
  const seconds = [999, 1_000, 1_002, 1_003, 1_004];
  assert.deepEqual(
    seconds.map((second) => verdictAt(second, false)),
    ['keep', 'refresh', 'refresh', 'refresh', 'take'],
  );
  assert.deepEqual(
    seconds.map((second) => verdictAt(second, true)),
    ['keep', 'keep', 'keep', 'keep', 'take'],
  );
});

test('the time of a row never goes back, at either end', () => {
  assert.deepEqual(laterOf(times.older, times.newer), times.newer);
  assert.deepEqual(laterOf(times.newer, times.older), times.newer);
  const response = { earliest: times.older.earliest, latest: times.newer.latest };
  assert.deepEqual(laterOf(times.same, response), {
    earliest: times.same.earliest,
    latest: times.newer.latest,
  });
});
