import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRoundAmount } from './format-amount.ts';
import { refuseIfNotRound } from './round-amount.ts';

test('only amounts of currencies with three decimals must end in 0', () => {
  for (const currency of ['bhd', 'jod', 'kwd', 'omr', 'tnd', 'KWD'])
    assert.deepEqual(
      [0, 5, 10, 1_001, 1_010].map((amount) => isRoundAmount(amount, currency)),
      [true, false, true, false, true],
      currency,
    );
  for (const currency of ['eur', 'jpy', 'isk', 'lyd']) assert.ok(isRoundAmount(1_001, currency), currency);
});

test('an amount that is left out is never refused', () => {
  refuseIfNotRound(null, 'kwd');
  refuseIfNotRound(1_001, 'eur');
  assert.throws(() => refuseIfNotRound(1_001, 'kwd'), {
    code: 'invalid_request',
    extras: { errors: [{ path: 'body.amount', message: 'must end in 0 in a currency with three decimals' }] },
  });
});
