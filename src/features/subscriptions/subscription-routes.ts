import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { type Subscription, subscriptionStatuses } from '#core/model/subscription.ts';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import {
  body,
  CurrencyFilter,
  CustomerIdFilter,
  Id,
  IdempotencyKey,
  methodIdOf,
  NewMetadata,
  nullable,
  response,
} from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { optionalBody } from '#http/input/validator.ts';
import { registerReadRoutes } from '#http/read-routes.ts';
import type { CustomerService } from '../customers/customer-service.ts';
import { parseAddOns } from './add-ons.ts';
import {
  cancellationReason,
  itemFields,
  planFailures,
  trialFields,
} from './changes/subscription-patch-schema.ts';
import type { EntitlementService } from './entitlements/entitlement-service.ts';
import { promotionCodeLengthMax } from './promotion-code.ts';
import type { NewSubscriptionRequest } from './subscription-creation.ts';
import {
  activeExample,
  SubscriptionSchema,
  subscriptionExample,
  subscriptionView,
} from './subscription-fields.ts';
import type { SubscriptionService } from './subscription-service.ts';

const CreateBody = Type.Object(
  {
    customerId: Id,
    planId: Id,
    ...trialFields,
    ...itemFields,
    paymentMethodId: Type.Optional(
      methodIdOf(
        "The processor's id of a payment method of this customer. It is charged at once, or when the trial ends. If the " +
          'charge is declined or needs authentication, the subscription is `incomplete`: pass `clientSecret` to the ' +
          'frontend.',
      ),
    ),
    promotionCode: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: promotionCodeLengthMax,
        description:
          'The code that the customer entered, in upper or lower case. A code that is restricted to this customer comes ' +
          'before one for all customers.',
      }),
    ),
    trialEndWithoutCard: Type.Optional(
      Type.Enum(['invoice', 'pause', 'cancel'], {
        default: 'invoice',
        description:
          'What happens if the trial ends without a payment method. `invoice`: the first period is billed, and the ' +
          'subscription becomes `past_due`. `pause`: it becomes `unpaid` and is not billed. `cancel`: it ends. Without ' +
          'a trial, the value applies to a trial that you add at the processor later.',
      }),
    ),
    metadata: Type.Optional(NewMetadata),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  { title: 'NewSubscription', additionalProperties: false },
);

const CreatedSchema = component('CreatedSubscription', {
  subscription: SubscriptionSchema,
  clientSecret: nullable(
    Type.String({
      description:
        'The client secret of the first invoice. Null if a trial defers the first charge. Till never stores it: ' +
        'request it again with `POST /api/v1/subscriptions/{id}/client-secret`.',
    }),
  ),
  setupClientSecret: nullable(
    Type.String({
      description:
        'In a trial without a card: the frontend uses it to save one, which is charged when the trial ends. Null ' +
        'otherwise. Till never stores it: request it again with `POST /api/v1/subscriptions/{id}/client-secret`.',
    }),
  ),
});

const CancelBody = Type.Object(
  { cancellationReason: cancellationReason() },
  { title: 'SubscriptionCancellation', additionalProperties: false, [optionalBody]: true },
);

const path = '/api/v1/subscriptions';

export function registerSubscriptionRoutes(
  app: FastifyInstance,
  subscriptions: SubscriptionService,
  entitlements: EntitlementService,
  customers: CustomerService,
): void {
  const toResponse = (subscription: Subscription) =>
    subscriptionView(subscription, entitlements.isEntitled(subscription));
  addWrites(new ApiRoutes(app, 'subscriptions'), subscriptions, toResponse);
  registerReadRoutes(app, {
    noun: 'subscription',
    plural: 'subscriptions',
    schema: SubscriptionSchema,
    example: activeExample,
    filters: {
      customerId: CustomerIdFilter,
      status: Type.Optional(Type.Enum([...subscriptionStatuses])),
      planId: Type.Optional({ ...Id, description: 'The main plan.' }),
      addOnPlanId: Type.Optional({ ...Id, description: 'The plan of one of the add-ons.' }),
      currency: CurrencyFilter,
    },
    customers: { customerIdOf: ({ customerId }) => customerId, find: (ids) => customers.summaries(ids) },
    list: (request) => subscriptions.list(request),
    read: (id) => subscriptions.read(id),
    toResponse,
  });
}

function addWrites(
  routes: ApiRoutes,
  subscriptions: SubscriptionService,
  toResponse: (subscription: Subscription) => Static<typeof SubscriptionSchema>,
): void {
  routes.addKeyed(`POST ${path}`, {
    scope: 'write',
    operationId: 'createSubscription',
    summary: 'Create a subscription',
    description:
      'Without `paymentMethodId` the first invoice is unpaid: pass `clientSecret` to the frontend, which confirms the ' +
      'payment with the processor. While the customer has a live subscription to a plan of the same group, another one is refused: ' +
      '`already_subscribed` names it. It is live unless its status is `canceled` or `incomplete_expired`.',
    body: body(CreateBody, {
      customerId: subscriptionExample.customerId,
      planId: subscriptionExample.planId,
      quantity: 1,
      addOns: activeExample.addOns,
      trialPeriodDays: 0,
    }),
    response: {
      201: response('The new subscription and the client secret of its first invoice.', CreatedSchema, {
        subscription: subscriptionExample,
        clientSecret: 'pi_3MtwBwLkdIwHu7ix28a3tqPa_secret_YrKJUKribcBjcG8HVhfZluoGH',
        setupClientSecret: null,
      }),
    },
    failures: ['not_found', ...planFailures, 'already_subscribed', 'promotion_code_invalid'],
    callsProcessor: true,
    run: (request, key) => subscriptions.create(newSubscriptionOf(request.body), key),
    toResponse: ({ subscription, ...secrets }) => ({ subscription: toResponse(subscription), ...secrets }),
  });
  routes.add(`DELETE ${path}/:id`, {
    scope: 'write',
    operationId: 'cancelSubscription',
    summary: 'Cancel a subscription immediately',
    body: body(CancelBody, { cancellationReason: 'Too expensive' }),
    response: {
      200: response('The canceled subscription.', SubscriptionSchema, {
        ...subscriptionExample,
        status: 'canceled',
        canceledAt: '2026-11-20T12:00:00.000Z',
        endedAt: '2026-11-20T12:00:00.000Z',
        cancellationReason: 'Too expensive',
      }),
    },
    failures: ['subscription_busy'],
    callsProcessor: true,
    run: async ({ params, body: { cancellationReason: reason } }) =>
      toResponse(await subscriptions.cancel(params.id, reason)),
  });
}

/** A request that sends a default value is the same request as one that leaves it out. */
function newSubscriptionOf(body: Static<typeof CreateBody>): NewSubscriptionRequest {
  const { customerId, planId, quantity, trialPeriodDays = 0, paymentMethodId, promotionCode } = body;
  const { trialEndWithoutCard: atTrialEnd, metadata } = body;
  const addOns = parseAddOns(body.addOns ?? [], planId);
  return {
    customerId,
    planId,
    trialPeriodDays,
    ...(body.trialOnce ? { trialOnce: true } : {}),
    ...(quantity === undefined || quantity === 1 ? {} : { quantity }),
    ...(addOns.length === 0 ? {} : { addOns }),
    ...(paymentMethodId === undefined ? {} : { paymentMethodId }),
    ...(promotionCode === undefined ? {} : { promotionCode }),
    ...(atTrialEnd === undefined || atTrialEnd === 'invoice' ? {} : { trialEndWithoutCard: atTrialEnd }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}
