import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SandboxClock } from './sandbox-clock.ts';

test('the time of a request does not change, even if the next second begins during the request', () => {
  let realMs = 1_000_999;
  const clock = new SandboxClock(() => realMs);
  const seen = clock.at(null, () => {
    const first = clock.now();
    realMs += 1;
    return [first, clock.now(), clock.at(7, () => clock.now()), clock.worldNow()];
  });
  assert.deepEqual(seen, [1_000, 1_000, 7, 1_000]);
  assert.equal(clock.now(), 1_001);
});
