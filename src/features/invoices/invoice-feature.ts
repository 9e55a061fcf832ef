import type { Invoice } from '#core/model/invoice.ts';
import type { Feature } from '#engine/feature.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import { type Found, nothing } from '#engine/search/search.ts';
import { byAmounts, byFields, byIds, caseless, type SearchSource } from '#engine/search/search-source.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { adoptingInvoices, type ImportContext, invoiceStage } from './invoice-import.ts';
import { invoiceEvents, invoiceKind } from './invoice-kind.ts';
import { registerInvoiceRoutes } from './invoice-routes.ts';
import type { InvoiceService } from './invoice-service.ts';
import { type InvoiceStore, invoiceList } from './invoice-store.ts';

interface Context extends ImportContext {
  readonly stores: { readonly invoices: InvoiceStore };
  readonly invoices: InvoiceService;
  readonly customers: CustomerService;
}

export const invoiceFeature: Feature<Context> = {
  tags: [{ name: 'invoices', description: 'Bills for subscriptions. Read-only.' }],
  routes: (app, { invoices, customers }) => registerInvoiceRoutes(app, invoices, customers),
  events: [invoiceEvents],
  kinds: () => [invoiceKind],
  subjects: ({ mirrors }) => ({ invoice: mirrors.invoices }),
  search: { invoice: ({ stores }) => invoiceSources(stores.invoices) },
  lists: {
    invoice: {
      after: ['subscription'],
      open: ({ processor, mirrors }) => mirroredList(mirrors.invoices, processor.invoices),
      count: async ({ invoices }, customerId) =>
        (await invoices.list({ limit: 1, filters: { customerId } })).total,
      isOfCustomer: true,
    },
  },
  imports: { invoice: { after: ['subscription'], open: invoiceStage } },
  adopting: adoptingInvoices,
  countedLists: [invoiceList],
};

function invoiceSources(store: InvoiceStore): readonly SearchSource[] {
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
