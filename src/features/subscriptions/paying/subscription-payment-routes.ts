import type { FastifyInstance } from 'fastify';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { body, Id, IdempotencyKey, methodIdOf, response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { optionalBody } from '#http/input/validator.ts';
import type { EntitlementService } from '../entitlements/entitlement-service.ts';
import { activeExample, SubscriptionSchema, subscriptionView } from '../subscription-fields.ts';
import type { SubscriptionService } from '../subscription-service.ts';

const PayBody = Type.Object(
  {
    paymentMethodId: Type.Optional(
      methodIdOf(
        "The processor's id of a payment method of this customer. Default: that of the subscription, else that of " +
          'the customer.',
      ),
    ),
    invoiceId: Type.Optional(
      Type.String({
        format: 'uuid',
        description:
          'An open or draft invoice of this subscription. Default: the latest invoice, which decides the status.',
      }),
    ),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  // The body is optional: without one, the default payment method pays the latest invoice.
  { title: 'SubscriptionPayment', additionalProperties: false, [optionalBody]: true },
);

const PaidSubscriptionSchema = component('PaidSubscription', {
  ...SubscriptionSchema.properties,
  olderUnpaidInvoiceIds: Type.Array(Id, {
    description:
      'Open and draft invoices that are older than the newest invoice. Newest first. Pay each with ' +
      '`invoiceId`.',
  }),
});

export function registerSubscriptionPaymentRoutes(
  app: FastifyInstance,
  subscriptions: SubscriptionService,
  entitlements: EntitlementService,
): void {
  new ApiRoutes(app, 'subscriptions').addKeyed('POST /api/v1/subscriptions/:id/pay', {
    scope: 'write',
    operationId: 'paySubscription',
    summary: 'Pay an invoice of a subscription',
    description:
      'Charges the latest invoice at once, because it decides the status. The invoice of a pending change does not ' +
      'count. If the latest invoice is a draft of a period that has begun, and the subscription is neither `active` nor ' +
      '`trialing`, it is finalized first; the processor does not charge it by itself later. With `invoiceId`, that ' +
      'open or draft invoice is charged instead. Other unpaid invoices stay as they are: `olderUnpaidInvoiceIds` ' +
      'names them.\n\nWithout `invoiceId`, a subscription that is paused at the processor is resumed. The open ' +
      'invoice of a subscription that has ended can be paid, and the subscription stays ended. The response shows ' +
      'the state after the payment, without waiting for a webhook.\n\nA declined payment is the final result of ' +
      'its idempotency key: use a new one for another attempt. After `authentication_required`, get the client secret ' +
      'and let the customer confirm in the frontend.',
    body: body(PayBody, { paymentMethodId: 'pm_1MtwBwLkdIwHu7ixn8Nf4Ky1' }),
    response: {
      200: response('The subscription after the payment.', PaidSubscriptionSchema, {
        ...activeExample,
        olderUnpaidInvoiceIds: [],
      }),
    },
    failures: [
      'payment_declined',
      'authentication_required',
      'nothing_to_pay',
      'subscription_busy',
      'subscription_limit_reached',
    ],
    callsProcessor: true,
    run: ({ params, body: { idempotencyKey: _, invoiceId, ...method } }, key) => {
      const invoice = invoiceId === undefined ? {} : { invoiceId: invoiceId.toLowerCase() };
      return subscriptions.pay(params.id, { ...method, ...invoice }, key);
    },
    toResponse: ({ subscription, olderUnpaidInvoiceIds }) => ({
      ...subscriptionView(subscription, entitlements.isEntitled(subscription)),
      olderUnpaidInvoiceIds: [...olderUnpaidInvoiceIds],
    }),
  });
}
