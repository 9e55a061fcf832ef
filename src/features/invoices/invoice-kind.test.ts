import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InvoiceView } from './invoice-fields.ts';
import { invoiceEventType } from './invoice-kind.ts';

test('an invoice: an attempt has failed if the invoice is still not paid', () => {
  const invoice = { status: 'open', attemptCount: 1 } as InvoiceView;
  const type = (after: Partial<InvoiceView>) => invoiceEventType(invoice, { ...invoice, ...after });
  assert.equal(type({ attemptCount: 2 }), 'invoice.payment_failed');
  assert.equal(type({ attemptCount: 2, status: 'paid' }), 'invoice.paid');
  assert.equal(type({ attemptCount: 2, status: 'uncollectible' }), 'invoice.payment_failed');
  assert.equal(type({ attemptCount: 2, status: 'void' }), 'invoice.updated');
  assert.equal(type({ amountDue: 1 }), 'invoice.updated');
});
