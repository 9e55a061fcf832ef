import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TillError } from '@till/client';
import { failureOf } from './failure.ts';

function refusal(fields: object): TillError {
  const call = { method: 'POST', path: '/api/v1/checkouts', idempotencyKey: undefined, attempts: 1 };
  const problem = { status: 400, code: 'invalid_request', title: 'Invalid request', ...fields };
  return new TillError(problem, { ...call, retryAfterSeconds: undefined, isReplay: false });
}

test('a refused value is named in words, without its path in the request', () => {
  const errors = [{ path: 'body.successUrl', message: 'must begin with https://' }];
  const detail = 'body.successUrl must begin with https://';
  assert.equal(failureOf(refusal({ detail, errors })).detail, 'Success url must begin with https://.');
  assert.equal(failureOf(refusal({ detail: 'Send less.' })).detail, 'Send less.');
});

test('it is unknown whether a call without a response had an effect', () => {
  const lost = failureOf(new TypeError('Failed to fetch'));
  assert.deepEqual([lost.title, lost.isUnresolved], ['No connection', true]);
  assert.equal(failureOf(refusal({ detail: 'No.' })).isUnresolved, false);
});

test('an outage passes by itself, and a refusal or a wrong setting does not', () => {
  const isOutage = (status: number, code: string) => failureOf(refusal({ status, code })).isOutage;
  assert.ok(failureOf(new TypeError('Failed to fetch')).isOutage);
  assert.ok(isOutage(503, 'database_unavailable') && isOutage(503, 'processor_unavailable'));
  assert.ok(isOutage(429, 'rate_limited') && isOutage(504, 'processor_timeout'));
  assert.ok(
    !isOutage(400, 'invalid_request') && !isOutage(404, 'not_found') && !isOutage(500, 'internal_error'),
  );
  assert.ok(!isOutage(502, 'processor_misconfigured') && !isOutage(502, 'processor_object_missing'));
});
