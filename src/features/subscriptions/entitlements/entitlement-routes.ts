import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { entitlementReasons } from '#core/model/entitlement.ts';
import type { PlanFeatures } from '#core/model/plan-features.ts';
import { subscriptionStatuses } from '#core/model/subscription.ts';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { DateTime, dateTime, ExternalId, Id, nullable, response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { sendIfChanged } from '#http/input/request-parts.ts';
import type { SubscriptionService } from '../subscription-service.ts';
import type { CustomerEntitlements, EntitlementService } from './entitlement-service.ts';

const MeterUsageSchema = component('MeterUsage', {
  used: Type.Integer(),
  limit: nullable(
    Type.Integer({ description: 'The value of the feature with the same key. Null if there is no limit.' }),
  ),
  remaining: nullable(Type.Integer({ description: 'At least 0. Null if there is no limit.' })),
  periodStart: DateTime,
  periodEnd: dateTime('From then on, counting begins again.'),
});

const EntitlementsSchema = component('Entitlements', {
  customerId: Id,
  externalId: nullable(Type.String()),
  entitled: Type.Boolean({ description: 'True if one of the subscriptions entitles the customer now.' }),
  until: nullable(
    dateTime('The latest `until` of the subscriptions that entitle the customer. Null if none does.'),
  ),
  features: Type.Unsafe<PlanFeatures>({
    type: 'object',
    additionalProperties: { type: ['boolean', 'integer', 'string'] },
    description:
      'The features of the plans that entitle the customer. Within a subscription, the features of its add-ons join ' +
      'those of its main plan: a boolean is true if it is true in one of them, and an integer is the value of the ' +
      "main plan plus each add-on's value times its quantity. `true` beats an integer. Otherwise the main plan's value " +
      'counts. Between subscriptions, a boolean is true if it is true in one of them, the largest integer counts, and ' +
      "otherwise the newest subscription's value.",
  }),
  usage: Type.Unsafe<Readonly<Record<string, Static<typeof MeterUsageSchema>>>>({
    type: 'object',
    additionalProperties: MeterUsageSchema,
    description:
      'What the customer has used of each active meter, by the key of the meter, in the current window: that of the ' +
      'newest subscription that entitles the customer and has a feature with this key. Without one, it is the UTC ' +
      'month, and the limit is 0.',
  }),
  subscriptions: Type.Array(
    component('Entitlement', {
      subscriptionId: Id,
      planId: Id,
      addOnPlanIds: Type.Array(Id, { description: 'The plans of its add-ons, in the order of their ids.' }),
      status: Type.Enum([...subscriptionStatuses]),
      entitled: Type.Boolean(),
      reason: Type.Enum([...entitlementReasons], {
        description: '`grace`: the subscription is `past_due`, and its grace period has not ended.',
      }),
      until: nullable(
        dateTime(
          'The end of the period if `active`, of the trial if `trialing`, and of the grace period if `past_due`. ' +
            'Otherwise null.',
        ),
      ),
    }),
    {
      description: 'All subscriptions that have not ended, and the 20 newest that have ended. Newest first.',
    },
  ),
});

const example: Static<typeof EntitlementsSchema> = {
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  externalId: 'user-1815',
  entitled: true,
  until: '2026-12-15T09:30:00.000Z',
  features: { export: true, projects: 10, support: 'email', api_calls: 1_000 },
  usage: {
    api_calls: {
      used: 250,
      limit: 1_000,
      remaining: 750,
      periodStart: '2026-11-15T09:30:00.000Z',
      periodEnd: '2026-12-15T09:30:00.000Z',
    },
  },
  subscriptions: [
    {
      subscriptionId: '0199c1f3-11d2-7b64-9e0f-7a6b5c4d3e2f',
      planId: '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e11',
      addOnPlanIds: ['0199c1f0-8c22-7e1f-9b63-7a1b4d0e3f22'],
      status: 'active',
      entitled: true,
      reason: 'active',
      until: '2026-12-15T09:30:00.000Z',
    },
  ],
};

const Fresh = Type.Enum(['true', 'false'], {
  default: 'false',
  description:
    "`true` asks the processor for the customer's subscriptions first, for the page to which customers return from the " +
    'portal. If the processor does not respond, the request fails. Requests within a second share one response.',
});

const FreshQuery = Type.Object({ fresh: Fresh }, { additionalProperties: false });
const ExternalIdQuery = Type.Object(
  { externalId: ExternalId, fresh: Fresh },
  { additionalProperties: false },
);

/** Shared by both routes. */
const shared = {
  scope: 'read',
  description:
    'The response has an `ETag`. Send it as `If-None-Match` to get a 304 without a body while nothing has changed. ' +
    'The response also changes with time: a grace period ends without an event.',
  response: {
    200: response('What the customer is entitled to now.', EntitlementsSchema, example),
    304: Type.Null({ description: 'The response still has the ETag of `If-None-Match`.' }),
  },
  callsProcessor: true,
  onSend: sendIfChanged,
} as const;

export function registerEntitlementRoutes(
  app: FastifyInstance,
  entitlements: EntitlementService,
  subscriptions: SubscriptionService,
): void {
  const routes = new ApiRoutes(app, 'entitlements');
  routes.add('GET /api/v1/customers/:id/entitlements', {
    ...shared,
    operationId: 'getCustomerEntitlements',
    summary: 'Get what a customer is entitled to',
    query: FreshQuery,
    run: async ({ params, query }) => {
      if (query.fresh === 'true') await subscriptions.askForAll(params.id);
      return toResponse(await entitlements.ofCustomer(params.id));
    },
  });
  routes.add('GET /api/v1/entitlements', {
    ...shared,
    operationId: 'getEntitlements',
    summary: 'Get what the customer with an externalId is entitled to',
    query: ExternalIdQuery,
    failures: ['not_found'],
    run: async ({ query }) => {
      const found = await entitlements.ofExternalId(query.externalId);
      if (query.fresh !== 'true') return toResponse(found);
      await subscriptions.askForAll(found.customerId);
      return toResponse(await entitlements.ofCustomer(found.customerId));
    },
  });
}

function toResponse({
  until,
  usage,
  subscriptions,
  ...entitlements
}: CustomerEntitlements): Static<typeof EntitlementsSchema> {
  return {
    ...entitlements,
    until: until?.toISOString() ?? null,
    usage: Object.fromEntries(
      Object.entries(usage).map(([key, { periodStart, periodEnd, ...numbers }]) => [
        key,
        { ...numbers, periodStart: periodStart.toISOString(), periodEnd: periodEnd.toISOString() },
      ]),
    ),
    subscriptions: subscriptions.map(({ until, addOnPlanIds, ...one }) => ({
      ...one,
      addOnPlanIds: [...addOnPlanIds],
      until: until?.toISOString() ?? null,
    })),
  };
}
