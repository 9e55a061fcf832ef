import type { Static } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { CursorQuery, DateTime, dateTime, Id, NextCursor, nullable } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import type { EventNames } from '../event.ts';
import { eventId } from '../feed/event-id.ts';
import { eventExample } from '../feed/event-schema.ts';
import { type Delivery, deliveryStatuses } from './delivery.ts';

const ofEvent = (values: readonly string[], description: string) =>
  Type.Unsafe<string | null>({
    type: ['string', 'null'],
    enum: [...values, null],
    description: `${description} Null if the event is no longer kept.`,
  });

type DeliverySchema = ReturnType<typeof deliverySchema>;

export function deliverySchema({ types, objectTypes }: EventNames) {
  return component('EventDelivery', {
    id: Id,
    endpointId: Type.String({ format: 'uuid', description: 'The event endpoint.' }),
    eventId: Type.String({ description: 'Also sent as the `webhook-id` header.' }),
    eventType: ofEvent(types, 'The type of the event.'),
    objectType: ofEvent(objectTypes, 'The type of the object of the event.'),
    objectId: nullable(
      Type.String({
        format: 'uuid',
        description: 'The object of the event. Null if the event is no longer kept.',
      }),
    ),
    customerId: nullable(
      Type.String({ format: 'uuid', description: 'The customer of the event, if it has one.' }),
    ),
    attempt: Type.Integer({ description: 'The number of attempts so far.' }),
    status: Type.Enum([...deliveryStatuses]),
    responseStatus: nullable(
      Type.Integer({ description: 'The HTTP status of the last attempt. Null if there was no response.' }),
    ),
    responseBody: nullable(
      Type.String({
        description:
          'The first kilobyte of the response to the last attempt. If Till sent nothing, because it must not connect to ' +
          'the URL, this says why.',
      }),
    ),
    durationMs: nullable(Type.Integer({ description: 'The duration of the last attempt.' })),
    createdAt: DateTime,
    nextAttemptAt: nullable(dateTime('Null unless it is pending.')),
  });
}

export function deliveryListSchema(names: EventNames) {
  return component('EventDeliveryList', {
    data: Type.Array(deliverySchema(names)),
    nextCursor: NextCursor,
  });
}

export const DeliveriesQuery = Type.Object(
  { ...CursorQuery.properties, status: Type.Optional(Type.Enum([...deliveryStatuses])) },
  { additionalProperties: false },
);

export const deliveryExample: Static<DeliverySchema> = {
  id: '0199c1f5-77a1-7b2c-8d3e-4f5061728394',
  endpointId: '0199c1f4-2b3c-7d4e-9f50-61728394a5b6',
  eventId: eventExample.id,
  eventType: eventExample.type,
  objectType: eventExample.objectType,
  objectId: eventExample.objectId,
  customerId: eventExample.customerId,
  attempt: 2,
  status: 'pending',
  responseStatus: 503,
  responseBody: 'try again later',
  durationMs: 87,
  createdAt: '2026-11-15T09:30:00.000Z',
  nextAttemptAt: '2026-11-15T09:30:12.500Z',
};

export function deliveryResponse(delivery: Delivery): Static<DeliverySchema> {
  const { position, checksum, eventCreatedAt, createdAt, nextAttemptAt, ...shown } = delivery;
  return {
    ...shown,
    eventId: eventId({ position, createdAtMs: eventCreatedAt.getTime(), checksum }),
    createdAt: createdAt.toISOString(),
    nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
  };
}
