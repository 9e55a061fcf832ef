import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import {
  answer,
  body,
  bodyFailures,
  CursorQuery,
  IdParams,
  keyFailures,
  problems,
} from '../../http/docs/api-schema.ts';
import { answerCreated, idempotencyKeyOf, markReplay } from '../../http/input/idempotency-key.ts';
import { emptyIfAbsent } from '../../http/input/validator.ts';
import { typed } from '../../http/typed-app.ts';
import { type EventEndpoint, validSecretsMax } from './endpoint.ts';
import {
  CreateBody,
  DeliveryListSchema,
  deliveryAnswer,
  deliveryExample,
  EndpointListSchema,
  EndpointSchema,
  EndpointWithSecretSchema,
  endpointAnswer,
  endpointExample,
  endpointWithSecretExample,
  ReplayBody,
  RotateBody,
  UpdateBody,
} from './endpoint-schema.ts';
import type { EndpointService } from './endpoint-service.ts';

const tags = ['event endpoints'];
const path = '/api/v1/event-endpoints';

export function registerEndpointRoutes(app: FastifyInstance, endpoints: EndpointService): void {
  registerCreation(app, endpoints);
  registerChanges(app, endpoints);
  registerActions(app, endpoints);
  registerReads(app, endpoints);
}

function registerCreation(fastify: FastifyInstance, endpoints: EndpointService): void {
  typed(fastify).post(
    path,
    {
      config: { scope: 'operate' },
      schema: {
        tags,
        operationId: 'createEventEndpoint',
        summary: 'Create an event endpoint',
        description:
          'Till sends every later event to the URL, signed by the Standard Webhooks rules. Each event is sent at least ' +
          "once, and each object's events in order. Respond with any 2xx status within 10 s.",
        body: body(CreateBody, {
          url: endpointExample.url,
          types: endpointExample.types,
          description: endpointExample.description,
        }),
        response: {
          201: answer(
            'The new endpoint with its secret.',
            EndpointWithSecretSchema,
            endpointWithSecretExample,
          ),
          ...problems('not_found', 'too_many_event_endpoints', ...bodyFailures, ...keyFailures),
        },
      },
    },
    async (request, reply) => {
      const { url, types = null, description = null, idempotencyKey } = request.body;
      const key = idempotencyKeyOf(request, idempotencyKey);
      const { result, replayed } = await endpoints.create({ url, types, description }, key);
      return answerCreated(reply, replayed).send(withSecret(endpoints, result, replayed));
    },
  );
}

function registerChanges(fastify: FastifyInstance, endpoints: EndpointService): void {
  const app = typed(fastify);
  app.patch(
    `${path}/:id`,
    {
      config: { scope: 'operate' },
      schema: {
        tags,
        operationId: 'updateEventEndpoint',
        summary: 'Update an event endpoint',
        params: IdParams,
        body: body(UpdateBody, { enabled: true, description: 'The new shop' }),
        response: {
          200: answer('The updated endpoint.', EndpointSchema, {
            ...endpointExample,
            description: 'The new shop',
          }),
          ...problems('not_found', ...bodyFailures, ...keyFailures),
        },
      },
    },
    async (request, reply) => {
      const { idempotencyKey, ...change } = request.body;
      const key = idempotencyKeyOf(request, idempotencyKey);
      const { result, replayed } = await endpoints.update(request.params.id, change, key);
      return markReplay(reply, replayed).send(endpointAnswer(result));
    },
  );
  app.delete(
    `${path}/:id`,
    {
      config: { scope: 'operate' },
      schema: {
        tags,
        operationId: 'deleteEventEndpoint',
        summary: 'Delete an event endpoint',
        params: IdParams,
        response: {
          204: Type.Null({ description: 'The endpoint is deleted.' }),
          ...problems('not_found', ...bodyFailures),
        },
      },
    },
    async (request, reply) => {
      await endpoints.remove(request.params.id);
      return reply.code(204).send(null);
    },
  );
}

