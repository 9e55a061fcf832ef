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
} from '../../http/docs/api-schema.ts';
import { component } from '../../http/docs/components.ts';
import { idempotencyKeyOf, markReplay } from '../../http/input/idempotency-key.ts';
import { typed } from '../../http/typed-app.ts';
import type { EntitlementService } from '../entitlements/entitlement-service.ts';
import { SubscriptionSchema, subscriptionExample } from '../subscription-schema.ts';
import type { SubscriptionService } from '../subscription-service.ts';
import { subscriptionView } from '../subscription-view.ts';
import { parsePatch } from './subscription-patch.ts';
import { termsFields } from './subscription-patch-schema.ts';

const UpdateBody = Type.Object(
  {
    ...termsFields,
    cancelAtPeriodEnd: Type.Optional(
      Type.Boolean({
        description:
          'Whether the subscription ends with its current period. `false` also takes back an end at a later date.',
      }),
    ),
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
  registerPatch(fastify, subscriptions, entitlements);
  registerClientSecret(fastify, subscriptions);
}

const description = [
  'One of these: a change of plan and quantity (`planId`, `quantity` or both, with `when`, `proration` and ' +
    '`prorationDate`); `cancelAtPeriodEnd`; `paymentMethodId`; `metadata`. The last may go with one of the two ' +
    'before it. What is absent stays.',
  'With `when: periodEnd` the change waits as `pendingChange` and applies when the current period ends. It is ' +
    'not prorated, and discounts and the payment method are carried over.',
  '`proration` says what happens to the rest of the current period. A change to another interval, and one from ' +
    'a free plan to a paid one, starts a new period, which is billed now in any case.',
  'What is billed now is charged at once. If it is paid, the plan is changed. If it is declined, nothing is ' +
    'changed and the response is `payment_declined`. If the customer must authenticate, the change waits as ' +
    '`pendingChange`, and the frontend confirms it with `clientSecret`.',
  'While a subscription is `past_due` or `unpaid` and no paid invoice covers its current period, a change that would ' +
    'bill or credit a part of that period is refused with `payment_due`. Pay first, or use `proration: none` or ' +
    '`when: periodEnd`; `detail` names what works.',
  'A change replaces one that waits. A change to the present plan and quantity drops it, and so does ' +
    '`cancelAtPeriodEnd: true`.',
  'While the status is `incomplete`, and after the subscription has ended, you can only change `metadata`.',
].join('\n\n');

function registerPatch(
  fastify: FastifyInstance,
  subscriptions: SubscriptionService,
  entitlements: EntitlementService,
): void {
  typed(fastify).patch(
    path,
    {
      config: { scope: 'write' },
      schema: {
        tags,
        operationId: 'updateSubscription',
        summary: 'Change a subscription',
        description,
        params: IdParams,
        body: body(UpdateBody, { quantity: 3 }),
        response: {
          200: answer('The changed subscription.', ChangedSchema, {
            subscription: { ...subscriptionExample, status: 'active', quantity: 3 },
            clientSecret: null,
          }),
          ...problems(
            'not_found',
            'customer_deleted',
            'payment_declined',
            'plan_archived',
            'currency_mismatch',
            'subscription_ended',
            'subscription_incomplete',
            'subscription_ending',
            'payment_due',
            'subscription_busy',
            'concurrent_change',
            'already_subscribed',
            ...bodyFailures,
            ...keyFailures,
            ...processorFailures,
          ),
        },
      },
    },
    async (request, reply) => {
      const { idempotencyKey, ...input } = request.body;
      const key = idempotencyKeyOf(request, idempotencyKey);
      const change = parsePatch(input);
      const { result, replayed } = await subscriptions.update(request.params.id, change, key);
      const { subscription, clientSecret } = result;
      return markReplay(reply, replayed).send({
        subscription: subscriptionView(subscription, entitlements.isEntitled(subscription)),
        clientSecret,
      });
    },
  );
}

function registerClientSecret(fastify: FastifyInstance, subscriptions: SubscriptionService): void {
  typed(fastify).post(
    `${path}/client-secret`,
    {
      config: { scope: 'write' },
      schema: {
        tags,
        operationId: 'getSubscriptionClientSecret',
        summary: 'Get the client secret of a subscription again',
        description:
          'The client secret of the invoice that `pay` without `invoiceId` would pay, else that of a pending change. In a ' +
          'trial without a payment method, that of its setup. Reads it from the processor, because Till never stores ' +
          'it. If the invoice is a draft, it is finalized, as `pay` does. Nothing else changes.',
        params: IdParams,
        response: {
          200: answer('The client secret.', ClientSecretSchema, { clientSecret: clientSecretExample }),
          ...problems('not_found', 'subscription_busy', ...bodyFailures, ...processorFailures),
        },
      },
    },
    async (request) => ({ clientSecret: await subscriptions.readClientSecret(request.params.id) }),
  );
}
