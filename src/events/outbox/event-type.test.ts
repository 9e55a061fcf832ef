import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InvoiceView } from '../../invoices/invoice-view.ts';
import type { PaymentView } from '../../payments/payment-view.ts';
import type { RefundView } from '../../payments/refund-view.ts';
import type { PlanView } from '../../plans/plan-view.ts';
import type { SubscriptionView } from '../../subscriptions/subscription-view.ts';
import { eventTypes } from '../event.ts';
import {
  invoiceEventType,
  paymentEventType,
  planEventType,
  refundEventType,
  subscriptionBeginning,
  subscriptionEventType,
} from './event-type.ts';

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

test('a subscription: canceled comes before unentitled', () => {
  const entitled = { status: 'active', entitled: true } as SubscriptionView;
  const waiting = { status: 'incomplete', entitled: false } as SubscriptionView;
  const type = (before: SubscriptionView, after: Partial<SubscriptionView>) =>
    subscriptionEventType(before, { ...before, ...after });
  assert.equal(type(waiting, { status: 'active', entitled: true }), 'subscription.entitled');
  assert.equal(type(entitled, { status: 'past_due', entitled: false }), 'subscription.unentitled');
  assert.equal(type(entitled, { status: 'past_due' }), 'subscription.updated');
  assert.equal(type(entitled, { status: 'canceled', entitled: false }), 'subscription.canceled');
  assert.equal(type(waiting, { status: 'incomplete_expired' }), 'subscription.updated');
});

test('a subscription that begins entitled: entitled follows its creation', () => {
  const of = (entitled: boolean) => subscriptionBeginning({ entitled } as SubscriptionView);
  assert.deepEqual(of(true), { type: 'subscription.entitled', previous: { entitled: false } });
  assert.equal(of(false), undefined);
});

test('an invoice: an attempt has failed if the invoice is still not paid', () => {
  const invoice = { status: 'open', attemptCount: 1 } as InvoiceView;
  const type = (after: Partial<InvoiceView>) => invoiceEventType(invoice, { ...invoice, ...after });
  assert.equal(type({ attemptCount: 2 }), 'invoice.payment_failed');
  assert.equal(type({ attemptCount: 2, status: 'paid' }), 'invoice.paid');
  assert.equal(type({ attemptCount: 2, status: 'uncollectible' }), 'invoice.payment_failed');
  assert.equal(type({ attemptCount: 2, status: 'void' }), 'invoice.updated');
  assert.equal(type({ amountDue: 1 }), 'invoice.updated');
});

test('a plan is archived, a refund fails', () => {
  const plan = { active: true } as PlanView;
  assert.equal(planEventType(plan, { ...plan, active: false }), 'plan.archived');
  assert.equal(planEventType({ ...plan, active: false }, plan), 'plan.updated');
  const refund = { status: 'pending' } as RefundView;
  assert.equal(refundEventType(refund, { ...refund, status: 'failed' }), 'refund.failed');
  assert.equal(refundEventType(refund, { ...refund, status: 'succeeded' }), 'refund.updated');
});

test('every object has a type for its creation and one for a change that no other type describes', () => {
  // Usage is no object: an event says that a limit is reached.
  const changes = eventTypes.filter((type) => type !== 'usage.limit_reached');
  const objects = new Set(changes.map((type) => type.slice(0, type.indexOf('.'))));
  for (const object of objects)
    for (const what of ['created', 'updated'])
      assert.ok(eventTypes.some((type) => type === `${object}.${what}`));
});
