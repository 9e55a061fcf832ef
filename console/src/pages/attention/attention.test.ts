import assert from 'node:assert/strict';
import { test } from 'node:test';
import { subjectOf } from './attention.ts';

test('an interrupted request is about what it changes, or about the object that gets something new', () => {
  assert.deepEqual(subjectOf({ operation: 'payments.create', parentId: 'c' }), { type: 'customer', id: 'c' });
  assert.deepEqual(subjectOf({ operation: 'refunds.create', parentId: 'p' }), { type: 'payment', id: 'p' });
  assert.deepEqual(subjectOf({ operation: 'subscriptions.pay', parentId: 's' }), {
    ...{ type: 'subscription', id: 's' },
  });
});

test('a creation that belongs to nothing is about nothing that exists', () => {
  assert.equal(subjectOf({ operation: 'customers.create', parentId: null }), undefined);
  assert.equal(subjectOf({ operation: 'plans.create', parentId: 'p' }), undefined);
});
