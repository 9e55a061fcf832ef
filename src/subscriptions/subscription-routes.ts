import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  answer,
  body,
  bodyFailures,
  CustomerIdFilter,
  DateTime,
  Id,
  IdempotencyKey,
  IdParams,
  keyFailures,
  MetadataAnswer,
  NewMetadata,
  nullable,
  problems,
  processorFailures,
} from '../http/docs/api-schema.ts';
import { component } from '../http/docs/components.ts';
import { answerCreated, idempotencyKeyOf } from '../http/input/idempotency-key.ts';
import { registerReadRoutes } from '../http/read-routes.ts';
import { typed } from '../http/typed-app.ts';
import { type Subscription, subscriptionStatuses } from './subscription.ts';
import type { SubscriptionService } from './subscription-service.ts';

export const SubscriptionSchema = component('Subscription', {
  id: Id,
  processorSubscriptionId: Type.String(),
  customerId: Id,
  planId: Id,
  status: Type.Enum([...subscriptionStatuses], {
    description: '`active` and `trialing` both entitle the customer to the service.',
  }),
  currentPeriodStart: nullable(DateTime),
  currentPeriodEnd: nullable(DateTime),
  trialEnd: nullable(DateTime),
  metadata: MetadataAnswer,
  createdAt: DateTime,
  updatedAt: DateTime,
});

const CreateBody = Type.Object(
  {
    customerId: Id,
    planId: Id,
    trialPeriodDays: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 730, description: '0 means no trial.' }),
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
});

export const subscriptionExample: Static<typeof SubscriptionSchema> = {
  id: '0199c1f3-11d2-7b64-9e0f-7a6b5c4d3e2f',
  processorSubscriptionId: 'sub_1MowQVLkdIwHu7ixeRlqHVzs',
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  planId: '0199c1f0-7b11-7d0e-8a52-6f0a3c9d2e11',
  status: 'incomplete',
  currentPeriodStart: '2026-11-15T09:30:00.000Z',
  currentPeriodEnd: '2026-12-15T09:30:00.000Z',
  trialEnd: null,
  metadata: { seatPool: 'emea' },
  createdAt: '2026-11-15T09:30:00.000Z',
  updatedAt: '2026-11-15T09:30:00.000Z',
};

const tags = ['subscriptions'];
const path = '/api/v1/subscriptions';

export function registerSubscriptionRoutes(
  fastify: FastifyInstance,
  subscriptions: SubscriptionService,
): void {
  registerWrites(fastify, subscriptions);
  registerReadRoutes(fastify, {
    noun: 'subscription',
    plural: 'subscriptions',
    schema: SubscriptionSchema,
    example: { ...subscriptionExample, status: 'active' as const },
    filters: {
      customerId: CustomerIdFilter,
      status: Type.Optional(Type.Enum([...subscriptionStatuses])),
      planId: Type.Optional(Id),
    },
    list: (request) => subscriptions.list(request),
    read: (id) => subscriptions.read(id),
    toAnswer: subscriptionAnswer,
  });
}

function registerWrites(fastify: FastifyInstance, subscriptions: SubscriptionService): void {
  const app = typed(fastify);
  app.post(
    path,
    {
      schema: {
        tags,
        operationId: 'createSubscription',
        summary: 'Create a subscription',
        description:
          'The first invoice is unpaid: pass `clientSecret` to the frontend, which confirms the payment with the ' +
          'processor. While the customer has a live subscription to a plan of the same group, another one is refused: ' +
          '`already_subscribed` names it. It is live unless its status is `canceled` or `incomplete_expired`.',
        body: body(CreateBody, {
          customerId: subscriptionExample.customerId,
          planId: subscriptionExample.planId,
          trialPeriodDays: 0,
        }),
        response: {
          201: answer('The new subscription and the client secret of its first invoice.', CreatedSchema, {
            subscription: subscriptionExample,
            clientSecret: 'pi_3MtwBwLkdIwHu7ix28a3tqPa_secret_YrKJUKribcBjcG8HVhfZluoGH',
          }),
          ...problems(
            'not_found',
            'plan_archived',
            'already_subscribed',
            ...bodyFailures,
            ...keyFailures,
            ...processorFailures,
          ),
        },
      },
    },
    async (request, reply) => {
      const { idempotencyKey, trialPeriodDays = 0, ...values } = request.body;
      const key = idempotencyKeyOf(request, idempotencyKey);
      const { result, replayed } = await subscriptions.create({ ...values, trialPeriodDays }, key);
      const { subscription, clientSecret } = result;
      return answerCreated(reply, replayed).send({
        subscription: subscriptionAnswer(subscription),
        clientSecret,
      });
    },
  );
  app.delete(
    `${path}/:id`,
    {
      schema: {
        tags,
        operationId: 'cancelSubscription',
        summary: 'Cancel a subscription immediately',
        params: IdParams,
        response: {
          200: answer('The canceled subscription.', SubscriptionSchema, {
            ...subscriptionExample,
            status: 'canceled',
          }),
          ...problems('not_found', ...bodyFailures, ...processorFailures),
        },
      },
    },
    async (request) => subscriptionAnswer(await subscriptions.cancel(request.params.id)),
  );
}

export function subscriptionAnswer(subscription: Subscription): Static<typeof SubscriptionSchema> {
  return {
    id: subscription.id,
    processorSubscriptionId: subscription.processorSubscriptionId,
    customerId: subscription.customerId,
    planId: subscription.planId,
    status: subscription.status,
    currentPeriodStart: subscription.currentPeriodStart?.toISOString() ?? null,
    currentPeriodEnd: subscription.currentPeriodEnd?.toISOString() ?? null,
    trialEnd: subscription.trialEnd?.toISOString() ?? null,
    metadata: subscription.metadata ?? {},
    createdAt: subscription.createdAt.toISOString(),
    updatedAt: subscription.updatedAt.toISOString(),
  };
}
