import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Invoice, Subscription } from '@till/client';
import { invoiceToPay } from './invoice-to-pay.ts';

const invoice = (id: string, status: Invoice['status']) => ({ id, status }) as Invoice;

function idOf(
  status: Subscription['status'],
  invoices: readonly Invoice[],
  values: Partial<Pick<Subscription, 'latestInvoiceId' | 'pendingChange'>> = {},
): string | undefined {
  const latestInvoiceId = invoices[0]?.id ?? null;
  return invoiceToPay(invoices, { status, latestInvoiceId, pendingChange: null, ...values })?.id;
}

const pendingChange = { planId: 'plan', quantity: 1, addOns: [], at: null };

test('the latest invoice is paid, a draft only if the processor does not collect it', () => {
  const invoices = [invoice('in_2', 'draft'), invoice('in_1', 'open')];
  for (const status of ['past_due', 'unpaid', 'incomplete'] as const)
    assert.equal(idOf(status, invoices), 'in_2', status);
  for (const status of ['active', 'trialing'] as const) assert.equal(idOf(status, invoices), undefined);
});

test('only an open invoice of an ended subscription is paid', () => {
  assert.equal(idOf('canceled', [invoice('in_2', 'draft'), invoice('in_1', 'open')]), 'in_1');
  assert.equal(idOf('canceled', [invoice('in_2', 'draft')]), undefined);
});

test('an invoice is not paid if it is void, uncollectible, or of a pending change', () => {
  const older = invoice('in_1', 'open');
  assert.equal(idOf('past_due', [invoice('in_2', 'void'), older]), 'in_1');
  assert.equal(idOf('past_due', [invoice('in_2', 'uncollectible'), older]), undefined);
  assert.equal(idOf('past_due', [invoice('in_2', 'open'), older], { pendingChange }), 'in_1');
});

test('a declined renewal is paid, even if a change was paid later', () => {
  const invoices = [invoice('in_2', 'paid'), invoice('in_1', 'open')];
  assert.equal(idOf('past_due', invoices), 'in_1');
  assert.equal(idOf('active', invoices), undefined);
});

test('none is named if the latest invoice is not among those that were read', () => {
  assert.equal(idOf('past_due', [invoice('in_1', 'open')], { latestInvoiceId: 'in_2' }), undefined);
});
