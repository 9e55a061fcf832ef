import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mapSubscriptionInvoice, mapToPay } from './subscriptions.ts';

const asOf = { earliest: new Date(1_000_000), latest: new Date(2_000_000) };

const subscription = {
  id: 'sub_1',
  object: 'subscription',
  status: 'past_due',
  customer: 'cus_1',
  created: 1,
  metadata: {},
  latest_invoice: 'in_3',
  default_payment_method: null,
  default_source: null,
  pending_update: null,
  items: {
    data: [{ id: 'si_1', price: 'price_1', quantity: 1, current_period_start: 1, current_period_end: 9 }],
  },
};

describe('what is left to pay of a subscription', () => {
  test('the invoice of a pending change is the latest one', () => {
    assert.equal(mapToPay(subscription, asOf).changeInvoiceId, null);
    const changing = { ...subscription, pending_update: { expires_at: 1 } };
    assert.equal(mapToPay(changing, asOf).changeInvoiceId, 'in_3');
    assert.equal(mapToPay({ ...changing, latest_invoice: { id: 'in_3' } }, asOf).changeInvoiceId, 'in_3');
  });

  test('a paused subscription is distinguished from an unpaid one', () => {
    assert.equal(mapToPay(subscription, asOf).isPaused, false);
    const { isPaused, subscription: facts } = mapToPay({ ...subscription, status: 'paused' }, asOf);
    assert.deepEqual([isPaused, facts.status], [true, 'unpaid']);
  });

  test('the setup of a payment method has a secret until it is done', () => {
    const setUp = (status: string) => ({
      ...subscription,
      pending_setup_intent: { id: 'seti_1', status, client_secret: 'seti_1_secret' },
    });
    assert.equal(mapToPay(setUp('requires_payment_method'), asOf).setupClientSecret, 'seti_1_secret');
    assert.equal(mapToPay(setUp('succeeded'), asOf).setupClientSecret, null);
    for (const odd of [null, undefined, 'seti_1', 7])
      assert.equal(mapToPay({ ...subscription, pending_setup_intent: odd }, asOf).setupClientSecret, null);
  });

  test('an invoice bills from its first line on, and one with unreadable lines is still listed', () => {
    const line = (start: unknown) => ({ period: { start, end: 9 } });
    const invoice = { id: 'in_3', object: 'invoice', status: 'new', billing_reason: 'manual' };
    assert.deepEqual(
      mapSubscriptionInvoice({ ...invoice, lines: { data: [line(7), line(5), line('odd')] } }, asOf),
      {
        processorInvoiceId: 'in_3',
        status: 'new',
        isOneOff: true,
        billsFrom: new Date(5_000),
        paidAt: null,
        facts: null,
      },
    );
    const { billsFrom, status } = mapSubscriptionInvoice({ id: 'in_3', status: null }, asOf);
    assert.deepEqual([billsFrom, status], [null, null]);
  });
});
