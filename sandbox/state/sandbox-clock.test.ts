import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SandboxClock } from './sandbox-clock.ts';

function clockAt(seconds: number) {
  const real = { seconds };
  return { real, clock: new SandboxClock(() => real.seconds * 1_000) };
}

test('once moved, the clock runs on from there', () => {
  const { real, clock } = clockAt(1_000);
  clock.runOnFrom(5_000);
  real.seconds += 10;
  assert.equal(clock.now(), 5_010);
  assert.equal(clock.offsetSeconds, 4_000);
});

test('while it is held it stands still, but never before what already happened', () => {
  const { clock } = clockAt(1_000);
  clock.holdAt(500);
  assert.equal(clock.now(), 500);
  clock.note(700);
  assert.equal(clock.now(), 700);
  clock.release();
  assert.equal(clock.now(), 1_000);
});

test('events that lie ahead of the clock pull it along', () => {
  const { real, clock } = clockAt(1_000);
  clock.note(9_000);
  clock.catchUp();
  real.seconds += 5;
  assert.equal(clock.now(), 9_005);
});
