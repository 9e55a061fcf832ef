import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventTitle, eventTypes } from './event-title.ts';

const titleOf = (type: (typeof eventTypes)[number], data: Record<string, unknown> = {}) => {
  const [objectType = ''] = type.split('.');
  return eventTitle({ type, objectType: objectType as 'payment', data });
};

test('the title of an event names the object, its amount, and what happened', () => {
  assert.equal(
    titleOf('payment.succeeded', { amount: 2_000, currency: 'usd' }),
    'Payment of $20.00 succeeded',
  );
  assert.equal(titleOf('refund.failed', { amount: 500, currency: 'jpy' }), 'Refund of ¥500 failed');
  assert.equal(
    titleOf('invoice.paid', { number: 'A-1', amountDue: 100, currency: 'usd' }),
    'Invoice A-1 of $1.00 paid',
  );
  assert.equal(titleOf('plan.archived', { name: 'Gold', amount: 5, currency: 'usd' }), 'Plan Gold archived');
  assert.equal(
    titleOf('customer.created', { name: 'Ada' }),
    'Customer created',
    'a name of a person is not a title',
  );
});

test('a payment that is refunded in part is not called refunded', () => {
  const paid = { amount: 2_000, amountReceived: 2_000, currency: 'usd' };
  assert.equal(
    titleOf('payment.refunded', { ...paid, amountRefunded: 500 }),
    'Payment of $20.00 partly refunded',
  );
  assert.equal(titleOf('payment.refunded', { ...paid, amountRefunded: 2_000 }), 'Payment of $20.00 refunded');
});

test('every type has a title, even without data', () => {
  for (const type of eventTypes) assert.match(titleOf(type), /^[A-Z][a-z]+ [a-z ]+$/);
});
