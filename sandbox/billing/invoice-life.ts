import type { Store } from '../state/store.ts';
import type { Invoice } from '../wire/objects.ts';
import { collectInvoice, invoicePaid } from './collect.ts';
import { finalizeInvoice, sendInvoice, voidInvoice } from './invoice.ts';
import { resumptionExpiresAt } from './pause.ts';

/** The times at which the invoice needs work, given its current state. */
export function invoiceDueTimes(invoice: Invoice, _doneUntil: number, store: Store): number[] {
  const expiresAt = resumptionExpiresAt(store, invoice);
  if (expiresAt !== null) return [expiresAt];
  if (invoice.auto_advance !== true) return [];
  const at =
    invoice.status === 'draft'
      ? invoice.automatically_finalizes_at
      : invoice.status === 'open'
        ? invoice.next_payment_attempt
        : null;
  return at === null ? [] : [at];
}

/** Finalizes a draft an hour after its creation and collects or sends it. Later calls are the retries. */
export function invoiceFallsDue(store: Store, invoice: Invoice): void {
  if (resumptionExpiresAt(store, invoice) !== null) {
    voidInvoice(store, invoice);
    return;
  }
  const open = invoice.status === 'draft' ? finalizeInvoice(store, invoice) : invoice;
  if (open.amount_due === 0) invoicePaid(store, open);
  else if (open.collection_method === 'send_invoice') sendInvoice(store, open);
  else collectInvoice(store, open, { offSession: true });
}
