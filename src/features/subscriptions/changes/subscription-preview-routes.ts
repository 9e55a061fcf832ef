import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { body, DateTime, dateTime, nullable, response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import type { SubscriptionService } from '../subscription-service.ts';
import { parseTerms } from './subscription-patch.ts';
import { changeFailures, termsFields } from './subscription-patch-schema.ts';

const PreviewBody = Type.Object(termsFields, {
  title: 'PreviewedSubscriptionChange',
  additionalProperties: false,
});

const PreviewSchema = component('SubscriptionChangePreview', {
  amountDue: Type.Integer({
    description:
      'The amount of the invoice that will contain the change, in the smallest unit of `currency`: the invoice that ' +
      'is created now if `billedNow`, else that of the next renewal.',
  }),
  currency: Type.String(),
  billedNow: Type.Boolean(),
  prorationDate: nullable(
    dateTime('Send it with the change, which then costs `amountDue`. Null if nothing is prorated.'),
  ),
  lines: Type.Array(
    Type.Object({
      description: nullable(Type.String()),
      amount: Type.Integer({ description: 'Negative for a credit. Without discounts and credit balance.' }),
      periodStart: DateTime,
      periodEnd: DateTime,
      proration: Type.Boolean({ description: 'True if the line credits or charges a part of a period.' }),
    }),
  ),
});

const example: Static<typeof PreviewSchema> = {
  amountDue: 1_800,
  currency: 'eur',
  billedNow: true,
  prorationDate: '2026-11-15T09:30:00.000Z',
  lines: [
    {
      description: 'Unused time on Gold after 15 Nov 2026',
      amount: -900,
      periodStart: '2026-11-15T09:30:00.000Z',
      periodEnd: '2026-12-15T09:30:00.000Z',
      proration: true,
    },
    {
      description: 'Remaining time on 3 × Gold after 15 Nov 2026',
      amount: 2_700,
      periodStart: '2026-11-15T09:30:00.000Z',
      periodEnd: '2026-12-15T09:30:00.000Z',
      proration: true,
    },
  ],
};

export function registerSubscriptionPreviewRoutes(
  app: FastifyInstance,
  subscriptions: SubscriptionService,
): void {
  new ApiRoutes(app, 'subscriptions').add('POST /api/v1/subscriptions/:id/preview', {
    scope: 'read',
    operationId: 'previewSubscriptionChange',
    summary: 'Preview a change of a subscription',
    description:
      'Shows the invoice that will contain a change of plans or quantities. Changes nothing. A change that is refused ' +
      'gets the same refusal here.',
    body: body(PreviewBody, { quantity: 3, proration: 'invoice' }),
    response: { 200: response('The invoice that will contain the change.', PreviewSchema, example) },
    failures: [...changeFailures, 'already_subscribed'],
    callsProcessor: true,
    run: async (request) => {
      const { prorationDate, lines, ...preview } = await subscriptions.preview(
        request.params.id,
        parseTerms(request.body),
      );
      return {
        ...preview,
        prorationDate: prorationDate?.toISOString() ?? null,
        lines: lines.map(({ periodStart, periodEnd, ...line }) => ({
          ...line,
          periodStart: periodStart.toISOString(),
          periodEnd: periodEnd.toISOString(),
        })),
      };
    },
  });
}
