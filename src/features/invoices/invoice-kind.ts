import type { Invoice } from '#core/model/invoice.ts';
import type { EventType } from '#engine/events/event.ts';
import { idsOf, objectKind } from '#engine/events/outbox/object-kind.ts';
import { type InvoiceView, invoiceView } from './invoice-view.ts';

export const invoiceKind = objectKind({
  type: 'invoice',
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
export function invoiceEventType(before: InvoiceView, after: InvoiceView): EventType {
  if (before.status !== 'paid' && after.status === 'paid') return 'invoice.paid';
  const isTriedAgain = after.attemptCount > before.attemptCount;
  const isUnpaid = after.status === 'open' || after.status === 'uncollectible';
  return isTriedAgain && isUnpaid ? 'invoice.payment_failed' : 'invoice.updated';
}
