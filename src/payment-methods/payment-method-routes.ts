import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  answer,
  body,
  bodyFailures,
  DateTime,
  Id,
  IdempotencyKey,
  IdParams,
  keyFailures,
  nullable,
  problems,
  processorFailures,
} from '../http/docs/api-schema.ts';
import { component } from '../http/docs/components.ts';
import { answerCreated, idempotencyKeyOf } from '../http/input/idempotency-key.ts';
import { emptyIfAbsent, optionalBody } from '../http/input/validator.ts';
import { typed } from '../http/typed-app.ts';
import type { PaymentMethodService, SavedPaymentMethod } from './payment-method-service.ts';

const PaymentMethodSchema = component('PaymentMethod', {
  id: Type.String({ description: "The processor's id." }),
  type: Type.String({ description: "`card`, or another of the processor's types." }),
  brand: nullable(Type.String({ description: 'For example `visa`. null if the type has no brand.' })),
  last4: nullable(Type.String({ description: 'The last four digits. null if the type has none.' })),
  expMonth: nullable(Type.Integer({ description: 'null if it does not expire.' })),
  expYear: nullable(Type.Integer({ description: 'null if it does not expire.' })),
  isDefault: Type.Boolean({ description: "The customer's default." }),
  createdAt: DateTime,
});

const PaymentMethodId = Type.String({
  minLength: 1,
  maxLength: 255,
  description: "The processor's id.",
  examples: ['pm_1Q0PsIJvEtkwdCNYMSaVuRz6'],
});

const CreateBody = Type.Object(
  { idempotencyKey: Type.Optional(IdempotencyKey) },
  { title: 'NewPaymentMethod', additionalProperties: false, [optionalBody]: true },
);

const CreatedSchema = component('CreatedPaymentMethod', {
  clientSecret: nullable(
    Type.String({
      description:
        'The frontend uses it to confirm the payment method with the processor. Till never stores it: ' +
        'repeat the request with the same idempotency key to get it again. null once nothing is left to confirm.',
    }),
  ),
});

const DefaultBody = Type.Object(
  { paymentMethodId: PaymentMethodId },
  { title: 'DefaultPaymentMethod', additionalProperties: false },
);

const example: Static<typeof PaymentMethodSchema> = {
  id: 'pm_1Q0PsIJvEtkwdCNYMSaVuRz6',
  type: 'card',
  brand: 'visa',
  last4: '4242',
  expMonth: 12,
  expYear: 2034,
  isDefault: true,
  createdAt: '2026-11-15T09:30:00.000Z',
};

const tags = ['payment methods'];
const path = '/api/v1/customers/:id/payment-methods';

export function registerPaymentMethodRoutes(fastify: FastifyInstance, methods: PaymentMethodService): void {
  registerSaving(fastify, methods);
  registerSaved(fastify, methods);
}

function registerSaving(fastify: FastifyInstance, methods: PaymentMethodService): void {
  typed(fastify).post(
    path,
    {
      config: { scope: 'write' },
      schema: {
        tags,
        operationId: 'createPaymentMethod',
        summary: 'Save a payment method without a payment',
        description:
          'Pass `clientSecret` to the frontend, which confirms a card with the processor, with 3-D Secure ' +
          'if the bank requires it. The processor then saves the card for later charges.',
        params: IdParams,
        body: body(CreateBody, {}),
        response: {
          201: answer('The secret with which the frontend saves the payment method.', CreatedSchema, {
            clientSecret: 'seti_1Mm8s8LkdIwHu7ix0OXBfTRG_secret_NXDICkPqPeiBTAFqWmkbff09lRmSVXe',
          }),
          ...problems('not_found', ...bodyFailures, ...keyFailures, ...processorFailures),
        },
      },
      preValidation: emptyIfAbsent,
    },
    async (request, reply) => {
      const key = idempotencyKeyOf(request, request.body.idempotencyKey);
      const { result, replayed } = await methods.create({ customerId: request.params.id }, key);
      return answerCreated(reply, replayed).send({ clientSecret: result.clientSecret });
    },
  );
}

function registerSaved(fastify: FastifyInstance, methods: PaymentMethodService): void {
  const app = typed(fastify);
  app.get(
    path,
    {
      config: { scope: 'read' },
      schema: {
        tags,
        operationId: 'listPaymentMethods',
        summary: 'List the saved payment methods of a customer, newest first',
        params: IdParams,
        response: {
          200: answer('All saved payment methods.', Type.Array(PaymentMethodSchema), [example]),
          ...problems('not_found', ...processorFailures),
        },
      },
    },
    async (request) => (await methods.list(request.params.id)).map(toAnswer),
  );
  app.put(
    '/api/v1/customers/:id/default-payment-method',
    {
      config: { scope: 'write' },
      schema: {
        tags,
        operationId: 'setDefaultPaymentMethod',
        summary: 'Set the default payment method',
        description:
          'It becomes the default of the customer and of each of their subscriptions that is `active`, `trialing`, ' +
          '`past_due` or `unpaid`, also after a change that is planned for the end of the period. If the request fails halfway, repeat it: it then does the rest.',
        params: IdParams,
        body: body(DefaultBody, { paymentMethodId: example.id }),
        response: {
          200: answer('The new default.', PaymentMethodSchema, example),
          ...problems('not_found', 'subscription_busy', ...bodyFailures, ...processorFailures),
        },
      },
    },
    async (request) => toAnswer(await methods.setDefault(request.params.id, request.body.paymentMethodId)),
  );
  app.delete(
    `${path}/:paymentMethodId`,
    {
      config: { scope: 'write' },
      schema: {
        tags,
        operationId: 'deletePaymentMethod',
        summary: 'Remove a saved payment method',
        description:
          'The payment method that a subscription charges, now or after a planned change, cannot be removed.',
        params: Type.Object({ id: Id, paymentMethodId: PaymentMethodId }),
        response: {
          204: Type.Null({ description: 'The payment method is removed.' }),
          ...problems('not_found', 'payment_method_in_use', ...bodyFailures, ...processorFailures),
        },
      },
    },
    async (request, reply) => {
      await methods.remove(request.params.id, request.params.paymentMethodId);
      return reply.code(204).send(null);
    },
  );
}

/** Only the fields that the contract names. */
function toAnswer(method: SavedPaymentMethod): Static<typeof PaymentMethodSchema> {
  return {
    id: method.id,
    type: method.type,
    brand: method.brand,
    last4: method.last4,
    expMonth: method.expMonth,
    expYear: method.expYear,
    isDefault: method.isDefault,
    createdAt: method.createdAt.toISOString(),
  };
}
