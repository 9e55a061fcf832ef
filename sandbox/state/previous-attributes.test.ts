import assert from 'node:assert/strict';
import { test } from 'node:test';
import { previousAttributes } from './previous-attributes.ts';

test('only differences are shown, nested objects by attribute and arrays in full', () => {
  const before = { id: 'x', name: 'old', metadata: { a: '1', b: '2' }, list: [1, 2], same: { deep: [1] } };
  const after = {
    id: 'x',
    name: 'new',
    metadata: { a: '1', b: '3', c: '4' },
    list: [1, 3],
    same: { deep: [1] },
  };
  assert.deepEqual(previousAttributes(before, after), {
    name: 'old',
    metadata: { b: '2', c: null },
    list: [1, 2],
  });
});

test('if nothing differs, nothing is shown', () => {
  assert.equal(previousAttributes({ a: { b: [1] } }, { a: { b: [1] } }), null);
});
