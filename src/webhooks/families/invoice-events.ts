import type { InvoiceService } from '../../invoices/invoice-service.ts';
import { defineFamily } from './event-family.ts';

/** invoice.created, finalized, updated, paid, payment_succeeded, payment_failed, …, voided, deleted */
export function invoiceEvents(invoices: InvoiceService) {
  return defineFamily({
    pick: (event) => (event.resource === 'invoice' ? [event.invoice] : undefined),
    keyOf: ({ processorInvoiceId }) => processorInvoiceId,
    apply: (tx, facts) => invoices.apply(tx, facts, 'events'),
    refresh: (key) => invoices.refresh(key),
  });
}
