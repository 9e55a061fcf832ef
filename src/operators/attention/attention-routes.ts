import type { FastifyInstance } from 'fastify';
import type { Static, TProperties, TSchema } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { grants } from '#http/access/api-guard.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { DateTime, dateTime, Id, nullable, response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import type { AttentionService } from './attention-service.ts';

const time = (description: string) => nullable(dateTime(description));

const Customer = nullable({
  ...Type.Object({
    id: Id,
    externalId: nullable(Type.String()),
    email: nullable(Type.String()),
    name: nullable(Type.String()),
  }),
  description: 'Null if the customer was deleted.',
});

const listOf = <Item extends TSchema>(item: Item) => ({
  total: Type.Integer({ description: 'Their number, counted up to 10,000.' }),
  data: Type.Array(item, { description: 'At most 20, the most urgent first.' }),
});
const urgent = <Properties extends TProperties>(properties: Properties, description: string) => ({
  ...Type.Object(properties),
  description,
});

const dispute = component('DisputeToRespond', {
  paymentId: Id,
  amount: Type.Integer({ description: 'In the smallest unit of the currency of the dispute.' }),
  currency: Type.String(),
  status: Type.String(),
  reason: nullable(Type.String()),
  evidenceDueBy: time('Until when the processor takes evidence. Null if it is unknown.'),
  customer: Customer,
});

const pastDue = component('PastDueSubscription', {
  subscriptionId: Id,
  planId: Id,
  planName: Type.String(),
  amountDue: Type.Integer({ description: 'The unpaid amount of its open invoices.' }),
  currency: Type.String(),
  nextPaymentAttemptAt: time(
    'The next attempt of the processor to collect it. Null if it makes none by itself.',
  ),
  customer: Customer,
});

const endpoint = component('FailingEndpoint', {
  id: Id,
  url: Type.String(),
  description: nullable(Type.String()),
  enabled: Type.Boolean({ description: 'False if Till turned it off, because it failed for three days.' }),
  failingSince: time('The first failed attempt since the last success.'),
  disabledAt: nullable(DateTime),
});

const webhookEvent = component('FailedWebhookEvent', {
  id: Type.String({ description: 'The id of the event at the processor.' }),
  type: Type.String(),
  objectId: nullable(Type.String()),
  attempts: Type.Integer(),
  lastError: nullable(Type.String()),
  createdAt: DateTime,
  receivedAt: DateTime,
});

const claim = component('UnsettledClaim', {
  operation: Type.String({ description: 'The operation of the request, such as `payments.create`.' }),
  objectId: Type.String({
    description: 'The id of the object, if it was created. For a change: the id of the change.',
  }),
  parentId: nullable(
    Type.String({
      description: 'The owner of the new object, or the changed object: a customer or a payment.',
    }),
  ),
  keyName: Type.String({ description: 'The name of the API key of the request.' }),
  createdAt: DateTime,
});

const AttentionSchema = component('Attention', {
  disputes: urgent(
    listOf(dispute),
    'Disputes of payments that need a response, by their deadline. Rows: `GET /api/v1/payments?source=all` with ' +
      '`disputeStatus=needs_response,warning_needs_response`.',
  ),
  pastDue: urgent(
    listOf(pastDue),
    'Subscriptions that are `past_due`, by the amount. Rows: `GET /api/v1/subscriptions?status=past_due`.',
  ),
  endpoints: nullable(
    urgent(
      listOf(endpoint),
      'Event endpoints that fail, or that Till turned off because they failed, by the time since which they fail. ' +
        'Null without the scope `operate`.',
    ),
  ),
  webhookEvents: nullable(
    urgent(
      listOf(webhookEvent),
      'Webhook events that failed and are not retried, oldest first. Rows: `GET /api/v1/webhook-events?state=failed`. ' +
        'Null without the scope `operate`.',
    ),
  ),
  claims: nullable(
    urgent(
      listOf(claim),
      'Requests that were interrupted more than five minutes ago, and whose effect at the processor is not known yet, oldest ' +
        'first. Till keeps looking them up. Null without the scope `operate`.',
    ),
  ),
});

const none = { total: 0, data: [] };
const example: Static<typeof AttentionSchema> = {
  disputes: {
    total: 1,
    data: [
      {
        paymentId: '0199c1f1-02ab-7e31-b1c4-5d8e9f0a1b2c',
        amount: 4_900,
        currency: 'eur',
        status: 'needs_response',
        reason: 'fraudulent',
        evidenceDueBy: '2026-12-03T23:59:59.000Z',
        customer: {
          id: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
          externalId: 'user_42',
          email: 'ada@example.com',
          name: 'Ada Lovelace',
        },
      },
    ],
  },
  pastDue: none,
  endpoints: none,
  webhookEvents: none,
  claims: none,
};

export function registerAttentionRoutes(app: FastifyInstance, attention: AttentionService): void {
  new ApiRoutes(app, 'overview').add('GET /api/v1/attention', {
    scope: 'read',
    operationId: 'getAttention',
    summary: 'Get what needs attention',
    description:
      'Items that need attention, the most urgent first. If every list is empty, nothing needs attention.',
    response: { 200: response('What needs attention.', AttentionSchema, example) },
    run: async ({ caller }) => {
      const mayOperate = caller !== undefined && grants(caller.scopes, 'operate');
      const { disputes, pastDue, endpoints, webhookEvents, claims } = await attention.read({ mayOperate });
      return {
        disputes: shown(disputes),
        pastDue: shown(pastDue),
        endpoints: endpoints && shown(endpoints),
        webhookEvents: webhookEvents && shown(webhookEvents),
        claims: claims && shown(claims),
      };
    },
  });
}

/** An item as JSON shows it: times are texts. */
type Shown<Item> = { [Name in keyof Item]: ShownValue<Item[Name]> };
type ShownValue<Value> = Value extends Date ? string : Value;

function shown<Item extends object>({
  total,
  data,
}: {
  readonly total: number;
  readonly data: readonly Item[];
}) {
  return { total, data: data.map(withTimes) };
}

function withTimes<Item extends object>(item: Item): Shown<Item> {
  const fields = Object.entries(item);
  const texts = fields.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value]);
  // The fields of the item.
  return Object.fromEntries(texts) as Shown<Item>;
}
