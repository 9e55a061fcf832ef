import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptsMax, retryAfterMs } from './webhook-event.ts';

const attempts = Array.from({ length: attemptsMax - 1 }, (_, index) => index + 1);

test('the delay doubles with every failed attempt, up to half an hour', () => {
  const longest = attempts.map((attempt) => retryAfterMs(attempt, 1));
  assert.equal(longest[0], 1_000);
  for (const [index, delayMs] of longest.slice(1).entries()) {
    assert.equal(delayMs, Math.min((longest[index] ?? 0) * 2, 1_800_000));
  }
  assert.equal(longest.at(-1), 1_800_000);
});

test('half of the delay is random, so that events that failed together are not retried together', () => {
  for (const attempt of attempts) {
    const longest = retryAfterMs(attempt, 1);
    assert.equal(retryAfterMs(attempt, 0), longest / 2);
    assert.equal(retryAfterMs(attempt, 0.5), longest * 0.75);
  }
});

test('an event is retried for about five hours before it counts as failed', () => {
  const totalHours = attempts.reduce((sum, attempt) => sum + retryAfterMs(attempt, 0.5), 0) / 3_600_000;
  assert.ok(totalHours > 4.5 && totalHours < 5.5, `${totalHours} hours`);
});
