import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toPaymentQuery } from './payment-query.ts';

test('payments of all kinds are shown unless one is chosen', () => {
  assert.deepEqual(toPaymentQuery({}), { query: { source: 'all' } });
  assert.deepEqual(toPaymentQuery({ source: 'one_time', status: 'canceled' }), {
    query: { status: 'canceled' },
  });
  assert.deepEqual(toPaymentQuery({ source: 'subscription' }), { query: { source: 'subscription' } });
});

test('amounts are typed in decimals, and need a currency', () => {
  assert.deepEqual(toPaymentQuery({ amountMin: '58', amountMax: '60,50', currency: 'eur' }).query, {
    source: 'all',
    currency: 'eur',
    amountMin: '5800',
    amountMax: '6050',
  });
  assert.deepEqual(toPaymentQuery({ amountMin: '58', currency: 'jpy' }).query, {
    source: 'all',
    currency: 'jpy',
    amountMin: '58',
  });
  assert.match(toPaymentQuery({ amountMin: '58' }).hint ?? '', /currency/);
  const wrong = toPaymentQuery({ amountMin: 'much', currency: 'eur' });
  assert.deepEqual(wrong.query, { source: 'all', currency: 'eur' });
  assert.match(wrong.hint ?? '', /58\.00/);
});

test('the reason of a failure can be typed in words', () => {
  assert.deepEqual(toPaymentQuery({ failureCode: ' insufficient funds' }).query, {
    ...{ source: 'all', failureCode: 'insufficient_funds' },
  });
});
