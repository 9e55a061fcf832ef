import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mean, median, percentile, shown } from './numbers.ts';

test('the median is the middle value, whatever the order', () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.throws(() => median([]), /nothing was measured/);
});

test('the mean and a percentile of the values are computed', () => {
  assert.equal(mean([1, 2, 6]), 3);
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.deepEqual([percentile(hundred, 0.99), percentile(hundred, 0.5), percentile([7], 0.99)], [99, 50, 7]);
  for (const empty of [() => mean([]), () => percentile([], 0.5)])
    assert.throws(empty, /nothing was measured/);
});

test('numbers are shown with their significant digits', () => {
  assert.deepEqual([12_345.6, 100, 12.345, 0.012345].map(shown), ['12,346', '100', '12.3', '0.0123']);
});
