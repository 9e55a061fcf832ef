import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertTransitions,
  atSecond,
  rowAsOf,
  rowCreatedAt,
  rowUpdatedAt,
  testNow,
} from '../../test/support/transitions.ts';
import { asOfRow, rowTime } from './facts.ts';
import { type Refund, type RefundFacts, refundStatuses, takeRefundFacts } from './refund.ts';

const refund: Refund = {
  id: '0199c1f2-4c7d-7a90-a3b1-0e9f8d7c6b5a',
  processorRefundId: 're_1',
  paymentId: '0199c1f1-02ab-7e31-b1c4-5d8e9f0a1b2c',
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  amount: 500,
  currency: 'eur',
  status: 'pending',
  reason: null,
  isOwn: true,
  ...rowTime(rowAsOf),
  createdAt: rowCreatedAt,
  updatedAt: rowUpdatedAt,
  revision: 0,
};

const facts: RefundFacts = {
  processorRefundId: 're_1',
  localId: refund.id,
  processorPaymentIntentId: 'pi_1',
  amount: 500,
  currency: 'eur',
  status: 'pending',
  reason: null,
  createdAt: rowCreatedAt,
  asOf: rowAsOf,
};

test('every pair of current and new status follows the transition table: a bank may return a succeeded refund', () => {
  assertTransitions(
    {
      pending: '        = < < ! !',
      requires_action: '< = < ! !',
      succeeded: '      < < = ! !',
      failed: '         . . . . .',
      canceled: '       . . . . .',
    },
    ({ from, to, asOf, origin }) => {
      const row = { ...refund, status: from };
      const taken = takeRefundFacts(row, { ...facts, status: to, asOf }, origin, testNow);
      const { status, updatedAt } = taken.row;
      return { verdict: taken.verdict, status, asOf: asOfRow(taken.row), updatedAt };
    },
  );
});

test('the first facts about a reservation are always applied, whatever their status and time', () => {
  const reserved: Refund = { ...refund, processorRefundId: null };
  for (const status of refundStatuses) {
    for (const second of [1, 1_000, 2_000]) {
      const asOf = atSecond(second);
      const { verdict, row } = takeRefundFacts(reserved, { ...facts, status, asOf }, 'event', testNow);
      assert.equal(verdict, 'take');
      assert.deepEqual([row.processorRefundId, row.status, asOfRow(row)], ['re_1', status, asOf]);
    }
  }
});

test('an unknown status confirms a reservation as pending, and any known status wins over it', () => {
  const reserved: Refund = { ...refund, processorRefundId: null };
  const later = atSecond(9_000);
  const unknown: RefundFacts = { ...facts, status: 'unknown', asOf: later };
  const { verdict, row } = takeRefundFacts(reserved, unknown, 'event', testNow);
  assert.deepEqual([verdict, row.processorRefundId, row.status], ['take', 're_1', 'pending']);
  for (const status of ['requires_action', 'succeeded', 'failed', 'canceled'] as const) {
    const known = { ...facts, status, asOf: atSecond(1_001) };
    assert.equal(takeRefundFacts(row, known, 'event', testNow).verdict, 'take');
  }
});

test('an unknown status does not change the status of a row', () => {
  for (const status of refundStatuses) {
    for (const origin of ['event', 'current', 'moved'] as const) {
      const unknown: RefundFacts = { ...facts, status: 'unknown', asOf: atSecond(9_000) };
      const { row } = takeRefundFacts({ ...refund, status }, unknown, origin, testNow);
      assert.deepEqual([row.status, row.updatedAt], [status, rowUpdatedAt]);
    }
  }
});
