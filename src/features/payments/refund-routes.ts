import type { FastifyInstance } from 'fastify';
import { listedKinds, type Refund, refundReasons, refundStatuses } from '#core/model/refund.ts';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { amountOf, body, CurrencyFilter, IdempotencyKey, response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { optionalBody } from '#http/input/validator.ts';
import { registerListRoute } from '#http/read-routes.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { PaymentSchema, paymentExample, paymentView } from './payment-fields.ts';
import { RefundSchema, refundExample, refundView } from './refund-fields.ts';
import type { RefundService } from './refund-service.ts';

const CreateBody = Type.Object(
  {
    amount: Type.Optional(amountOf('Default: the remaining amount.')),
    reason: Type.Optional(Type.Enum([...refundReasons])),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  // The body is optional: without one, the full remaining amount is refunded.
  { title: 'NewRefund', additionalProperties: false, [optionalBody]: true },
);

const RefundedSchema = component('RefundedPayment', { ...PaymentSchema.properties, refund: RefundSchema });

export function registerRefundRoutes(
  app: FastifyInstance,
  refunds: RefundService,
  customers: CustomerService,
): void {
  const included = {
    customerIdOf: ({ customerId }: Refund) => customerId,
    find: (ids: readonly string[]) => customers.summaries(ids),
  };
  new ApiRoutes(app, 'payments').addKeyed('POST /api/v1/payments/:id/refund', {
    scope: 'refund',
    operationId: 'refundPayment',
    audited: 'everyone',
    summary: 'Refund a payment fully or partially',
    description: 'The payment becomes `refunded` once the whole amount received is refunded.',
    body: body(CreateBody, { amount: 2_000, reason: 'requested_by_customer' }),
    response: {
      200: response('The payment and its refund.', RefundedSchema, {
        ...paymentExample,
        status: 'refunded',
        refund: refundExample,
      }),
    },
    failures: ['payment_not_refundable', 'refund_exceeds_remaining', 'refund_in_flight'],
    callsProcessor: true,
    run: ({ params, body: { amount = null, reason = null } }, key) =>
      refunds.create({ paymentId: params.id, amount, reason }, key),
    toResponse: ({ payment, refund }) => ({ ...paymentView(payment), refund: refundView(refund) }),
  });
  registerListRoute(app, {
    path: '/api/v1/refunds',
    tag: 'payments',
    plural: 'refunds',
    operationId: 'listAllRefunds',
    summary: 'List the refunds of all payments, newest first',
    schema: RefundSchema,
    example: refundExample,
    filters: {
      kind: kindFilter('refund'),
      status: Type.Optional(Type.Enum([...refundStatuses])),
      currency: CurrencyFilter,
    },
    customers: included,
    list: (request) => refunds.listAll(request),
    toResponse: refundView,
  });
  registerListRoute(app, {
    path: '/api/v1/payments/:id/refunds',
    tag: 'payments',
    plural: 'refunds',
    operationId: 'listRefunds',
    summary: 'List the refunds of a payment and what it released, newest first',
    schema: RefundSchema,
    example: refundExample,
    filters: { kind: kindFilter('all') },
    customers: included,
    list: (request, paymentId) => refunds.list(paymentId, request),
    toResponse: refundView,
  });
}

function kindFilter(usual: (typeof listedKinds)[number]) {
  return Type.Optional(
    Type.Enum([...listedKinds], {
      description: `Default: \`${usual}\`. \`release\`: amounts that were authorised and not captured. \`all\`: both.`,
    }),
  );
}
