import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { assertProperty } from '../../test/support/seeds.ts';
import { MinHeap } from './min-heap.ts';

test('items come out in order of time, and items with the same time in the order of their insertion', async () => {
  await assertProperty(
    fc.property(fc.array(fc.integer({ min: 0, max: 5 })), (times) => {
      const heap = new MinHeap<number>();
      for (const [index, at] of times.entries()) heap.push(at, index);
      const out: [number, number][] = [];
      for (let next = heap.pop(); next !== undefined; next = heap.pop()) out.push([next.at, next.item]);
      const expected = times
        .map((at, index): [number, number] => [at, index])
        .toSorted((a, b) => a[0] - b[0]);
      assert.deepEqual(out, expected);
    }),
  );
});
