import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Customer } from '@till/client';
import {
  changeTexts,
  customerChange,
  inputsOf,
  isEmail,
  isExternalId,
  newCustomer,
  noInputs,
} from './customer-change.ts';

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

test('a new customer has the fields that are filled in', () => {
  const inputs = { ...noInputs, email: ' ada@example.com ', phone: ' ', externalId: 'user-1' };
  assert.deepEqual(newCustomer(inputs), { email: 'ada@example.com', externalId: 'user-1' });
});

test('an external id has no spaces', () => {
  for (const text of ['', 'user-1', ' user-1 ']) assert.ok(isExternalId(text), text);
  for (const text of ['user 1', 'user\u0000']) assert.ok(!isExternalId(text), text);
});
