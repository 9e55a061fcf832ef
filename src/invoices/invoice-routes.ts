import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import { CustomerIdFilter, DateTime, Id, nullable } from '../http/docs/api-schema.ts';
import { component } from '../http/docs/components.ts';
import { registerReadRoutes } from '../http/read-routes.ts';
import { type Invoice, invoiceStatuses } from './invoice.ts';
import type { InvoiceService } from './invoice-service.ts';

const InvoiceSchema = component('Invoice', {
  id: Id,
  processorInvoiceId: Type.String(),
  customerId: nullable(Id),
  processorCustomerId: nullable(Type.String()),
  processorSubscriptionId: nullable(Type.String()),
  amountDue: Type.Integer({ description: 'In the smallest unit of the currency.' }),
  amountPaid: Type.Integer(),
  currency: Type.String(),
  status: Type.Enum([...invoiceStatuses]),
  hostedInvoiceUrl: nullable(Type.String()),
  createdAt: DateTime,
  updatedAt: DateTime,
});

const example: Static<typeof InvoiceSchema> = {
  id: '0199c1f4-8e21-7f35-8d6a-1c2b3a4f5e6d',
  processorInvoiceId: 'in_1MtHbELkdIwHu7ixl4OzzPMv',
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  processorCustomerId: 'cus_Nffr5zNcVKZ0aB',
  processorSubscriptionId: 'sub_1MowQVLkdIwHu7ixeRlqHVzs',
  amountDue: 1_900,
  amountPaid: 1_900,
  currency: 'eur',
  status: 'paid',
  hostedInvoiceUrl: 'https://invoice.example.com/i/acct_1/test_1',
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
    toAnswer,
  });
}

function toAnswer(invoice: Invoice): Static<typeof InvoiceSchema> {
  return {
    id: invoice.id,
    processorInvoiceId: invoice.processorInvoiceId,
    customerId: invoice.customerId,
    processorCustomerId: invoice.processorCustomerId,
    processorSubscriptionId: invoice.processorSubscriptionId,
    amountDue: invoice.amountDue,
    amountPaid: invoice.amountPaid,
    currency: invoice.currency,
    status: invoice.status,
    hostedInvoiceUrl: invoice.hostedInvoiceUrl,
    createdAt: invoice.createdAt.toISOString(),
    updatedAt: invoice.updatedAt.toISOString(),
  };
}
