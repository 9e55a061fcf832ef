import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import {
  body,
  ChangedMetadata,
  ClientSecretSchema,
  clientSecretExample,
  DateTime,
  dateTime,
  IdempotencyKey,
  nullable,
  response,
} from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import type { EntitlementService } from '../entitlements/entitlement-service.ts';
import { SubscriptionSchema, subscriptionExample, subscriptionView } from '../subscription-fields.ts';
import type { SubscriptionService } from '../subscription-service.ts';
import { parsePatch, parseTerms } from './subscription-patch.ts';
import { cancellationReason, changeFailures, termsFields } from './subscription-patch-schema.ts';

const UpdateBody = Type.Object(
  {
    ...termsFields,
    cancelAtPeriodEnd: Type.Optional(
      Type.Boolean({
        description:
          'Whether the subscription ends with its current period. `false` also removes an end at a later date.',
      }),
    ),
    cancellationReason: cancellationReason(' Only with `cancelAtPeriodEnd: true`; `false` removes it.'),
    paymentMethodId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: "The processor's id of a payment method of this customer.",
      }),
    ),
    metadata: Type.Optional(ChangedMetadata),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  { title: 'SubscriptionChange', additionalProperties: false },
);

const ChangedSchema = component('ChangedSubscription', {
  subscription: SubscriptionSchema,
  clientSecret: nullable(
    Type.String({
      description:
        'The client secret to confirm the payment of the change. Null if there is nothing to confirm.',
    }),
  ),
});

const description = [
  'Send one of these: a change of plans and quantities (`planId`, `quantity` and `addOns`, one or more of them, with ' +
    '`when`, `proration` and `prorationDate`); `cancelAtPeriodEnd`, `true` with or without `cancellationReason`; ' +
    '`paymentMethodId`; `metadata`. You can combine `metadata` with ' +
    '`cancelAtPeriodEnd` or `paymentMethodId`. Fields that you leave out keep their value.',
  'With `when: periodEnd` the change waits as `pendingChange` and applies when the current period ends. It is ' +
    'not prorated, and keeps discounts and the payment method.',
  '`proration` says what happens to the rest of the current period. A change to another interval, or from a ' +
    'free plan to a paid one, starts a new period, which is always billed now.',
  'An amount that is billed now is charged at once. If it is paid, the change applies. If it is declined, nothing ' +
    'changes and the response is `payment_declined`. If the customer must authenticate, the change waits as ' +
    '`pendingChange`, and the frontend confirms it with `clientSecret`.',
  'While a subscription is `past_due` or `unpaid` and no paid invoice covers its current period, a change that would ' +
    'bill or credit a part of that period is refused with `payment_due`. Pay first, or use `proration: none` or ' +
    '`when: periodEnd`; `detail` names what works.',
  'A change replaces a pending one. A change to the current plans and quantities drops it, and so does ' +
    '`cancelAtPeriodEnd: true`.',
  'While the status is `incomplete`, and after the subscription has ended, you can only change `metadata`.',
].join('\n\n');

const path = '/api/v1/subscriptions/:id';

export function registerSubscriptionUpdateRoutes(
  app: FastifyInstance,
  subscriptions: SubscriptionService,
  entitlements: EntitlementService,
): void {
  const routes = new ApiRoutes(app, 'subscriptions');
  routes.addKeyed(`PATCH ${path}`, {
    scope: 'write',
    operationId: 'updateSubscription',
    summary: 'Change a subscription',
    description,
    body: body(UpdateBody, { quantity: 3 }),
    response: {
      200: response('The changed subscription.', ChangedSchema, {
        subscription: { ...subscriptionExample, status: 'active', quantity: 3 },
        clientSecret: null,
      }),
    },
    failures: [
      'customer_deleted',
      'payment_declined',
      ...changeFailures,
      'subscription_busy',
      'subscription_limit_reached',
      'concurrent_change',
      'already_subscribed',
    ],
    callsProcessor: true,
    run: ({ params, body: { idempotencyKey: _, ...input } }, key) =>
      subscriptions.update(params.id, parsePatch(input), key),
    toResponse: ({ subscription, clientSecret }) => ({
      subscription: subscriptionView(subscription, entitlements.isEntitled(subscription)),
      clientSecret,
    }),
  });
  routes.add(`POST ${path}/client-secret`, {
    scope: 'write',
    operationId: 'getSubscriptionClientSecret',
    summary: 'Get the client secret of a subscription again',
    description:
      'The client secret of the invoice that `pay` without `invoiceId` would pay, else that of a pending change. In a ' +
      'trial without a payment method, that of its setup. Reads it from the processor, because Till never stores ' +
      'it. If the invoice is a draft, it is finalized, as `pay` does. Nothing else changes.',
    response: {
      200: response('The client secret.', ClientSecretSchema, { clientSecret: clientSecretExample }),
    },
    failures: ['subscription_busy'],
    callsProcessor: true,
    run: async ({ params }) => ({ clientSecret: await subscriptions.readClientSecret(params.id) }),
  });
}

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
