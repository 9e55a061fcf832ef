import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  answer,
  body,
  bodyFailures,
  IdempotencyKey,
  IdParams,
  keyFailures,
  problems,
  processorFailures,
} from '../http/docs/api-schema.ts';
import { idempotencyKeyOf, markReplay } from '../http/input/idempotency-key.ts';
import { emptyIfAbsent, optionalBody } from '../http/input/validator.ts';
import { typed } from '../http/typed-app.ts';
import type { EntitlementService } from './entitlement-service.ts';
import { activeExample, SubscriptionSchema } from './subscription-schema.ts';
import type { SubscriptionService } from './subscription-service.ts';
import { subscriptionView } from './subscription-view.ts';

const PayBody = Type.Object(
  {
    paymentMethodId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        pattern: '^[!-~]+$',
        description:
          "The processor's id of a payment method of this customer. Default: that of the subscription, else that of " +
          'the customer.',
      }),
    ),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  // The body is optional: without one, the default payment method pays.
  { title: 'SubscriptionPayment', additionalProperties: false, [optionalBody]: true },
);

export function registerSubscriptionPaymentRoutes(
  fastify: FastifyInstance,
  subscriptions: SubscriptionService,
  entitlements: EntitlementService,
): void {
  typed(fastify).post(
    '/api/v1/subscriptions/:id/pay',
    {
      config: { scope: 'write' },
      schema: {
        tags: ['subscriptions'],
        operationId: 'paySubscription',
        summary: 'Pay the open invoice of a subscription',
        description:
          'Charges the newest open invoice at once, except that of a pending change. A subscription that is paused at ' +
          'the processor is resumed. The response shows the state after the payment, without waiting for a webhook. ' +
          'A declined payment is the lasting result of its idempotency key: use a new key to try again. After ' +
          '`authentication_required`, get the client secret and let the customer confirm in the frontend.',
        params: IdParams,
        body: body(PayBody, { paymentMethodId: 'pm_1MtwBwLkdIwHu7ixn8Nf4Ky1' }),
        response: {
          200: answer('The subscription after the payment.', SubscriptionSchema, activeExample),
          ...problems(
            'payment_declined',
            'authentication_required',
            'not_found',
            'nothing_to_pay',
            'subscription_busy',
            ...bodyFailures,
            ...keyFailures,
            ...processorFailures,
          ),
        },
      },
      preValidation: emptyIfAbsent,
    },
    async (request, reply) => {
      const { idempotencyKey, ...payment } = request.body;
      const key = idempotencyKeyOf(request, idempotencyKey);
      const { result, replayed } = await subscriptions.pay(request.params.id, payment, key);
      return markReplay(reply, replayed).send(subscriptionView(result, entitlements.isEntitled(result)));
    },
  );
}
