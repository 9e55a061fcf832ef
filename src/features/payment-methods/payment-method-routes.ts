import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { body, DateTime, Id, IdempotencyKey, nullable, response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { optionalBody } from '#http/input/validator.ts';
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

const path = '/api/v1/customers/:id/payment-methods';

export function registerPaymentMethodRoutes(app: FastifyInstance, methods: PaymentMethodService): void {
  const routes = new ApiRoutes(app, 'payment methods');
  routes.addKeyed(`POST ${path}`, {
    scope: 'write',
    operationId: 'createPaymentMethod',
    summary: 'Save a payment method without a payment',
    description:
      'Pass `clientSecret` to the frontend, which confirms a card with the processor, with 3-D Secure ' +
      'if the bank requires it. The processor then saves the card for later charges.',
    body: body(CreateBody, {}),
    response: {
      201: response('The secret with which the frontend saves the payment method.', CreatedSchema, {
        clientSecret: 'seti_1Mm8s8LkdIwHu7ix0OXBfTRG_secret_NXDICkPqPeiBTAFqWmkbff09lRmSVXe',
      }),
    },
    callsProcessor: true,
    run: ({ params }, key) => methods.create({ customerId: params.id }, key),
    toResponse: ({ clientSecret }) => ({ clientSecret }),
  });
  routes.add(`GET ${path}`, {
    scope: 'read',
    operationId: 'listPaymentMethods',
    summary: 'List the saved payment methods of a customer, newest first',
    response: {
      200: response('All saved payment methods.', Type.Array(PaymentMethodSchema), [example]),
    },
    callsProcessor: true,
    run: async ({ params }) => (await methods.list(params.id)).map(toResponse),
  });
  routes.add('PUT /api/v1/customers/:id/default-payment-method', {
    scope: 'write',
    operationId: 'setDefaultPaymentMethod',
    summary: 'Set the default payment method',
    description:
      'It becomes the default of the customer and of each of their subscriptions that is `active`, `trialing`, ' +
      '`past_due` or `unpaid`, and stays so after a change that is planned for the end of the period. ' +
      'If the request fails halfway, repeat it to complete the rest.',
    body: body(DefaultBody, { paymentMethodId: example.id }),
    response: { 200: response('The new default.', PaymentMethodSchema, example) },
    failures: ['subscription_busy', 'subscription_limit_reached'],
    callsProcessor: true,
    run: async ({ params, body }) => toResponse(await methods.setDefault(params.id, body.paymentMethodId)),
  });
  routes.add(`DELETE ${path}/:paymentMethodId`, {
    scope: 'write',
    operationId: 'deletePaymentMethod',
    summary: 'Remove a saved payment method',
    description:
      'The payment method that a subscription charges, now or after a planned change, cannot be removed.',
    params: Type.Object({ id: Id, paymentMethodId: PaymentMethodId }),
    response: { 204: Type.Null({ description: 'The payment method is removed.' }) },
    failures: ['payment_method_in_use'],
    callsProcessor: true,
    run: async ({ params }) => {
      await methods.remove(params.id, params.paymentMethodId);
      return null;
    },
  });
}

/** Only the fields that the API documents. */
function toResponse(method: SavedPaymentMethod): Static<typeof PaymentMethodSchema> {
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
