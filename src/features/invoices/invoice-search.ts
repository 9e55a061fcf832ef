import type { Invoice } from '#core/model/invoice.ts';
import { type Found, nothing } from '#engine/search/search.ts';
import { byAmounts, byFields, byIds, caseless, type SearchSource } from '#engine/search/search-source.ts';
import type { InvoiceStore } from './invoice-store.ts';

export function invoiceSources(store: InvoiceStore): readonly SearchSource[] {
  return [
    byIds(store, showInvoice),
    byFields((...by) => store.searchNumbers(...by), showInvoice, ['number'], caseless),
    byAmounts((...by) => store.findByAmounts(...by), showInvoice),
  ];
}

function showInvoice(row: Invoice): Found {
  const { id, customerId, status, amountDue, currency, createdAt } = row;
  const label = row.number ?? row.processorInvoiceId;
  const shown = { objectType: 'invoice', objectId: id, customerId, label };
  return { ...nothing, ...shown, status, amount: amountDue, currency, createdAt };
}
