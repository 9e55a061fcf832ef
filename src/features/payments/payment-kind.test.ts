import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PaymentView } from './payment-fields.ts';
import { paymentEventType } from './payment-kind.ts';

/** The fields that decide the type. The others do not matter. */
const payment = { status: 'processing', amountRefunded: 0, failure: null, dispute: null } as PaymentView;
const failure = { code: 'card_declined', declineCode: 'expired_card', message: null };
const dispute = { status: 'needs_response', amount: 5, reason: null, evidenceDueBy: null };

test('a payment: a dispute comes before a refund, a refund before success or cancelation, and these before a failure', () => {
  const paid = { ...payment, status: 'succeeded' } as const;
  const cases: readonly [Partial<PaymentView>, string][] = [
    [{}, 'payment.updated'],
    [{ status: 'requires_action' }, 'payment.updated'],
    [{ failure, status: 'requires_payment_method' }, 'payment.failed'],
    [{ failure, status: 'canceled' }, 'payment.canceled'],
    [{ status: 'succeeded' }, 'payment.succeeded'],
    [{ status: 'succeeded', amountRefunded: 1 }, 'payment.refunded'],
    [{ status: 'refunded', amountRefunded: 5 }, 'payment.refunded'],
    [{ status: 'refunded', amountRefunded: 5, dispute }, 'payment.disputed'],
  ];
  for (const [change, type] of cases)
    assert.equal(paymentEventType(payment, { ...payment, ...change }), type, JSON.stringify(change));
  assert.equal(
    paymentEventType({ ...payment, failure }, { ...payment, failure: { ...failure } }),
    'payment.updated',
  );
  assert.equal(
    paymentEventType({ ...payment, failure }, { ...payment, failure: { ...failure, code: 'other' } }),
    'payment.failed',
  );
  for (const [status, type] of [
    ['processing', 'payment.failed'],
    ['requires_action', 'payment.failed'],
    ['requires_payment_method', 'payment.updated'],
  ] as const)
    assert.equal(
      paymentEventType(
        { ...payment, status, failure },
        { ...payment, status: 'requires_payment_method', failure: { ...failure } },
      ),
      type,
      status,
    );
  assert.equal(
    paymentEventType({ ...paid, dispute }, { ...paid, dispute: { ...dispute, status: 'lost' } }),
    'payment.updated',
  );
  const refunded = { ...paid, status: 'refunded', amountRefunded: 5 } as const;
  assert.equal(
    paymentEventType(refunded, paid),
    'payment.updated',
    'a failed refund is not a second success',
  );
});
