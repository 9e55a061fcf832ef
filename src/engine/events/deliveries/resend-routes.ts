import type { FastifyInstance } from 'fastify';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { body, Id, response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { optionalBody } from '#http/input/validator.ts';
import type { EventNames } from '../event.ts';
import { eventExample, eventSchema } from '../feed/event-schema.ts';
import { bodyOf } from '../feed/stored-event.ts';
import {
  DeliveriesQuery,
  deliveryExample,
  deliveryListSchema,
  deliveryResponse,
  deliverySchema,
} from './delivery-schema.ts';
import type { EventService } from './event-service.ts';

/** A malformed id matches no event. */
const Params = Type.Object({ id: Type.String({ description: 'The `id` of an event.' }) });

const ResendBody = Type.Object(
  {
    endpointId: Type.Optional({
      ...Id,
      description:
        'The endpoint that gets the event again, even if it does not want its type. Without it: all enabled endpoints that ' +
        'want the type.',
    }),
  },
  { title: 'EventResend', additionalProperties: false, [optionalBody]: true },
);

const resentSchema = (names: EventNames) =>
  component('ResentEvent', {
    deliveries: Type.Array(deliverySchema(names), { description: 'Empty if no endpoint gets the event.' }),
  });

const ResentFailedSchema = component('ResentEvents', {
  count: Type.Integer({ description: 'The number of events that are sent again.' }),
});

const outsideOrder =
  'It keeps its id and its body, so a receiver that checks the `webhook-id` header handles it only once. It is sent at ' +
  'once, outside the order of its object: other events of the object neither wait for it nor delay it. Failed attempts ' +
  'are retried for three days.';

export function registerResendRoutes(app: FastifyInstance, events: EventService, names: EventNames): void {
  const routes = new ApiRoutes(app, 'events');
  addReads(routes, events, names);
  routes.add('POST /api/v1/events/:id/resend', {
    scope: 'operate',
    operationId: 'resendEvent',
    audited: 'everyone',
    summary: 'Send an event again',
    description:
      `${outsideOrder} If the event still waits at an endpoint, its next attempt is made at once instead, so repeated ` +
      'requests do not add up.',
    params: Params,
    body: body(ResendBody, { endpointId: deliveryExample.endpointId }),
    response: {
      200: response('The deliveries of the event that wait now.', resentSchema(names), {
        deliveries: [
          { ...deliveryExample, attempt: 0, responseStatus: null, responseBody: null, durationMs: null },
        ],
      }),
    },
    failures: ['event_expired', 'endpoint_disabled'],
    run: async ({ params, body: { endpointId } }) => {
      const deliveries = await events.resend(params.id, endpointId);
      return { deliveries: deliveries.map(deliveryResponse) };
    },
  });
  new ApiRoutes(app, 'event endpoints').add('POST /api/v1/event-endpoints/:id/resend-failed', {
    scope: 'operate',
    operationId: 'resendFailedEvents',
    audited: 'everyone',
    summary: 'Send all failed events of an endpoint again',
    description:
      'Resends the events of all failed deliveries that were not resent yet, oldest first, each as ' +
      '`POST /api/v1/events/{id}/resend` does. At most 10,000 per request: repeat it until `count` is 0.',
    response: { 200: response('How many are sent again.', ResentFailedSchema, { count: 12 }) },
    failures: ['endpoint_disabled'],
    run: async ({ params }) => ({ count: await events.resendFailed(params.id) }),
  });
}

function addReads(routes: ApiRoutes, events: EventService, names: EventNames): void {
  routes.add('GET /api/v1/events/:id', {
    scope: 'read',
    operationId: 'getEvent',
    summary: 'Get an event',
    params: Params,
    response: { 200: response('The event.', eventSchema(names), eventExample) },
    failures: ['event_expired'],
    run: async ({ params }, reply) => {
      const json = bodyOf(await events.read(params.id));
      return reply.type('application/json; charset=utf-8').send(Buffer.from(json));
    },
  });
  routes.add('GET /api/v1/events/:id/deliveries', {
    scope: 'operate',
    operationId: 'listDeliveriesOfEvent',
    summary: 'List the deliveries of an event, newest first',
    description:
      'The deliveries of the event to all endpoints. An endpoint that has not reached the event yet is not listed. Neither is ' +
      'one where the event waits behind an earlier event of its object.',
    params: Params,
    query: DeliveriesQuery,
    response: {
      200: response('One page of deliveries.', deliveryListSchema(names), {
        data: [deliveryExample],
        nextCursor: null,
      }),
    },
    failures: ['event_expired'],
    run: async ({ params, query }) => {
      const { data, nextCursor } = await events.listDeliveries(params.id, query);
      return { data: data.map(deliveryResponse), nextCursor };
    },
  });
}
