import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  answer,
  CustomerPageQuery,
  DateTime,
  Id,
  IdParams,
  nullable,
  pageOf,
  problems,
} from '../http/api-schema.ts';
import { typed } from '../http/typed-app.ts';
import { type Invoice, invoiceStatuses } from './invoice.ts';
import type { InvoiceService } from './invoice-service.ts';

const InvoiceSchema = Type.Object({
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

const tags = ['invoices'];
const path = '/api/v1/invoices';

export function registerInvoiceRoutes(fastify: FastifyInstance, invoices: InvoiceService): void {
  const app = typed(fastify);
  app.get(
    path,
    {
      schema: {
        tags,
        summary: 'List invoices, newest first',
        querystring: CustomerPageQuery,
        response: {
          200: answer('One page.', pageOf(InvoiceSchema), { data: [example], total: 1, page: 1, limit: 20 }),
          ...problems(),
        },
      },
    },
    async (request) => {
      const { data, ...page } = await invoices.list(request.query, request.query.customerId);
      return { ...page, data: data.map(toAnswer) };
    },
  );
  app.get(
    `${path}/:id`,
    {
      schema: {
        tags,
        summary: 'Read an invoice',
        params: IdParams,
        response: { 200: answer('The invoice.', InvoiceSchema, example), ...problems('not_found') },
      },
    },
    async (request) => toAnswer(await invoices.read(request.params.id)),
  );
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
