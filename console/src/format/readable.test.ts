import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readable } from './readable.ts';

test('values of fields are shown as people read them', () => {
  assert.equal(readable('amountDue', 1_250, 'usd'), '$12.50');
  assert.equal(readable('quantity', 3, 'usd'), '3');
  assert.equal(readable('status', 'past_due'), 'Past due');
  assert.equal(readable('description', 'past_due'), 'past_due', "the caller's own text stays as it is");
  assert.equal(readable('cancelAtPeriodEnd', false), 'no');
  assert.equal(readable('name', null), 'none');
  assert.equal(readable('email', ''), 'none');
  assert.doesNotMatch(readable('trialEnd', '2026-11-15T09:30:00.000Z'), /T.*Z/);
});

test('an object is shown with the fields that have a value, and its own currency', () => {
  const discount = { code: 'SPRING', percentOff: null, amountOff: 500, currency: 'jpy', endsAt: null };
  assert.equal(readable('discount', discount, 'usd'), 'Code: SPRING, Amount off: ¥500');
  assert.equal(readable('metadata', {}), 'none');
  assert.equal(readable('features', { seats: 10, export: true }), 'Seats: 10, Export: yes');
});
