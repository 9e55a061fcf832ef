import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axisOf, barsOf, chartHeight, lineOf } from './chart-shape.ts';

const axisMax = (values: readonly (number | null)[]) => axisOf(values).max;
const upTo = (max: number) => ({ min: 0, max });

test('an axis ends at a round number, at or above the largest value', () => {
  assert.deepEqual([[], [0], [1], [2]].map(axisMax), [2, 2, 2, 2]);
  assert.deepEqual(
    [[3], [10], [11], [99], [101], [4_100], [123_456], [null, 7]].map(axisMax),
    [4, 10, 20, 100, 200, 5_000, 200_000, 10],
  );
  for (let max = 1; max < 1_000_000; max = Math.ceil(max * 1.1)) {
    const end = axisMax([max]);
    assert.ok(end >= max && end <= Math.max(2.5 * max, 2) && end % 2 === 0, `${max}: ${end}`);
  }
});

test('a value at the end of the axis is as high as the chart, and the others in proportion', () => {
  assert.deepEqual(
    barsOf([0, 50, 100], upTo(100)).map(({ height }) => height),
    [0, chartHeight / 2, chartHeight],
  );
});

test('a bar of zero is flat, and without values there are no bars', () => {
  assert.deepEqual(
    barsOf([0, 0], upTo(2)).map(({ height }) => height),
    [0, 0],
  );
  assert.deepEqual(barsOf([], upTo(2)), []);
});

test('a value below zero has a bar below the middle, where zero is', () => {
  const axis = axisOf([10, -15, null]);
  assert.deepEqual(axis, { min: -20, max: 20 });
  assert.deepEqual(
    barsOf([10, -15, 0], axis).map(({ y, height }) => [y, height]),
    [
      [50, 50],
      [100, 75],
      [100, 0],
    ],
  );
});

test('a line begins again after a gap', () => {
  assert.equal(lineOf([null, 1, 2, null, 1, 2], upTo(2)), 'M200 100 L400 0 M800 100 L1000 0');
  assert.equal(lineOf([], upTo(2)), '');
});

test('a point without neighbours is a short line, which can be seen', () => {
  assert.equal(lineOf([1, null, 2], upTo(2)), 'M0 100 h12 M1000 0 h-12');
});
