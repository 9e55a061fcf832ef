import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SlidingLimit, SlidingLimits } from './sliding-limit.ts';

test('no window contains more than the limit, wherever it begins', () => {
  const limit = new SlidingLimit({ max: 25, window: 1_000 });
  const taken: number[] = [];
  // Three requests every 10 ms for 3 s, of which 25 a second fit.
  for (let now = 0; now < 3_000; now += 10)
    for (let request = 0; request < 3; request += 1)
      if (limit.hasRoom(now)) {
        limit.note(now);
        taken.push(now);
      }
  assert.equal(taken.length, 75);
  for (const start of taken)
    assert.ok(taken.filter((time) => time >= start && time < start + 1_000).length <= 25, `from ${start}`);
});

test('each key has a limit of its own, and the first one of very many is forgotten', () => {
  const limits = new SlidingLimits({ max: 1, window: 10 });
  limits.of('first').note(0);
  assert.equal(limits.of('first').hasRoom(5), false);
  assert.equal(limits.of('second').hasRoom(5), true);
  for (let key = 0; key < 10_000; key += 1) limits.of(`other ${key}`);
  assert.equal(limits.of('first').hasRoom(5), true);
});
