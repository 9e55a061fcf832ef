import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLost } from './lost-sessions.ts';

const session = { processId: 70, beganAtMs: 1_000, readyAtMs: 1_020 };
const nowMs = 61_010;

test('a session that the server has is not lost', () => {
  for (const ageMs of [59_000, 60_000, 61_000])
    assert.equal(isLost(session, [{ processId: 70, ageMs }], nowMs), false, `${ageMs}`);
});

test('a session that the server does not have is lost', () => {
  assert.equal(isLost(session, [], nowMs), true);
  assert.equal(isLost(session, [{ processId: 71, ageMs: 60_000 }], nowMs), true);
});

test('a session is lost if its process id belongs to another session by now', () => {
  for (const ageMs of [null, 0, 5_000, 58_000, 62_000, 600_000])
    assert.equal(isLost(session, [{ processId: 70, ageMs }], nowMs), true, `${ageMs}`);
});

test('clocks that drift apart for a week lose no session', () => {
  const weekMs = 7 * 24 * 3_600_000;
  const week = { processId: 70, beganAtMs: 0, readyAtMs: 10 };
  const driftMs = weekMs * 0.000_05;
  for (const ageMs of [weekMs - driftMs, weekMs + driftMs])
    assert.equal(isLost(week, [{ processId: 70, ageMs }], weekMs), false);
});
