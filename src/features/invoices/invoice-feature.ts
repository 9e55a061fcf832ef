import type { Feature } from '#engine/feature.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { invoiceEvents, invoiceKind } from './invoice-kind.ts';
import type { InvoiceMirror } from './invoice-mirror.ts';
import { registerInvoiceRoutes } from './invoice-routes.ts';
import type { InvoiceService } from './invoice-service.ts';

interface Context {
  readonly mirrors: { readonly invoices: InvoiceMirror };
  readonly invoices: InvoiceService;
  readonly customers: CustomerService;
}

export const invoiceFeature: Feature<Context> = {
  tags: [{ name: 'invoices', description: 'Bills for subscriptions. Read-only.' }],
  routes: (app, { invoices, customers }) => registerInvoiceRoutes(app, invoices, customers),
  events: [invoiceEvents],
  kinds: () => [invoiceKind],
  subjects: ({ mirrors }) => ({ invoice: mirrors.invoices }),
};
