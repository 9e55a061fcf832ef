import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparison, percent } from './comparison.ts';

test('a comparison says by how much, and from what', () => {
  const text = (value: number) => `€${value}`;
  assert.match(comparison(112, 100, text), /^\+12\s?% from €100 before\.$/);
  assert.match(comparison(50, 100, text), /^[-−]50\s?% from €100 before\.$/);
  assert.equal(comparison(100, 100, text), 'The same as before: €100.');
  assert.equal(comparison(5, 0, text), '€0 before.', 'no percentage of nothing');
});

test('a share is a percentage, and nothing without a whole', () => {
  assert.match(percent(0.0833), /^8[.,]3\s?%$/);
  assert.equal(percent(null), '—');
});
