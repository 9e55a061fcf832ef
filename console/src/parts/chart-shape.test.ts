import assert from 'node:assert/strict';
import { test } from 'node:test';
import { barsOf, chartHeight, lineOf } from './chart-shape.ts';

test('the largest value is as high as the chart, and the others in proportion', () => {
  assert.deepEqual(
    barsOf([0, 50, 100]).map(({ height }) => height),
    [0, chartHeight / 2, chartHeight],
  );
});

test('bars of nothing are flat, and of no values there are none', () => {
  assert.deepEqual(
    barsOf([0, 0]).map(({ height }) => height),
    [0, 0],
  );
  assert.deepEqual(barsOf([]), []);
});

test('a line begins again after a gap', () => {
  assert.equal(lineOf([null, 1, 2, null, 2]), 'M250 100 L500 0 M1000 0');
  assert.equal(lineOf([]), '');
});
