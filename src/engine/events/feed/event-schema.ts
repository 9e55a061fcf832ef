import type { Static } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { DateTime, Id, IncludedCustomer, nullable } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import type { EventNames } from '../event.ts';

const CauseSchema = Type.Object(
  {
    kind: Type.Enum(['api', 'webhook', 'recovery', 'resync', 'import', 'sweeper'], {
      description: 'A request, an event of the processor, or the background work that found the change.',
    }),
    keyName: nullable(Type.String({ description: 'The name of the API key of the request.' })),
    person: nullable(
      Type.String({ description: 'The e-mail address of the person who sent the request with the console.' }),
    ),
    requestId: nullable(Type.String({ description: 'The `x-request-id` of the request.' })),
    processorEventId: nullable(Type.String({ description: "The id of the processor's event." })),
  },
  {
    description:
      'What caused the change. Fields that do not apply are null. If the processor reports the change of a request before ' +
      'the request has recorded it, the cause contains both.',
  },
);

/** An object of any type, as its own endpoint shows it. */
const object = (description: string) =>
  Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: 'object',
    additionalProperties: true,
    description,
  });

type EventSchema = ReturnType<typeof eventSchema>;

export function eventSchema({ types, objectTypes }: EventNames) {
  return component('Event', {
    id: Type.String({ description: 'Opaque. Send it as `after` to get the events that follow.' }),
    type: Type.Enum([...types]),
    createdAt: DateTime,
    objectType: Type.Enum([...objectTypes]),
    objectId: Id,
    customerId: nullable(
      Type.String({
        format: 'uuid',
        description:
          'The customer that the object belongs to, or whose usage a meter counts. Null for a plan.',
      }),
    ),
    data: object(
      'The object after the change, as its own endpoint shows it. For `usage.limit_reached`: `meter` (its key), `used`, ' +
        '`limit`, `periodStart` and `periodEnd`.',
    ),
    previous: object('The old values of the fields that changed. Empty on creation.'),
    cause: CauseSchema,
    customer: IncludedCustomer,
  });
}

export const eventExample: Static<EventSchema> = {
  id: 'evt_AaHeisnAAGZ6tdDAL5HEoHvj',
  type: 'plan.updated',
  createdAt: '2026-11-15T09:30:00.000Z',
  objectType: 'plan',
  objectId: '0199c1f2-3c4d-7a5b-8e6f-1a2b3c4d5e6f',
  customerId: null,
  data: {
    id: '0199c1f2-3c4d-7a5b-8e6f-1a2b3c4d5e6f',
    processorProductId: 'prod_NZKdYqrwEYx6iK',
    processorPriceId: 'price_1MoBy5LkdIwHu7ixZhnattbh',
    name: 'Gold',
    amount: 1_900,
    currency: 'eur',
    interval: 'month',
    intervalCount: 1,
    features: { seats: 10 },
    group: 'main',
    active: true,
    metadata: {},
    createdAt: '2026-11-01T08:00:00.000Z',
    updatedAt: '2026-11-15T09:30:00.000Z',
  },
  previous: { features: { seats: 5 }, updatedAt: '2026-11-01T08:00:00.000Z' },
  cause: {
    kind: 'api',
    keyName: 'shop',
    person: null,
    requestId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
    processorEventId: null,
  },
};
