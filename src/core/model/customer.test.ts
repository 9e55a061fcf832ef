import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertTransitions,
  atSecond,
  rowAsOf,
  rowCreatedAt,
  rowUpdatedAt,
  testNow,
} from '../../../test/support/transitions.ts';
import {
  type Customer,
  type CustomerFacts,
  eraseCustomer,
  hasValues,
  isChangeIgnored,
  takeCustomerFacts,
} from './customer.ts';
import { asOfEvent, asOfRow, rowTime } from './facts.ts';

const customer: Customer = {
  id: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  processorCustomerId: 'cus_1',
  email: 'ada@example.com',
  name: 'Ada',
  phone: null,
  externalId: 'user-1',
  metadata: { tier: 'gold' },
  deletedAt: null,
  ...rowTime(rowAsOf),
  createdAt: rowCreatedAt,
  updatedAt: rowUpdatedAt,
  revision: 0,
};

const facts: CustomerFacts = {
  processorCustomerId: 'cus_1',
  localId: customer.id,
  email: 'ada@example.com',
  name: 'Ada',
  phone: null,
  externalId: 'user-1',
  metadata: { tier: 'gold' },
  deleted: false,
  createdAt: rowCreatedAt,
  asOf: rowAsOf,
};

test('a deletion is final: it overrides every change, and no later change overrides it', () => {
  assertTransitions({ live: '= !', deleted: '. .' }, ({ from, to, asOf, origin }) => {
    const row = from === 'live' ? customer : eraseCustomer(customer, rowUpdatedAt);
    const taken = takeCustomerFacts(row, { ...facts, deleted: to === 'deleted', asOf }, origin, testNow);
    const { deletedAt, updatedAt } = taken.row;
    const status = deletedAt === null ? 'live' : 'deleted';
    return { verdict: taken.verdict, status, asOf: asOfRow(taken.row), updatedAt };
  });
});

test('the newer of two changes wins, and two different changes in the same second need a refresh', () => {
  for (const change of [
    { email: 'king@example.com' },
    { name: null },
    { phone: '+15550100' },
    { externalId: 'user-2' },
    { metadata: { tier: 'silver' } },
  ]) {
    const at = (second: number) =>
      takeCustomerFacts(customer, { ...facts, ...change, asOf: atSecond(second) }, 'event', testNow);
    assert.deepEqual([at(999).verdict, at(1_000).verdict, at(1_001).verdict], ['keep', 'refresh', 'take']);
    assert.deepEqual({ ...at(1_001).row, ...change }, at(1_001).row);
    assert.deepEqual(at(1_001).row.updatedAt, testNow);
  }
});

test('clearing the email address elsewhere changes nothing, because a Till customer always has one', () => {
  const { row } = takeCustomerFacts(
    customer,
    { ...facts, email: null, asOf: asOfEvent(testNow) },
    'event',
    testNow,
  );
  assert.deepEqual([row.email, row.updatedAt], ['ada@example.com', rowUpdatedAt]);
});

test('an event that does not show the metadata never clears it: a newer one needs a refresh', () => {
  const at = (second: number) => {
    const unknown = { ...facts, name: 'Grace', externalId: null, metadata: null, asOf: atSecond(second) };
    return takeCustomerFacts(customer, unknown, 'event', testNow);
  };
  assert.deepEqual([at(999).verdict, at(1_000).verdict, at(1_001).verdict], ['keep', 'refresh', 'refresh']);
  const read = { ...facts, name: 'Grace', externalId: null, metadata: null };
  const { verdict, row } = takeCustomerFacts(customer, read, 'current', testNow);
  assert.deepEqual(
    [verdict, row.name, row.externalId, row.metadata],
    ['take', 'Grace', 'user-1', { tier: 'gold' }],
  );
});

test('a customer has the values of a request if every value in the request is the same, except for the case of the email', () => {
  const has = (values: object) => hasValues(customer, { email: 'ADA@example.com', ...values });
  assert.equal(has({}), true);
  assert.equal(has({ name: 'Ada', phone: null, metadata: { tier: 'gold' } }), true);
  assert.equal(has({ email: 'grace@example.com' }), false);
  assert.equal(has({ name: 'ada' }), false);
  assert.equal(has({ phone: '+1' }), false);
  assert.equal(has({ metadata: { tier: 'silver' } }), false);
  assert.equal(has({ metadata: { other: '1' } }), false);
});

test('a deleted customer has no personal data left', () => {
  const deleted = { ...facts, deleted: true, email: null, name: null };
  const { row } = takeCustomerFacts(customer, deleted, 'event', testNow);
  assert.deepEqual([row.email, row.name, row.phone, row.deletedAt], [null, null, null, testNow]);
  assert.deepEqual([row.externalId, row.metadata], [null, {}]);
  assert.deepEqual([row.id, row.processorCustomerId], [customer.id, 'cus_1']);
});

test('a change is ignored if the response shows the old value, but not if it shows a normalized new one', () => {
  const before = {
    email: 'ada@example.com',
    name: 'Ada',
    phone: null,
    externalId: null,
    metadata: { a: '1' },
  };
  const ignored = (change: object, after: object) => isChangeIgnored(before, change, { ...before, ...after });
  assert.equal(ignored({ name: 'Grace' }, {}), true);
  assert.equal(ignored({ phone: '+1' }, { name: 'Grace' }), true);
  assert.equal(ignored({ name: null }, {}), true);
  assert.equal(ignored({ name: 'Grace' }, { name: 'Grace' }), false);
  assert.equal(ignored({ name: ' Grace' }, { name: 'Grace' }), false);
  assert.equal(ignored({ name: 'Ada ', phone: null }, {}), false);
  assert.equal(ignored({ name: 'Grace' }, { name: null }), true);
  assert.equal(ignored({ name: null }, { name: 'Grace' }), true);
  assert.equal(ignored({ externalId: 'x' }, {}), true);
  assert.equal(ignored({ externalId: 'x' }, { externalId: 'x' }), false);
  assert.equal(ignored({ metadata: { a: '2' } }, {}), true);
  assert.equal(ignored({ metadata: { a: null } }, {}), true);
  assert.equal(ignored({ metadata: { a: '1', b: null } }, {}), false);
  assert.equal(ignored({ metadata: { b: '2' } }, { metadata: { a: '1', b: '2' } }), false);
  assert.equal(ignored({}, {}), false);
});
