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
import { roundAmountRule } from '../model/round-amount.ts';
import { PaymentSchema, paymentExample } from './payment-routes.ts';
import type { PaymentService } from './payment-service.ts';
import { paymentView } from './payment-view.ts';

const CaptureBody = Type.Object(
  {
    amount: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 999_999_999_999,
        description: `Default: the whole authorised amount. The processor releases the rest. ${roundAmountRule}`,
      }),
    ),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  // The body is optional: without one, the whole authorised amount is captured.
  { title: 'NewCapture', additionalProperties: false, [optionalBody]: true },
);

export function registerCaptureRoutes(fastify: FastifyInstance, payments: PaymentService): void {
  typed(fastify).post(
    '/api/v1/payments/:id/capture',
    {
      config: { scope: 'write' },
      schema: {
        tags: ['payments'],
        operationId: 'capturePayment',
        summary: 'Capture an authorised payment fully or partially',
        description:
          'A payment created with `captureMethod` `manual` is captured once, before `captureBefore`.',
        params: IdParams,
        body: body(CaptureBody, { amount: 1_500 }),
        response: {
          200: answer('The captured payment.', PaymentSchema, {
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
          ...problems(
            'not_found',
            'payment_not_capturable',
            'capture_exceeds_authorized',
            ...bodyFailures,
            ...keyFailures,
            ...processorFailures,
          ),
        },
      },
      preValidation: emptyIfAbsent,
    },
    async (request, reply) => {
      const { amount = null, idempotencyKey } = request.body;
      const key = idempotencyKeyOf(request, idempotencyKey);
      const { result, replayed } = await payments.capture({ paymentId: request.params.id, amount }, key);
      return markReplay(reply, replayed).send(paymentView(result));
    },
  );
}
