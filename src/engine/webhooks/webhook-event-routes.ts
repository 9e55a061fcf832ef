import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { type WebhookEvent, webhookEventStates } from '#core/model/webhook-event.ts';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { DateTime, dateTime, nullable, PageQuery, pageOf, response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import type { WebhookEventService } from './webhook-event-service.ts';

const EventSchema = component('WebhookEvent', {
  id: Type.String({ description: 'The id of the event at the processor.' }),
  type: Type.String(),
  objectId: nullable(
    Type.String({ description: 'The id, at the processor, of the object that the event is about.' }),
  ),
  state: Type.Enum([...webhookEventStates]),
  attempts: Type.Integer(),
  lastError: nullable(Type.String()),
  createdAt: DateTime,
  receivedAt: DateTime,
  nextTryAt: nullable(dateTime('Null unless the event is pending.')),
  processedAt: nullable(DateTime),
});

const EventWithPayloadSchema = component('WebhookEventWithPayload', {
  ...EventSchema.properties,
  apiVersion: nullable(Type.String()),
  payload: Type.Unknown({
    description:
      'The payload that the processor sent, without secrets and without personal data that Till does not need.',
  }),
});

const EventPageSchema = component('WebhookEventList', {
  ...pageOf(EventSchema).properties,
  total: Type.Integer({ description: 'The number of events on all pages, counted up to 10,000.' }),
  totalCapped: Type.Boolean({ description: 'True if there are more events than `total`.' }),
});

const ReplayedSchema = component('ReplayedWebhookEvents', {
  replayed: Type.Integer(),
  hasMore: Type.Boolean({ description: 'True if more may have failed.' }),
});

const ListQuery = Type.Object(
  {
    state: Type.Optional(Type.Enum([...webhookEventStates])),
    type: Type.Optional(Type.String()),
    objectId: Type.Optional(Type.String()),
    page: PageQuery.properties.page,
    limit: PageQuery.properties.limit,
  },
  { additionalProperties: false },
);

/** The processor's ids have only visible characters, so other values match no event. */
const Params = Type.Object({ id: Type.String({ pattern: '^[\\x21-\\x7e]+$' }) });

const example: Static<typeof EventSchema> = {
  id: 'evt_1NG8Du2eZvKYlo2CUI79vXWy',
  type: 'payment_intent.succeeded',
  objectId: 'pi_3MtwBwLkdIwHu7ix28a3tqPa',
  state: 'processed',
  attempts: 1,
  lastError: null,
  createdAt: '2026-11-15T09:30:00.000Z',
  receivedAt: '2026-11-15T09:30:01.000Z',
  nextTryAt: null,
  processedAt: '2026-11-15T09:30:01.012Z',
};

const path = '/api/v1/webhook-events';

export function registerWebhookEventRoutes(app: FastifyInstance, events: WebhookEventService): void {
  const routes = new ApiRoutes(app, 'webhook events');
  addReads(routes, events);
  routes.add(`POST ${path}/replay-failed`, {
    scope: 'operate',
    operationId: 'replayFailedWebhookEvents',
    audited: 'everyone',
    summary: 'Process all failed webhook events again',
    description: 'At most 1,000, oldest first. Repeat the request while `hasMore` is true.',
    response: {
      200: response('How many are pending again.', ReplayedSchema, { replayed: 12, hasMore: false }),
    },
    run: () => events.replayFailed(),
  });
  routes.add(`POST ${path}/:id/replay`, {
    scope: 'operate',
    operationId: 'replayWebhookEvent',
    audited: 'everyone',
    summary: 'Process a webhook event again',
    description: 'Safe at any time: Till applies an event only if it contains something new.',
    params: Params,
    response: {
      200: response('The event, pending again.', EventSchema, { ...example, state: 'pending', attempts: 0 }),
    },
    run: async ({ params }) => toResponse(await events.replay(params.id)),
  });
}

function addReads(routes: ApiRoutes, events: WebhookEventService): void {
  routes.add(`GET ${path}`, {
    scope: 'operate',
    operationId: 'listWebhookEvents',
    mayReadReplica: true,
    summary: 'List webhook events, newest first',
    query: ListQuery,
    response: {
      200: response('One page of events.', EventPageSchema, {
        data: [example],
        total: 1,
        totalCapped: false,
        page: 1,
        limit: 20,
      }),
    },
    run: async ({ query: { state, type, objectId, ...page } }) => {
      const { data, ...rest } = await events.list({ state, type, objectId }, page);
      return { ...rest, data: data.map(toResponse) };
    },
  });
  routes.add(`GET ${path}/:id`, {
    scope: 'operate',
    operationId: 'getWebhookEvent',
    summary: 'Get a webhook event with its payload',
    params: Params,
    response: {
      200: response('The event with its payload.', EventWithPayloadSchema, {
        ...example,
        apiVersion: '2026-10-28.endive',
        payload: { id: example.id, object: 'event', type: example.type },
      }),
    },
    run: async ({ params }) => {
      const event = await events.read(params.id);
      return { ...toResponse(event), apiVersion: event.apiVersion, payload: JSON.parse(event.payload) };
    },
  });
}

function toResponse(event: WebhookEvent): Static<typeof EventSchema> {
  return {
    id: event.id,
    type: event.type,
    objectId: event.objectId,
    state: event.state,
    attempts: event.attempts,
    lastError: event.lastError,
    createdAt: event.createdAt.toISOString(),
    receivedAt: event.receivedAt.toISOString(),
    nextTryAt: event.state === 'pending' ? event.nextTryAt.toISOString() : null,
    processedAt: event.processedAt?.toISOString() ?? null,
  };
}
