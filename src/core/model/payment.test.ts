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
import { noCharge } from './charge.ts';
import { asOfRow, rowTime } from './facts.ts';
import {
  amountLeft,
  noInvoice,
  type Payment,
  type PaymentFacts,
  paymentStatuses,
  paymentStatusOf,
  takePaymentFacts,
} from './payment.ts';

const payment: Payment = {
  id: '0199c1f1-02ab-7e31-b1c4-5d8e9f0a1b2c',
  processorPaymentIntentId: 'pi_1',
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  checkoutId: null,
  amount: 2_000,
  description: null,
  metadata: {},
  amountReceived: 0,
  amountCapturable: 0,
  failure: null,
  ...noCharge,
  ...noInvoice,
  dispute: null,
  amountRefunded: 0,
  amountReserved: 0,
  currency: 'eur',
  intentStatus: 'requires_payment_method',
  status: 'requires_payment_method',
  ...rowTime(rowAsOf),
  createdAt: rowCreatedAt,
  updatedAt: rowUpdatedAt,
  revision: 0,
};

const facts: PaymentFacts = {
  processorPaymentIntentId: 'pi_1',
  localId: payment.id,
  checkoutId: null,
  processorCustomerId: 'cus_1',
  amount: 2_000,
  amountReceived: 0,
  amountCapturable: 0,
  failure: null,
  currency: 'eur',
  metadata: {},
  status: 'requires_payment_method',
  createdAt: rowCreatedAt,
  asOf: rowAsOf,
};

test('every pair of current and new status follows the transition table, for older, equal and newer times', () => {
  assertTransitions(
    {
      requires_payment_method: '= < < < ! !',
      requires_confirmation: '  < = < < ! !',
      requires_action: '        < < = < ! !',
      processing: '             < < < = ! !',
      succeeded: '              . . . . = .',
      canceled: '               . . . . . =',
    },
    ({ from, to, asOf, origin }) => {
      const row = { ...payment, intentStatus: from, status: from };
      const taken = takePaymentFacts(row, { ...facts, status: to, asOf }, origin, testNow);
      const { status, updatedAt } = taken.row;
      assert.equal(status, taken.row.intentStatus);
      return { verdict: taken.verdict, status: taken.row.intentStatus, asOf: asOfRow(taken.row), updatedAt };
    },
  );
});

test('a late event does not overwrite a refund', () => {
  const refunded: Payment = {
    ...payment,
    intentStatus: 'succeeded',
    status: 'refunded',
    amountReceived: 2_000,
    amountRefunded: 2_000,
  };
  for (const status of paymentStatuses) {
    if (status === 'refunded') continue;
    for (const second of [999, 1_000, 1_001]) {
      const asOf = atSecond(second);
      const amountReceived = status === 'succeeded' ? 2_000 : 0;
      const { verdict, row } = takePaymentFacts(
        refunded,
        { ...facts, status, amountReceived, asOf },
        'event',
        testNow,
      );
      assert.equal((verdict === 'take' ? row : refunded).status, 'refunded', `${status} at ${second}`);
    }
  }
});

test('a new amount is a change even if the status is the same', () => {
  const partly = { ...facts, status: 'processing', amountReceived: 500 } as const;
  const row: Payment = { ...payment, intentStatus: 'processing', status: 'processing' };
  assert.equal(takePaymentFacts(row, partly, 'event', testNow).verdict, 'refresh');
  const later = takePaymentFacts(row, { ...partly, asOf: atSecond(1_001) }, 'event', testNow);
  assert.deepEqual([later.verdict, later.row.amountReceived], ['take', 500]);
  assert.deepEqual(later.row.updatedAt, testNow);
});

test('a payment is refunded once the amount refunded reaches the amount received, and only if it succeeded', () => {
  const statusOf = (amountReceived: number, amountRefunded: number) =>
    paymentStatusOf({ intentStatus: 'succeeded', amountReceived, amountRefunded });
  assert.equal(statusOf(2_000, 0), 'succeeded');
  assert.equal(statusOf(2_000, 1_999), 'succeeded');
  assert.equal(statusOf(2_000, 2_000), 'refunded');
  assert.equal(statusOf(2_000, 2_001), 'refunded');
  assert.equal(statusOf(0, 0), 'succeeded', 'nothing was received, so nothing was refunded');
  for (const intentStatus of ['processing', 'canceled'] as const) {
    assert.equal(paymentStatusOf({ intentStatus, amountReceived: 5, amountRefunded: 5 }), intentStatus);
  }
});

test('the amount left to refund is never negative', () => {
  assert.equal(amountLeft({ amountReceived: 2_000, amountRefunded: 500, amountReserved: 0 }), 1_500);
  assert.equal(amountLeft({ amountReceived: 2_000, amountRefunded: 2_500, amountReserved: 0 }), 0);
});

test('metadata changes by itself, even of a payment that is final', () => {
  const paid: Payment = { ...payment, intentStatus: 'succeeded', status: 'succeeded', amountReceived: 2_000 };
  const told: PaymentFacts = { ...facts, status: 'succeeded', amountReceived: 2_000, metadata: { a: '1' } };
  const at = (second: number) =>
    takePaymentFacts(paid, { ...told, asOf: atSecond(second) }, 'event', testNow);
  assert.equal(at(999).verdict, 'keep');
  assert.equal(at(1_000).verdict, 'refresh');
  assert.deepEqual([at(1_001).verdict, at(1_001).row.metadata], ['take', { a: '1' }]);
  assert.deepEqual(takePaymentFacts(paid, told, 'current', testNow).row.metadata, { a: '1' });
});

test('an event that does not show the metadata never clears it: a newer one needs a refresh', () => {
  const row: Payment = { ...payment, metadata: { a: '1' } };
  const unknown = { ...facts, status: 'processing', metadata: null, asOf: atSecond(1_001) } as const;
  const { verdict } = takePaymentFacts(row, unknown, 'event', testNow);
  assert.equal(verdict, 'refresh');
  assert.equal(takePaymentFacts(row, { ...unknown, asOf: atSecond(1) }, 'event', testNow).verdict, 'keep');
  const read = takePaymentFacts(row, unknown, 'current', testNow);
  assert.deepEqual([read.verdict, read.row.status, read.row.metadata], ['take', 'processing', { a: '1' }]);
});

test('erased metadata stays erased, and events are applied without it', () => {
  const row: Payment = { ...payment, metadata: null };
  for (const metadata of [{ a: '1' }, {}, null]) {
    for (const origin of ['event', 'current'] as const) {
      const paid = { ...facts, status: 'succeeded', metadata, asOf: atSecond(1_001) } as const;
      const taken = takePaymentFacts(row, paid, origin, testNow);
      assert.deepEqual([taken.verdict, taken.row.status, taken.row.metadata], ['take', 'succeeded', null]);
    }
  }
});
