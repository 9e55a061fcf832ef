import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { CustomerIdFilter, DateTime, Id, nullable } from '../http/docs/api-schema.ts';
import { component } from '../http/docs/components.ts';
import { registerReadRoutes } from '../http/read-routes.ts';
import { invoiceStatuses } from '../model/invoice.ts';
import type { InvoiceService } from './invoice-service.ts';
import { invoiceView } from './invoice-view.ts';

const InvoiceSchema = component('Invoice', {
  id: Id,
  processorInvoiceId: Type.String(),
  customerId: nullable(Id),
  processorCustomerId: nullable(Type.String()),
  processorSubscriptionId: nullable(Type.String()),
  subscriptionId: nullable(Id),
  number: nullable(Type.String({ description: 'Null until the invoice is finalized.' })),
  amountDue: Type.Integer({ description: 'In the smallest unit of the currency.' }),
  amountPaid: Type.Integer(),
  amountRemaining: Type.Integer(),
  currency: Type.String(),
  status: Type.Enum([...invoiceStatuses]),
  attemptCount: Type.Integer({
    description: 'The number of attempts of the processor to collect the invoice.',
  }),
  nextPaymentAttemptAt: nullable({
    ...DateTime,
    description: 'Null if the processor makes no further attempt by itself.',
  }),
  periodStart: nullable(DateTime),
  periodEnd: nullable(DateTime),
  hostedInvoiceUrl: nullable(Type.String()),
  invoicePdfUrl: nullable(Type.String({ description: 'Null until the invoice is finalized.' })),
  createdAt: DateTime,
  updatedAt: DateTime,
});

const example: Static<typeof InvoiceSchema> = {
  id: '0199c1f4-8e21-7f35-8d6a-1c2b3a4f5e6d',
  processorInvoiceId: 'in_1MtHbELkdIwHu7ixl4OzzPMv',
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  processorCustomerId: 'cus_Nffr5zNcVKZ0aB',
  processorSubscriptionId: 'sub_1MowQVLkdIwHu7ixeRlqHVzs',
  subscriptionId: '0199c1f3-11d2-7b64-9e0f-7a6b5c4d3e2f',
  number: 'A1B2C3D4-0001',
  amountDue: 1_900,
  amountPaid: 1_900,
  amountRemaining: 0,
  currency: 'eur',
  status: 'paid',
  attemptCount: 1,
  nextPaymentAttemptAt: null,
  periodStart: '2026-11-15T09:30:00.000Z',
  periodEnd: '2026-11-15T09:30:00.000Z',
  hostedInvoiceUrl: 'https://invoice.example.com/i/acct_1/test_1',
  invoicePdfUrl: 'https://invoice.example.com/i/acct_1/test_1/pdf',
  createdAt: '2026-11-15T09:30:00.000Z',
  updatedAt: '2026-11-15T09:31:00.000Z',
};

/** Read-only, because only the processor creates and changes invoices. */
export function registerInvoiceRoutes(app: FastifyInstance, invoices: InvoiceService): void {
  registerReadRoutes(app, {
    noun: 'invoice',
    plural: 'invoices',
    schema: InvoiceSchema,
    example,
    filters: {
      customerId: CustomerIdFilter,
      status: Type.Optional(Type.Enum([...invoiceStatuses])),
      subscriptionId: Type.Optional(Id),
    },
    list: (request) => invoices.list(request),
    read: (id) => invoices.read(id),
    toResponse: invoiceView,
  });
}
