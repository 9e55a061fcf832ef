import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testCards } from './test-cards.ts';

test('the last four digits and the names of test cards are unique', () => {
  const last4 = testCards.map(({ number }) => number.slice(-4));
  assert.equal(new Set(last4).size, last4.length);
  const tokens = testCards.flatMap((card) => card.tokens);
  assert.equal(new Set(tokens).size, tokens.length);
});
