import type { FastifyInstance } from 'fastify';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { body, CursorQuery, response } from '#http/docs/api-schema.ts';
import {
  DeliveriesQuery,
  deliveryExample,
  deliveryListSchema,
  deliveryResponse,
} from '../deliveries/delivery-schema.ts';
import type { EventNames } from '../event.ts';
import { type EventEndpoint, validSecretsMax } from './endpoint.ts';
import {
  createBody,
  EndpointListSchema,
  EndpointSchema,
  EndpointWithSecretSchema,
  endpointExample,
  endpointResponse,
  endpointWithSecretExample,
  ReplayBody,
  RotateBody,
  updateBody,
} from './endpoint-schema.ts';
import type { EndpointService } from './endpoint-service.ts';

const path = '/api/v1/event-endpoints';

export function registerEndpointRoutes(
  app: FastifyInstance,
  endpoints: EndpointService,
  names: EventNames,
): void {
  const routes = new ApiRoutes(app, 'event endpoints');
  addWrites(routes, endpoints, names);
  addActions(routes, endpoints);
  addReads(routes, endpoints, names);
}

function addWrites(routes: ApiRoutes, endpoints: EndpointService, { types }: EventNames): void {
  routes.addKeyed(`POST ${path}`, {
    scope: 'operate',
    operationId: 'createEventEndpoint',
    audited: 'everyone',
    summary: 'Create an event endpoint',
    description:
      'Till sends every later event to the URL, signed as Standard Webhooks specifies. Each event is sent at least ' +
      'once, and the events of each object are sent in order. Respond with any 2xx status within 10 s.',
    body: body(createBody(types), {
      url: endpointExample.url,
      types: endpointExample.types,
      description: endpointExample.description,
    }),
    response: {
      201: response('The new endpoint with its secret.', EndpointWithSecretSchema, endpointWithSecretExample),
    },
    failures: ['not_found', 'too_many_event_endpoints'],
    run: ({ body: { url, types = null, description = null } }, key) =>
      endpoints.create({ url, types, description }, key),
    toResponse: (endpoint, replayed) => withSecret(endpoints, endpoint, replayed),
  });
  routes.addKeyed(`PATCH ${path}/:id`, {
    scope: 'operate',
    operationId: 'updateEventEndpoint',
    audited: 'everyone',
    summary: 'Update an event endpoint',
    body: body(updateBody(types), { enabled: true, description: 'The new shop' }),
    response: {
      200: response('The updated endpoint.', EndpointSchema, {
        ...endpointExample,
        description: 'The new shop',
      }),
    },
    run: ({ params, body: { idempotencyKey: _, ...change } }, key) =>
      endpoints.update(params.id, change, key),
    toResponse: endpointResponse,
  });
  routes.add(`DELETE ${path}/:id`, {
    scope: 'operate',
    operationId: 'deleteEventEndpoint',
    audited: 'everyone',
    summary: 'Delete an event endpoint',
    response: { 204: Type.Null({ description: 'The endpoint is deleted.' }) },
    run: async ({ params }) => {
      await endpoints.remove(params.id);
      return null;
    },
  });
}

function addActions(routes: ApiRoutes, endpoints: EndpointService): void {
  routes.addKeyed(`POST ${path}/:id/rotate-secret`, {
    scope: 'operate',
    operationId: 'rotateEventEndpointSecret',
    audited: 'everyone',
    summary: 'Replace the secret of an event endpoint',
    description:
      'Each secret stays valid for a day after it was replaced: events are signed with every valid secret. An ' +
      `endpoint has at most ${validSecretsMax} valid secrets.`,
    body: body(RotateBody, {}),
    response: {
      200: response('The endpoint with its new secret.', EndpointWithSecretSchema, endpointWithSecretExample),
    },
    failures: ['too_many_event_secrets'],
    run: ({ params }, key) => endpoints.rotateSecret(params.id, key),
    toResponse: (endpoint, replayed) => withSecret(endpoints, endpoint, replayed),
  });
  routes.addKeyed(`POST ${path}/:id/replay`, {
    scope: 'operate',
    operationId: 'replayEvents',
    audited: 'everyone',
    summary: 'Send events again',
    description:
      'The events keep their ids. A receiver that checks the `webhook-id` header handles each event only once.',
    body: body(ReplayBody, { after: deliveryExample.eventId }),
    response: { 200: response('The endpoint.', EndpointSchema, endpointExample) },
    failures: ['event_expired'],
    run: ({ params, body }, key) => endpoints.replay(params.id, body.after, key),
    toResponse: endpointResponse,
  });
}

function addReads(routes: ApiRoutes, endpoints: EndpointService, names: EventNames): void {
  routes.add(`GET ${path}`, {
    scope: 'operate',
    operationId: 'listEventEndpoints',
    summary: 'List event endpoints, newest first',
    query: CursorQuery,
    response: {
      200: response('One page of endpoints.', EndpointListSchema, {
        data: [endpointExample],
        nextCursor: null,
      }),
    },
    run: async ({ query }) => {
      const { data, nextCursor } = await endpoints.list(query);
      return { data: data.map(endpointResponse), nextCursor };
    },
  });
  routes.add(`GET ${path}/:id`, {
    scope: 'operate',
    operationId: 'getEventEndpoint',
    summary: 'Get an event endpoint',
    response: { 200: response('The endpoint.', EndpointSchema, endpointExample) },
    run: async ({ params }) => endpointResponse(await endpoints.read(params.id)),
  });
  routes.add(`GET ${path}/:id/deliveries`, {
    scope: 'operate',
    operationId: 'listEventDeliveries',
    summary: 'List the deliveries of an event endpoint, newest first',
    description:
      'Shows deliveries that were attempted and those that wait for their next attempt. Later events of the same object ' +
      'wait behind a waiting delivery and are not listed yet.',
    query: DeliveriesQuery,
    response: {
      200: response('One page of deliveries.', deliveryListSchema(names), {
        data: [deliveryExample],
        nextCursor: null,
      }),
    },
    run: async ({ params, query }) => {
      const { data, nextCursor } = await endpoints.listDeliveries(params.id, query);
      return { data: data.map(deliveryResponse), nextCursor };
    },
  });
}

/** A repeated request does not show the secret again: it may have been replaced in the meantime. */
function withSecret(endpoints: EndpointService, endpoint: EventEndpoint, replayed: boolean) {
  return { ...endpointResponse(endpoint), secret: replayed ? null : endpoints.secretOf(endpoint) };
}
