import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SubscriptionStatus } from '#core/model/subscription.ts';
import type { SubscriptionInvoice, SubscriptionToPay } from '#processor/port/invoice-payment.ts';
import { invoiceToPay, olderUnpaid, unpaidInvoice } from './invoice-to-pay.ts';

const [periodStart, periodEnd] = [new Date('2026-11-01'), new Date('2026-12-01')];

function invoice(id: string, status: string | null, values: Partial<SubscriptionInvoice> = {}) {
  return {
    processorInvoiceId: id,
    status,
    isOneOff: false,
    paidAt: null,
    billsFrom: periodStart,
    facts: null,
    ...values,
  };
}

const byHand = { isOneOff: true, billsFrom: null };
const asOf = { earliest: periodStart, latest: periodStart };

function toPay(
  status: SubscriptionStatus,
  invoices: readonly SubscriptionInvoice[],
  values: Partial<SubscriptionToPay> = {},
): SubscriptionToPay {
  return {
    subscription: {
      processorSubscriptionId: 'sub_1',
      localId: null,
      processorCustomerId: null,
      items: [
        {
          processorItemId: 'si_1',
          processorPriceId: 'price_1',
          planLocalId: null,
          nickname: null,
          quantity: 1,
          createdAt: periodStart,
          currentPeriodStart: periodStart,
          currentPeriodEnd: periodEnd,
        },
      ],
      mainMark: null,
      status,
      trialEnd: null,
      cancelAtPeriodEnd: false,
      cancelAt: null,
      canceledAt: null,
      endedAt: null,
      processorLatestInvoiceId: invoices.find(({ isOneOff }) => !isOneOff)?.processorInvoiceId ?? null,
      defaultPaymentMethodId: null,
      discount: null,
      metadata: null,
      createdAt: periodStart,
      asOf,
    },
    isPaused: false,
    paymentMethodId: null,
    changeInvoiceId: null,
    setupClientSecret: null,
    invoices,
    ...values,
  };
}

const idOf = (current: SubscriptionToPay) => invoiceToPay(current)?.processorInvoiceId ?? null;
const olderOf = (current: SubscriptionToPay) => olderUnpaid(current).map((one) => one.processorInvoiceId);

describe('the invoice to pay', () => {
  test('is the latest one, and the others are older', () => {
    const current = toPay('unpaid', [
      invoice('in_3', 'draft'),
      invoice('in_2', 'draft'),
      invoice('in_1', 'open'),
      invoice('in_0', 'paid'),
    ]);
    assert.deepEqual([idOf(current), olderOf(current)], ['in_3', ['in_2', 'in_1']]);
    const paid = toPay('active', [invoice('in_3', 'paid'), ...current.invoices.slice(1)]);
    assert.deepEqual([idOf(paid), olderOf(paid)], [null, ['in_2', 'in_1']]);
  });

  test('is a draft only if its period has begun and the processor does not collect it by itself', () => {
    const draft = [invoice('in_2', 'draft'), invoice('in_1', 'open')];
    for (const status of ['past_due', 'unpaid', 'incomplete'] as const)
      assert.equal(idOf(toPay(status, draft)), 'in_2', status);
    for (const status of ['active', 'trialing'] as const) assert.equal(idOf(toPay(status, draft)), null);
    assert.equal(idOf(toPay('unpaid', [invoice('in_2', 'draft', { billsFrom: periodEnd })])), null);
    assert.equal(idOf(toPay('unpaid', [invoice('in_2', 'draft', { billsFrom: null })])), null);
  });

  test('is never void, uncollectible, of a pending change or in an unknown status', () => {
    const older = invoice('in_1', 'open');
    assert.equal(idOf(toPay('past_due', [invoice('in_2', 'void'), older])), 'in_1');
    assert.equal(idOf(toPay('past_due', [invoice('in_2', 'uncollectible'), older])), null);
    assert.equal(idOf(toPay('past_due', [invoice('in_2', 'new'), older])), null);
    const changing = toPay('past_due', [invoice('in_2', 'open'), older], { changeInvoiceId: 'in_2' });
    assert.deepEqual([idOf(changing), olderOf(changing)], ['in_1', []]);
    assert.equal(unpaidInvoice(changing, 'in_2')?.processorInvoiceId, 'in_2');
    assert.equal(unpaidInvoice(toPay('active', [invoice('in_2', 'paid')]), 'in_2'), null);
  });

  test('is the declined renewal, even if a change was paid while the renewal was a draft', () => {
    const invoices = [invoice('in_2', 'paid'), invoice('in_1', 'open')];
    assert.equal(idOf(toPay('past_due', invoices)), 'in_1');
    assert.equal(idOf(toPay('active', invoices)), null);
  });

  test('is none if a period began after the invoices were read', () => {
    const current = toPay('past_due', [invoice('in_2', 'open')]);
    const subscription = { ...current.subscription, processorLatestInvoiceId: 'in_3' };
    assert.equal(idOf({ ...current, subscription }), null);
  });

  test('is one that was created by hand only if the status does not wait for another', () => {
    const manual = invoice('in_2', 'open', byHand);
    assert.equal(idOf(toPay('past_due', [manual, invoice('in_1', 'open')])), 'in_1');
    assert.equal(idOf(toPay('active', [manual, invoice('in_1', 'paid')])), 'in_2');
    assert.equal(idOf(toPay('active', [invoice('in_3', 'paid'), manual])), null);
    assert.equal(idOf(toPay('unpaid', [invoice('in_2', 'draft', byHand)])), null);
  });

  test('is the newest open one of a subscription that has ended or is paused', () => {
    const invoices = [invoice('in_3', 'draft'), invoice('in_2', 'open'), invoice('in_1', 'open')];
    assert.equal(idOf(toPay('canceled', invoices)), 'in_2');
    assert.equal(idOf(toPay('canceled', [invoice('in_3', 'draft')])), null);
    const paused = [invoice('in_3', 'uncollectible'), ...invoices.slice(1)];
    assert.equal(idOf(toPay('unpaid', paused, { isPaused: true })), 'in_2');
    assert.equal(idOf(toPay('unpaid', paused)), null);
  });
});
