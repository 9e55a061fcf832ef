import type { FastifyInstance } from 'fastify';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { amountOf, body, IdempotencyKey, response } from '#http/docs/api-schema.ts';
import { optionalBody } from '#http/input/validator.ts';
import { PaymentSchema, paymentExample, paymentView } from './payment-fields.ts';
import type { PaymentService } from './payment-service.ts';

const CaptureBody = Type.Object(
  {
    amount: Type.Optional(amountOf('Default: the whole authorised amount. The processor releases the rest.')),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  // The body is optional: without one, the whole authorised amount is captured.
  { title: 'NewCapture', additionalProperties: false, [optionalBody]: true },
);

export function registerCaptureRoutes(app: FastifyInstance, payments: PaymentService): void {
  new ApiRoutes(app, 'payments').addKeyed('POST /api/v1/payments/:id/capture', {
    scope: 'write',
    operationId: 'capturePayment',
    summary: 'Capture an authorised payment fully or partially',
    description:
      'For a payment with `captureMethod` `manual`. You can capture it once, before `captureBefore`.',
    body: body(CaptureBody, { amount: 1_500 }),
    response: {
      200: response('The captured payment.', PaymentSchema, {
        ...paymentExample,
        amountReceived: 1_500,
        status: 'succeeded',
        paymentMethod: {
          id: 'pm_1MtwBwLkdIwHu7ixn8Nf4Ky1',
          type: 'card',
          brand: 'visa',
          last4: '4242',
          expMonth: 12,
          expYear: 2034,
        },
      }),
    },
    failures: ['payment_not_capturable', 'capture_exceeds_authorized'],
    callsProcessor: true,
    run: ({ params, body: { amount = null } }, key) =>
      payments.capture({ paymentId: params.id, amount }, key),
    toResponse: paymentView,
  });
}
