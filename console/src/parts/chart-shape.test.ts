import assert from 'node:assert/strict';
import { test } from 'node:test';
import { barsOf, chartHeight, lineOf } from './chart-shape.ts';

test('the largest value is as high as the chart, and the others in proportion', () => {
  assert.deepEqual(
    barsOf([0, 50, 100]).map(({ height }) => height),
    [0, chartHeight / 2, chartHeight],
  );
});

test('a bar of zero is flat, and without values there are no bars', () => {
  assert.deepEqual(
    barsOf([0, 0]).map(({ height }) => height),
    [0, 0],
  );
  assert.deepEqual(barsOf([]), []);
});

test('a line begins again after a gap', () => {
  assert.equal(lineOf([null, 1, 2, null, 1, 2]), 'M200 100 L400 0 M800 100 L1000 0');
  assert.equal(lineOf([]), '');
});

test('a point without neighbours is a short line, which can be seen', () => {
  assert.equal(lineOf([1, null, 2]), 'M0 100 h12 M1000 0 h-12');
});
