import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorCatalogue } from '../../../src/core/error-catalogue.ts';
import { TillConnectionError, TillError } from '../errors.ts';
import { isTemporary, readRetryAfter, retryDelayMs } from './retry.ts';

const call = { method: 'POST', path: '/api/v1/payments', idempotencyKey: 'k', attempts: 1 };

function tillError(code: string, status: number, retryAfterSeconds?: number): TillError {
  return new TillError({ code, status }, { ...call, retryAfterSeconds, isReplay: false });
}

test('only failures that can go away by themselves are retried', () => {
  const retried = Object.entries(errorCatalogue).filter(([code, { status }]) =>
    isTemporary(tillError(code, status)),
  );
  assert.deepEqual(retried.map(([code]) => code).toSorted(), [
    'concurrent_change',
    'database_unavailable',
    'idempotency_key_in_flight',
    'overloaded',
    'processor_bad_answer',
    'processor_timeout',
    'processor_unavailable',
    'rate_limited',
    'request_timeout',
    'sandbox_busy',
    'subscription_busy',
  ]);
});

test('without a response from Till, the status of a proxy decides', () => {
  const isRetried = (status: number | undefined) =>
    isTemporary(new TillConnectionError('no response', call, status === undefined ? {} : { status }));
  assert.equal(isRetried(undefined), true);
  assert.deepEqual([408, 429, 502, 503, 504].filter(isRetried), [408, 429, 502, 503, 504]);
  assert.deepEqual([200, 301, 400, 401, 404, 413, 500].filter(isRetried), []);
  assert.equal(isTemporary(new TypeError('a mistake of the caller')), false);
});

test('the delay is a random part of one that doubles, after what Retry-After asks for', () => {
  const delay = (
    attempts: number,
    random: number,
    error: TillError | TillConnectionError = tillError('overloaded', 503),
  ) => retryDelayMs(error, { attempts, firstDelayMs: 500 }, () => random);
  assert.deepEqual([delay(1, 0), delay(1, 0.5), delay(2, 0.5), delay(4, 0.5)], [0, 250, 500, 2_000]);
  assert.equal(delay(7, 1), 32_000);
  assert.equal(delay(1_000, 1), 32_000, 'it stops to double');
  assert.equal(delay(1, 0.5, tillError('rate_limited', 429, 12)), 12_250);
  const proxy = new TillConnectionError('no response', call, { status: 503, retryAfterSeconds: 5 });
  assert.equal(delay(1, 0, proxy), 5_000);
});

test('Retry-After is a number of seconds or a date', () => {
  const nowMs = Date.parse('2026-11-15T09:30:00Z');
  assert.equal(readRetryAfter('7', nowMs), 7);
  assert.equal(readRetryAfter('Sun, 15 Nov 2026 09:30:30 GMT', nowMs), 30);
  assert.equal(readRetryAfter('Sun, 15 Nov 2026 09:00:00 GMT', nowMs), 0);
  for (const header of [null, '', 'soon', '1.5', '-1', '9999999999999'])
    assert.ok([undefined, 0].includes(readRetryAfter(header, nowMs)), `${header}`);
});