function registerActions(fastify: FastifyInstance, endpoints: EndpointService): void {
  const app = typed(fastify);
  app.post(
    `${path}/:id/rotate-secret`,
    {
      config: { scope: 'operate' },
      schema: {
        tags,
        operationId: 'rotateEventEndpointSecret',
        summary: 'Replace the secret of an event endpoint',
        description:
          'Each secret stays valid for a day after it was replaced: events are signed with every valid secret. An ' +
          `endpoint has at most ${validSecretsMax} valid secrets.`,
        params: IdParams,
        body: body(RotateBody, {}),
        response: {
          200: answer(
            'The endpoint with its new secret.',
            EndpointWithSecretSchema,
            endpointWithSecretExample,
          ),
          ...problems('not_found', 'too_many_event_secrets', ...bodyFailures, ...keyFailures),
        },
      },
      preValidation: emptyIfAbsent,
    },
    async (request, reply) => {
      const key = idempotencyKeyOf(request, request.body.idempotencyKey);
      const { result, replayed } = await endpoints.rotateSecret(request.params.id, key);
      return markReplay(reply, replayed).send(withSecret(endpoints, result, replayed));
    },
  );
  app.post(
    `${path}/:id/replay`,
    {
      config: { scope: 'operate' },
      schema: {
        tags,
        operationId: 'replayEvents',
        summary: 'Send events again',
        description:
          'The events keep their ids. Receivers that compare the `webhook-id` header handle each event once.',
        params: IdParams,
        body: body(ReplayBody, { after: deliveryExample.eventId }),
        response: {
          200: answer('The endpoint.', EndpointSchema, endpointExample),
          ...problems('not_found', 'event_expired', ...bodyFailures, ...keyFailures),
        },
      },
    },
    async (request, reply) => {
      const key = idempotencyKeyOf(request, request.body.idempotencyKey);
      const { result, replayed } = await endpoints.replay(request.params.id, request.body.after, key);
      return markReplay(reply, replayed).send(endpointAnswer(result));
    },
  );
}

function registerReads(fastify: FastifyInstance, endpoints: EndpointService): void {
  const app = typed(fastify);
  app.get(
    path,
    {
      config: { scope: 'operate' },
      schema: {
        tags,
        operationId: 'listEventEndpoints',
        summary: 'List event endpoints, newest first',
        querystring: CursorQuery,
        response: {
          200: answer('One page of endpoints.', EndpointListSchema, {
            data: [endpointExample],
            nextCursor: null,
          }),
          ...problems(),
        },
      },
    },
    async (request) => {
      const { data, nextCursor } = await endpoints.list(request.query);
      return { data: data.map(endpointAnswer), nextCursor };
    },
  );
  app.get(
    `${path}/:id`,
    {
      config: { scope: 'operate' },
      schema: {
        tags,
        operationId: 'getEventEndpoint',
        summary: 'Get an event endpoint',
        params: IdParams,
        response: { 200: answer('The endpoint.', EndpointSchema, endpointExample), ...problems('not_found') },
      },
    },
    async (request) => endpointAnswer(await endpoints.read(request.params.id)),
  );
  app.get(
    `${path}/:id/deliveries`,
    {
      config: { scope: 'operate' },
      schema: {
        tags,
        operationId: 'listEventDeliveries',
        summary: 'List the deliveries of an event endpoint, newest first',
        description:
          'Shows deliveries that were tried and those that wait for their next attempt. Later events of the same object ' +
          'wait behind it and are not listed yet.',
        params: IdParams,
        querystring: CursorQuery,
        response: {
          200: answer('One page of deliveries.', DeliveryListSchema, {
            data: [deliveryExample],
            nextCursor: null,
          }),
          ...problems('not_found'),
        },
      },
    },
    async (request) => {
      const { data, nextCursor } = await endpoints.listDeliveries(request.params.id, request.query);
      return { data: data.map(deliveryAnswer), nextCursor };
    },
  );
}

/** A repeated request does not show the secret again, which may have been replaced since. */
function withSecret(endpoints: EndpointService, endpoint: EventEndpoint, replayed: boolean) {
  return { ...endpointAnswer(endpoint), secret: replayed ? null : endpoints.secretOf(endpoint) };
}
