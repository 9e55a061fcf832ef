import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Customer } from '../../../../client/src/index.ts';
import { changeTexts, customerChange, inputsOf, isEmail } from './customer-change.ts';

const customer: Customer = {
  id: 'c1',
  processorCustomerId: 'cus_1',
  email: 'ada@example.com',
  name: 'Ada',
  phone: null,
  externalId: 'user-1',
  metadata: {},
  createdAt: '2026-11-15T09:30:00.000Z',
  updatedAt: '2026-11-15T09:30:00.000Z',
};

test('only changed fields are sent, and an empty input clears a field', () => {
  const inputs = inputsOf(customer);
  assert.deepEqual(customerChange(customer, inputs), {});
  assert.deepEqual(customerChange(customer, { ...inputs, name: ' Ada King ', externalId: '' }), {
    name: 'Ada King',
    externalId: null,
  });
});

test('changes are shown with the old and the new value', () => {
  const inputs = { ...inputsOf(customer), name: '', phone: '+353 1' };
  assert.deepEqual(changeTexts(customer, inputs), ['Name: Ada → none', 'Phone: none → +353 1']);
});

test('an e-mail needs a name, an at sign and a domain', () => {
  for (const text of ['ada@example.com', ' a@b.c ']) assert.ok(isEmail(text), text);
  for (const text of ['', 'ada', 'ada@', '@example.com', 'a b@c.d']) assert.ok(!isEmail(text), text);
});
