import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  answer,
  body,
  bodyFailures,
  Currency,
  CustomerIdFilter,
  DateTime,
  Id,
  IdempotencyKey,
  IdParams,
  keyFailures,
  nullable,
  problems,
  processorFailures,
} from '../http/docs/api-schema.ts';
import { answerCreated, idempotencyKeyOf } from '../http/input/idempotency-key.ts';
import { registerReadRoutes } from '../http/read-routes.ts';
import { typed } from '../http/typed-app.ts';
import { type Payment, paymentStatuses } from './payment.ts';
import type { PaymentService } from './payment-service.ts';

export const PaymentSchema = Type.Object({
  id: Id,
  processorPaymentIntentId: Type.String(),
  customerId: Id,
  amount: Type.Integer({ description: 'In the smallest unit of the currency.' }),
  currency: Type.String(),
  status: Type.Enum([...paymentStatuses]),
  createdAt: DateTime,
  updatedAt: DateTime,
});

const CreateBody = Type.Object(
  {
    customerId: Id,
    amount: Type.Integer({
      minimum: 1,
      maximum: 999_999_999_999,
      description: 'In the smallest unit of the currency.',
    }),
    currency: Currency,
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  { additionalProperties: false },
);

const CreatedSchema = Type.Object({
  payment: PaymentSchema,
  clientSecret: nullable(
    Type.String({
      description:
        'The frontend uses it to confirm the payment with the processor. Till never stores it: ' +
        'repeat the request with the same idempotency key to get it again.',
    }),
  ),
});

export const paymentExample: Static<typeof PaymentSchema> = {
  id: '0199c1f1-02ab-7e31-b1c4-5d8e9f0a1b2c',
  processorPaymentIntentId: 'pi_3MtwBwLkdIwHu7ix28a3tqPa',
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  amount: 2_000,
  currency: 'eur',
  status: 'requires_payment_method',
  createdAt: '2026-11-15T09:30:00.000Z',
  updatedAt: '2026-11-15T09:30:00.000Z',
};

const tags = ['payments'];
const path = '/api/v1/payments';

export function registerPaymentRoutes(fastify: FastifyInstance, payments: PaymentService): void {
  registerWrites(fastify, payments);
  registerReadRoutes(fastify, {
    noun: 'payment',
    plural: 'payments',
    schema: PaymentSchema,
    example: paymentExample,
    filters: { customerId: CustomerIdFilter, status: Type.Optional(Type.Enum([...paymentStatuses])) },
    list: (request) => payments.list(request),
    read: (id) => payments.read(id),
    toAnswer: paymentAnswer,
  });
}

function registerWrites(fastify: FastifyInstance, payments: PaymentService): void {
  const app = typed(fastify);
  app.post(
    path,
    {
      schema: {
        tags,
        summary: 'Create a payment',
        description: 'Pass `clientSecret` to the frontend, which confirms the payment with the processor.',
        body: body(CreateBody, { customerId: paymentExample.customerId, amount: 2_000, currency: 'eur' }),
        response: {
          201: answer('The new payment and its client secret.', CreatedSchema, {
            payment: paymentExample,
            clientSecret: 'pi_3MtwBwLkdIwHu7ix28a3tqPa_secret_YrKJUKribcBjcG8HVhfZluoGH',
          }),
          ...problems('not_found', ...bodyFailures, ...keyFailures, ...processorFailures),
        },
      },
    },
    async (request, reply) => {
      const { idempotencyKey, customerId, amount, currency } = request.body;
      const key = idempotencyKeyOf(request, idempotencyKey);
      // Requests that differ only in the case of the currency are the same request.
      const values = { customerId, amount, currency: currency.toLowerCase() };
      const { result, replayed } = await payments.create(values, key);
      const { payment, clientSecret } = result;
      return answerCreated(reply, replayed).send({ payment: paymentAnswer(payment), clientSecret });
    },
  );
  app.post(
    `${path}/:id/cancel`,
    {
      schema: {
        tags,
        summary: 'Cancel a payment that has not succeeded',
        params: IdParams,
        response: {
          200: answer('The canceled payment.', PaymentSchema, { ...paymentExample, status: 'canceled' }),
          ...problems('not_found', 'payment_not_cancelable', ...bodyFailures, ...processorFailures),
        },
      },
    },
    async (request) => paymentAnswer(await payments.cancel(request.params.id)),
  );
}

export function paymentAnswer(payment: Payment): Static<typeof PaymentSchema> {
  return {
    id: payment.id,
    processorPaymentIntentId: payment.processorPaymentIntentId,
    customerId: payment.customerId,
    amount: payment.amount,
    currency: payment.currency,
    status: payment.status,
    createdAt: payment.createdAt.toISOString(),
    updatedAt: payment.updatedAt.toISOString(),
  };
}
