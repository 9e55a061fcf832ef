import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sortIn, sortOf } from './sorting.ts';

const columns = [{ sort: 'amount' }, {}, { sort: 'createdAt' }];

test('an order counts only if a column has it, and the default is not sent', () => {
  for (const sort of ['amount', '-amount', 'createdAt']) assert.equal(sortIn(columns, sort), sort);
  for (const sort of [undefined, '', '-', '-createdAt', 'status', '--amount'])
    assert.equal(sortIn(columns, sort), undefined);
});

test('a heading sorts by the largest first, then by the smallest', () => {
  assert.deepEqual(sortOf('amount'), { direction: undefined, next: '-amount' });
  assert.deepEqual(sortOf('amount', '-amount'), { direction: 'descending', next: 'amount' });
  assert.deepEqual(sortOf('amount', 'amount'), { direction: 'ascending', next: '-amount' });
  assert.deepEqual(sortOf('createdAt'), { direction: 'descending', next: 'createdAt' });
});
