import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SearchResult } from '@till/client';
import { groupResults, matchText, pageOfResult } from './search-result.ts';

function resultOf(values: Partial<SearchResult>): SearchResult {
  return {
    objectType: 'customer',
    objectId: 'c1',
    customerId: 'c1',
    paymentId: null,
    label: 'Ada',
    description: null,
    status: null,
    amount: null,
    currency: null,
    createdAt: '2026-11-15T09:30:00.000Z',
    matched: 'email',
    exact: false,
    ...values,
  };
}

test('exact matches have a group of their own before the groups of each type', () => {
  const results = [
    resultOf({ objectType: 'invoice', objectId: 'i1', exact: true, matched: 'number' }),
    resultOf({ objectId: 'c1' }),
    resultOf({ objectType: 'invoice', objectId: 'i2', matched: 'number' }),
    resultOf({ objectId: 'c2' }),
  ];
  assert.deepEqual(
    groupResults(results).map(({ title, results: found }) => [title, found.map(({ objectId }) => objectId)]),
    [
      ['Exact match', ['i1']],
      ['Customers', ['c1', 'c2']],
      ['Invoices', ['i2']],
    ],
  );
  assert.deepEqual(groupResults([]), []);
});

test('a result leads to the page that shows it', () => {
  const pages: readonly (readonly [Partial<SearchResult>, string | null])[] = [
    [{}, '/console/customers/c1'],
    [{ objectType: 'plan', objectId: 'p/1' }, '/console/plans/p%2F1'],
    [{ objectType: 'refund', objectId: 'r1', paymentId: 'pay1' }, '/console/payments/pay1'],
    [{ objectType: 'webhook_event', objectId: 'evt_1' }, '/console/webhook-events/evt_1'],
    [{ objectType: 'event', label: 'invoice.paid', description: 'i1' }, '/console/invoices/i1'],
    [{ objectType: 'event', label: 'refund.failed', description: 'r1' }, '/console/customers/c1'],
    [{ objectType: 'refund', paymentId: null }, null],
  ];
  for (const [values, page] of pages) assert.equal(pageOfResult(resultOf(values)), page);
});

test('a result says what was found in it', () => {
  assert.equal(matchText(resultOf({ matched: 'processorId', exact: true })), 'Same processor id');
  assert.equal(matchText(resultOf({ matched: 'email' })), 'E-mail contains it');
  assert.equal(matchText(resultOf({ matched: 'number' })), 'Number begins with it');
});
