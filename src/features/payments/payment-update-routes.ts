import type { FastifyInstance } from 'fastify';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import {
  body,
  ChangedMetadata,
  ClientSecretSchema,
  clientSecretExample,
  IdempotencyKey,
  response,
} from '#http/docs/api-schema.ts';
import { PaymentSchema, paymentExample, paymentView } from './payment-fields.ts';
import type { PaymentService } from './payment-service.ts';

const UpdateBody = Type.Object(
  { metadata: Type.Optional(ChangedMetadata), idempotencyKey: Type.Optional(IdempotencyKey) },
  {
    title: 'PaymentChange',
    additionalProperties: false,
    description: 'Fields that you leave out keep their value.',
  },
);

const path = '/api/v1/payments/:id';

export function registerPaymentUpdateRoutes(app: FastifyInstance, payments: PaymentService): void {
  const routes = new ApiRoutes(app, 'payments');
  routes.addKeyed(`PATCH ${path}`, {
    scope: 'write',
    operationId: 'updatePayment',
    summary: 'Update a payment',
    description: 'You can change the metadata of a payment in every status.',
    body: body(UpdateBody, { metadata: { invoiceNumber: '2026-0815' } }),
    response: {
      200: response('The updated payment.', PaymentSchema, {
        ...paymentExample,
        metadata: { ...paymentExample.metadata, invoiceNumber: '2026-0815' },
      }),
    },
    failures: ['customer_deleted'],
    callsProcessor: true,
    run: ({ params, body: { idempotencyKey: _, ...change } }, key) => payments.update(params.id, change, key),
    toResponse: paymentView,
  });
  routes.add(`POST ${path}/client-secret`, {
    scope: 'write',
    operationId: 'getPaymentClientSecret',
    summary: 'Get the client secret of a payment again',
    description: 'Reads it from the processor, because Till never stores it. This changes nothing.',
    response: {
      200: response('The client secret.', ClientSecretSchema, { clientSecret: clientSecretExample }),
    },
    callsProcessor: true,
    run: async ({ params }) => ({ clientSecret: await payments.readClientSecret(params.id) }),
  });
}
