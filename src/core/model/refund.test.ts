import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  assertTransitions,
  atSecond,
  rowAsOf,
  rowCreatedAt,
  rowUpdatedAt,
  testNow,
} from '../../../test/support/transitions.ts';
import { asOfRow, rowTime } from './facts.ts';
import { kindOf, type Refund, type RefundFacts, refundStatuses, takeRefundFacts } from './refund.ts';

const refund: Refund = {
  id: '0199c1f2-4c7d-7a90-a3b1-0e9f8d7c6b5a',
  processorRefundId: 're_1',
  paymentId: '0199c1f1-02ab-7e31-b1c4-5d8e9f0a1b2c',
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  amount: 500,
  currency: 'eur',
  status: 'pending',
  reason: null,
  kind: 'refund',
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

describe('the kind of a refund', () => {
  const succeeded = { intentStatus: 'succeeded', amount: 2_000, amountReceived: 1_500 } as const;
  const canceled = { intentStatus: 'canceled', amount: 2_000, amountReceived: 0 } as const;
  const open = { intentStatus: 'requires_action', amount: 2_000, amountReceived: 0 } as const;
  const of = (processorRefundId: string, amount: number, reason: RefundFacts['reason'] = null) => ({
    ...{ ...facts, localId: null },
    ...{ processorRefundId, amount, reason },
  });

  test('is known at once if Till requested it, or if no other kind is possible', () => {
    for (const payment of [succeeded, canceled, open])
      assert.equal(kindOf(of('re_1', 500), { payment, isOwn: true }), 'refund');
    assert.equal(kindOf(of('re_1', 500), { payment: canceled, isOwn: false }), 'release');
    assert.equal(kindOf(of('re_1', 499), { payment: succeeded, isOwn: false }), 'refund');
    // Someone gave a reason.
    assert.equal(kindOf(of('re_1', 500, 'duplicate'), { payment: succeeded, isOwn: false }), 'refund');
    const whole = { ...succeeded, amountReceived: 2_000 };
    for (const amount of [1, 500, 2_000])
      assert.equal(kindOf(of('re_1', amount), { payment: whole, isOwn: false }), 'refund');
    // More than was authorised was captured.
    assert.equal(
      kindOf(of('re_1', 500), { payment: { ...succeeded, amountReceived: 2_500 }, isOwn: false }),
      'refund',
    );
  });

  test('is unknown without the list if the refund may be a release', () => {
    assert.equal(kindOf(of('re_1', 500), { payment: succeeded, isOwn: false }), undefined);
    for (const amount of [1, 500, 2_000])
      assert.equal(kindOf(of('re_1', amount), { payment: open, isOwn: false }), undefined);
  });

  test('is a release only of the oldest refund of what was not captured', () => {
    const release = of('re_0', 500);
    const foreign = [
      of('re_3', 500),
      of('re_2', 500, 'duplicate'),
      of('re_1', 500),
      release,
      of('re_x', 499),
    ];
    const kinds = foreign.map((one) => kindOf(one, { payment: succeeded, isOwn: false, foreign }));
    assert.deepEqual(kinds, ['refund', 'refund', 'refund', 'release', 'refund']);
  });

  test('is a refund if the payment is still open after the list was read', () => {
    const foreign = [of('re_1', 2_000)];
    for (const intentStatus of ['processing', 'requires_action'] as const)
      assert.equal(
        kindOf(of('re_1', 2_000), { payment: { ...open, intentStatus }, isOwn: false, foreign }),
        'refund',
      );
  });
});
