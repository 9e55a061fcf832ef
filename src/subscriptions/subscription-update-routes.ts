import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  answer,
  body,
  bodyFailures,
  ChangedMetadata,
  ClientSecretSchema,
  clientSecretExample,
  IdempotencyKey,
  IdParams,
  keyFailures,
  nullable,
  problems,
  processorFailures,
} from '../http/docs/api-schema.ts';
import { component } from '../http/docs/components.ts';
import { idempotencyKeyOf, markReplay } from '../http/input/idempotency-key.ts';
import { typed } from '../http/typed-app.ts';
import type { EntitlementService } from './entitlement-service.ts';
import { SubscriptionSchema, subscriptionAnswer, subscriptionExample } from './subscription-schema.ts';
import type { SubscriptionService } from './subscription-service.ts';

const UpdateBody = Type.Object(
  { metadata: ChangedMetadata, idempotencyKey: Type.Optional(IdempotencyKey) },
  { title: 'SubscriptionChange', additionalProperties: false },
);

const ChangedSchema = component('ChangedSubscription', {
  subscription: SubscriptionSchema,
  clientSecret: nullable(
    Type.String({ description: 'The client secret of what the change leaves to confirm. Null if nothing.' }),
  ),
});

const tags = ['subscriptions'];
const path = '/api/v1/subscriptions/:id';

export function registerSubscriptionUpdateRoutes(
  fastify: FastifyInstance,
  subscriptions: SubscriptionService,
  entitlements: EntitlementService,
): void {
  const app = typed(fastify);
  app.patch(
    path,
    {
      schema: {
        tags,
        operationId: 'updateSubscription',
        summary: 'Change a subscription',
        description: 'You can change the metadata of a subscription in every status.',
        params: IdParams,
        body: body(UpdateBody, { metadata: { seatPool: 'apac' } }),
        response: {
          200: answer('The changed subscription.', ChangedSchema, {
            subscription: { ...subscriptionExample, status: 'active', metadata: { seatPool: 'apac' } },
            clientSecret: null,
          }),
          ...problems('not_found', 'customer_deleted', ...bodyFailures, ...keyFailures, ...processorFailures),
        },
      },
    },
    async (request, reply) => {
      const { idempotencyKey, ...change } = request.body;
      const key = idempotencyKeyOf(request, idempotencyKey);
      const { result, replayed } = await subscriptions.update(request.params.id, change, key);
      const { subscription, clientSecret } = result;
      return markReplay(reply, replayed).send({
        subscription: subscriptionAnswer(subscription, entitlements.isEntitled(subscription)),
        clientSecret,
      });
    },
  );
  app.post(
    `${path}/client-secret`,
    {
      schema: {
        tags,
        operationId: 'getSubscriptionClientSecret',
        summary: 'Get the client secret of a subscription again',
        description:
          'The client secret of the newest open invoice, or of the setup of a payment method in a trial without one. ' +
          'Reads it from the processor, because Till never stores it. This changes nothing.',
        params: IdParams,
        response: {
          200: answer('The client secret.', ClientSecretSchema, { clientSecret: clientSecretExample }),
          ...problems('not_found', ...bodyFailures, ...processorFailures),
        },
      },
    },
    async (request) => ({ clientSecret: await subscriptions.readClientSecret(request.params.id) }),
  );
}
