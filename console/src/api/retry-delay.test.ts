import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TillError } from '@till/client';
import { failureOf } from './failure.ts';
import { retryDelayMs } from './retry-delay.ts';

function outage(retryAfterSeconds?: number) {
  const call = { method: 'GET', path: '/api/v1/payments', idempotencyKey: undefined, attempts: 1 };
  const problem = { status: 503, code: 'database_unavailable', title: 'Database unavailable' };
  return failureOf(new TillError(problem, { ...call, retryAfterSeconds, isReplay: false }));
}

test('the delay doubles up to five seconds, and half of it is random', () => {
  const delays = (random: number) =>
    [1, 2, 3, 4, 5_000].map((failures) => retryDelayMs({ failure: outage(), failures }, random));
  assert.deepEqual(delays(1), [1_000, 2_000, 4_000, 5_000, 5_000]);
  assert.deepEqual(delays(0), [500, 1_000, 2_000, 2_500, 2_500]);
});

test('it is at least what Till asks for, up to a minute', () => {
  const delay = (seconds: number) => retryDelayMs({ failure: outage(seconds), failures: 1 }, 0);
  assert.deepEqual([delay(0), delay(3), delay(86_400)], [500, 3_000, 60_000]);
});
