import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { invoiceStatuses } from '#core/model/invoice.ts';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import {
  CursorQuery,
  CustomerIdFilter,
  DateTime,
  Id,
  NextCursor,
  nullable,
  response,
} from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { registerReadRoutes } from '#http/read-routes.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { InvoiceSchema, invoiceExample, invoiceView } from './invoice-fields.ts';
import type { InvoiceService, PlannedLine } from './invoice-service.ts';

const LineSchema = component('InvoiceLine', {
  description: nullable(Type.String()),
  planId: nullable({ ...Id, description: 'Null if the price of the line is not a plan.' }),
  quantity: nullable(Type.Integer({ description: 'Null if usage decides what is billed.' })),
  amount: Type.Integer({ description: 'In the smallest unit of the currency. Negative for a credit.' }),
  currency: Type.String(),
  periodStart: DateTime,
  periodEnd: DateTime,
  proration: Type.Boolean({ description: 'Whether the line credits or charges a part of a period.' }),
});

const LinesSchema = component('InvoiceLineList', {
  data: Type.Array(LineSchema),
  nextCursor: NextCursor,
});

const lineExample: Static<typeof LineSchema> = {
  description: '1 × Pro (at €19.00 / month)',
  planId: '0199c1f2-7b10-7d4e-8a11-9c8b7a6d5e4f',
  quantity: 1,
  amount: 1_900,
  currency: 'eur',
  periodStart: '2026-11-15T09:30:00.000Z',
  periodEnd: '2026-12-15T09:30:00.000Z',
  proration: false,
};

/** Read-only, because only the processor creates and changes invoices. */
export function registerInvoiceRoutes(
  app: FastifyInstance,
  invoices: InvoiceService,
  customers: CustomerService,
): void {
  registerReadRoutes(app, {
    noun: 'invoice',
    plural: 'invoices',
    schema: InvoiceSchema,
    example: invoiceExample,
    filters: {
      customerId: CustomerIdFilter,
      status: Type.Optional(Type.Enum([...invoiceStatuses])),
      subscriptionId: Type.Optional(Id),
      number: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 255,
          pattern: '^[^\\p{C}]+$',
          description: 'Return only the invoice with this number, ignoring case.',
          examples: ['A1B2C3D4-0001'],
        }),
      ),
    },
    amounts: ['amountDue'],
    customers: { customerIdOf: ({ customerId }) => customerId, find: (ids) => customers.summaries(ids) },
    list: (request) => invoices.list(request),
    read: (id) => invoices.read(id),
    toResponse: invoiceView,
  });
  new ApiRoutes(app, 'invoices').add('GET /api/v1/invoices/:id/lines', {
    scope: 'read',
    operationId: 'listInvoiceLines',
    summary: 'List what an invoice bills',
    description: 'Till does not store the lines: it reads them from the processor.',
    query: CursorQuery,
    response: {
      200: response('One page of lines.', LinesSchema, { data: [lineExample], nextCursor: null }),
    },
    callsProcessor: true,
    run: async ({ params, query }) => {
      const { data, nextCursor } = await invoices.listLines(params.id, query);
      return { data: data.map(lineView), nextCursor };
    },
  });
}

function lineView(line: PlannedLine): Static<typeof LineSchema> {
  const { processorPriceId: _, periodStart, periodEnd, ...shown } = line;
  return { ...shown, periodStart: periodStart.toISOString(), periodEnd: periodEnd.toISOString() };
}
