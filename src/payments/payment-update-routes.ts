import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  answer,
  body,
  bodyFailures,
  ChangedMetadata,
  ClientSecretSchema,
  clientSecretExample,
  IdempotencyKey,
  IdParams,
  keyFailures,
  problems,
  processorFailures,
} from '../http/docs/api-schema.ts';
import { idempotencyKeyOf, markReplay } from '../http/input/idempotency-key.ts';
import { typed } from '../http/typed-app.ts';
import { PaymentSchema, paymentExample } from './payment-routes.ts';
import type { PaymentService } from './payment-service.ts';
import { paymentView } from './payment-view.ts';

const UpdateBody = Type.Object(
  { metadata: Type.Optional(ChangedMetadata), idempotencyKey: Type.Optional(IdempotencyKey) },
  {
    title: 'PaymentChange',
    additionalProperties: false,
    description: 'Fields that you leave out keep their value.',
  },
);

const tags = ['payments'];
const path = '/api/v1/payments/:id';

export function registerPaymentUpdateRoutes(fastify: FastifyInstance, payments: PaymentService): void {
  const app = typed(fastify);
  app.patch(
    path,
    {
      config: { scope: 'write' },
      schema: {
        tags,
        operationId: 'updatePayment',
        summary: 'Update a payment',
        description: 'You can change the metadata of a payment in every status.',
        params: IdParams,
        body: body(UpdateBody, { metadata: { invoiceNumber: '2026-0815' } }),
        response: {
          200: answer('The updated payment.', PaymentSchema, {
            ...paymentExample,
            metadata: { ...paymentExample.metadata, invoiceNumber: '2026-0815' },
          }),
          ...problems('not_found', 'customer_deleted', ...bodyFailures, ...keyFailures, ...processorFailures),
        },
      },
    },
    async (request, reply) => {
      const { idempotencyKey, ...change } = request.body;
      const key = idempotencyKeyOf(request, idempotencyKey);
      const { result, replayed } = await payments.update(request.params.id, change, key);
      return markReplay(reply, replayed).send(paymentView(result));
    },
  );
  app.post(
    `${path}/client-secret`,
    {
      config: { scope: 'write' },
      schema: {
        tags,
        operationId: 'getPaymentClientSecret',
        summary: 'Get the client secret of a payment again',
        description: 'Reads it from the processor, because Till never stores it. This changes nothing.',
        params: IdParams,
        response: {
          200: answer('The client secret.', ClientSecretSchema, { clientSecret: clientSecretExample }),
          ...problems('not_found', ...bodyFailures, ...processorFailures),
        },
      },
    },
    async (request) => ({ clientSecret: await payments.readClientSecret(request.params.id) }),
  );
}
