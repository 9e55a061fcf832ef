import type { Invoice } from '#core/model/invoice.ts';
import { idsOf, objectKind } from '#engine/events/outbox/object-kind.ts';
import { type InvoiceView, invoiceView } from './invoice-fields.ts';

export const invoiceEvents = {
  objectType: 'invoice',
  shownBy: 'GET /invoices/{id}',
  meanings: {
    'invoice.created': 'An invoice was created. It may be paid already.',
    'invoice.updated': 'An invoice changed in another way, such as becoming open, void or uncollectible.',
    'invoice.paid': 'An invoice was paid.',
    'invoice.payment_failed': 'An attempt to collect an invoice failed, and it is still unpaid.',
  },
} as const;

type InvoiceEventType = keyof typeof invoiceEvents.meanings;

export const invoiceKind = objectKind({
  events: invoiceEvents,
  table: 'invoices',
  show: (row: Invoice) => ({
    id: row.id,
    customerId: row.customerId,
    view: invoiceView(row),
    ids: idsOf(row.id, row.processorInvoiceId, row.processorSubscriptionId, row.processorCustomerId),
  }),
  typeOf: invoiceEventType,
});

/**
 * The processor counts its attempts to collect an invoice. If the count rises and the invoice is unpaid, an attempt has
 * failed.
 */
export function invoiceEventType(before: InvoiceView, after: InvoiceView): InvoiceEventType {
  if (before.status !== 'paid' && after.status === 'paid') return 'invoice.paid';
  const isTriedAgain = after.attemptCount > before.attemptCount;
  const isUnpaid = after.status === 'open' || after.status === 'uncollectible';
  return isTriedAgain && isUnpaid ? 'invoice.payment_failed' : 'invoice.updated';
}
