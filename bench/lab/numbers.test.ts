import assert from 'node:assert/strict';
import { test } from 'node:test';
import { median, shown } from './numbers.ts';

test('the median is the middle value, whatever the order', () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.throws(() => median([]), /nothing was measured/);
});

test('numbers are shown with the digits that mean something', () => {
  assert.deepEqual([12_345.6, 100, 12.345, 0.012345].map(shown), ['12,346', '100', '12.3', '0.0123']);
});
