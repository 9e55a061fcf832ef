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
import { asOfRow, rowTime } from './facts.ts';
import { type Invoice, type InvoiceFacts, takeInvoiceFacts } from './invoice.ts';

const customerId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';

const invoice: Invoice = {
  id: '0199c1f4-8e21-7f35-8d6a-1c2b3a4f5e6d',
  processorInvoiceId: 'in_1',
  customerId,
  processorCustomerId: 'cus_1',
  processorSubscriptionId: 'sub_1',
  subscriptionId: null,
  amountDue: 1_900,
  amountPaid: 0,
  currency: 'eur',
  status: 'draft',
  hostedInvoiceUrl: null,
  coversUntil: null,
  isIncomplete: false,
  number: 'A-0001',
  amountRemaining: 1_900,
  attemptCount: 1,
  nextPaymentAttemptAt: rowUpdatedAt,
  periodStart: rowCreatedAt,
  periodEnd: rowCreatedAt,
  invoicePdfUrl: 'https://invoice.example.com/pdf',
  ...rowTime(rowAsOf),
  createdAt: rowCreatedAt,
  updatedAt: rowUpdatedAt,
  revision: 0,
};

const facts: InvoiceFacts = {
  processorInvoiceId: 'in_1',
  processorCustomerId: 'cus_1',
  processorSubscriptionId: 'sub_1',
  subscriptionLocalId: null,
  amountDue: 1_900,
  amountPaid: 0,
  currency: 'eur',
  status: 'draft',
  hostedInvoiceUrl: null,
  coversUntil: null,
  createdAt: rowCreatedAt,
  asOf: rowAsOf,
};

test('every pair of current and new status follows the table: uncollectible is final until paid or voided', () => {
  assertTransitions(
    {
      draft: '        = < ! ! !',
      open: '         < = ! ! !',
      uncollectible: '. . = ! !',
      paid: '         . . . = .',
      void: '         . . . . =',
    },
    ({ from, to, asOf, origin }) => {
      const row = { ...invoice, status: from };
      const taken = takeInvoiceFacts(row, { ...facts, status: to, asOf }, customerId, origin, testNow);
      const { status, updatedAt } = taken.row;
      return { verdict: taken.verdict, status, asOf: asOfRow(taken.row), updatedAt };
    },
  );
});

test('two different values of the same second need a refresh, whichever field differs', () => {
  const open: Invoice = { ...invoice, status: 'open' };
  for (const change of [
    { amountDue: 1_901 },
    { amountPaid: 1 },
    { hostedInvoiceUrl: 'https://invoice.example.com' },
    { processorSubscriptionId: null },
    { number: 'A-0002' },
    { amountRemaining: 1 },
    { attemptCount: 2 },
    { nextPaymentAttemptAt: null },
    { periodEnd: testNow },
    { invoicePdfUrl: 'https://invoice.example.com/other' },
  ]) {
    const other = { ...facts, status: 'open', ...change } as const;
    assert.equal(takeInvoiceFacts(open, other, customerId, 'event', testNow).verdict, 'refresh');
  }
});

test('an event that does not show a detail does not clear it', () => {
  const later = { ...facts, status: 'open', asOf: atSecond(1_001) } as const;
  const { verdict, row } = takeInvoiceFacts(invoice, later, customerId, 'event', testNow);
  assert.equal(verdict, 'take');
  const { status, updatedAt, processorAsOf, processorAsOfLatest, ...kept } = row;
  assert.deepEqual({ ...invoice, ...kept }, invoice);
  const ended = { ...later, nextPaymentAttemptAt: null };
  const { row: last } = takeInvoiceFacts(invoice, ended, customerId, 'event', testNow);
  assert.equal(last.nextPaymentAttemptAt, null);
});

test('an invoice gets its customer as soon as the customer is known', () => {
  const withoutCustomer: Invoice = { ...invoice, customerId: null };
  const later = { ...facts, asOf: atSecond(1_001) };
  const { verdict, row } = takeInvoiceFacts(withoutCustomer, later, customerId, 'event', testNow);
  assert.deepEqual([verdict, row.customerId, row.updatedAt], ['take', customerId, testNow]);
});

test('an invoice keeps its customer if new facts name the same customer but its row was not found', () => {
  const later = { ...facts, status: 'open', asOf: atSecond(1_001) } as const;
  assert.equal(takeInvoiceFacts(invoice, later, null, 'event', testNow).row.customerId, customerId);
  const ofOtherCustomer = { ...later, processorCustomerId: 'cus_2' };
  assert.equal(takeInvoiceFacts(invoice, ofOtherCustomer, null, 'event', testNow).row.customerId, null);
});
