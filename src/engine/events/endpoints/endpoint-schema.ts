import type { Static } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { DateTime, dateTime, Id, IdempotencyKey, NextCursor, nullable } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { optionalBody } from '#http/input/validator.ts';
import { disabledReasons, type EventEndpoint } from './endpoint.ts';
import { urlLengthMax } from './endpoint-address.ts';

const descriptionLengthMax = 500;

const Url = Type.String({
  minLength: 1,
  maxLength: urlLengthMax,
  pattern: '^[!-~]+$',
  description:
    'Where Till sends events with POST. Must be https, without a user, a password or a fragment, and must not resolve ' +
    'to an address in a private or special range.',
});
const typesOf = (known: readonly string[]) =>
  Type.Unsafe<readonly string[] | null>({
    type: ['array', 'null'],
    items: { type: 'string', enum: [...known] },
    minItems: 1,
    maxItems: known.length,
    uniqueItems: true,
    description: 'The types of events to send. Null: all types, including those of later releases.',
  });
const Description = nullable(
  Type.String({ maxLength: descriptionLengthMax, description: 'For your own use.' }),
);

export const EndpointSchema = component('EventEndpoint', {
  id: Id,
  url: Type.String(),
  types: Type.Unsafe<readonly string[] | null>({
    type: ['array', 'null'],
    items: { type: 'string' },
    description: 'The types of events that are sent. Null: all types.',
  }),
  description: nullable(Type.String()),
  enabled: Type.Boolean({ description: 'False: no events are sent. They are kept until it is true again.' }),
  disabledAt: nullable(DateTime),
  disabledReason: Type.Unsafe<EventEndpoint['disabledReason']>({
    type: ['string', 'null'],
    enum: [...disabledReasons, null],
    description:
      '`request`: turned off by a request. `failing`: Till turned it off, because nothing had succeeded for three ' +
      'days. Null if it is enabled.',
  }),
  failingSince: nullable(
    dateTime('The first failed attempt since the last success. Null if there was no failure since.'),
  ),
  createdAt: DateTime,
  updatedAt: DateTime,
});

export const EndpointWithSecretSchema = component('EventEndpointWithSecret', {
  ...EndpointSchema.properties,
  secret: nullable(
    Type.String({
      description:
        'The secret that signs the events, as Standard Webhooks specifies. Only this response shows it. Null in the ' +
        'response to a repeated request. If the first response is lost, rotate the secret.',
    }),
  ),
});

export const EndpointListSchema = component('EventEndpointList', {
  data: Type.Array(EndpointSchema),
  nextCursor: NextCursor,
});

export const createBody = (types: readonly string[]) =>
  Type.Object(
    {
      url: Url,
      types: Type.Optional(typesOf(types)),
      description: Type.Optional(Description),
      idempotencyKey: Type.Optional(IdempotencyKey),
    },
    { title: 'NewEventEndpoint', additionalProperties: false },
  );

export const updateBody = (types: readonly string[]) =>
  Type.Object(
    {
      url: Type.Optional(Url),
      types: Type.Optional(typesOf(types)),
      description: Type.Optional(Description),
      enabled: Type.Optional(
        Type.Boolean({
          description: 'An endpoint that is turned on again continues with the first event that it missed.',
        }),
      ),
      idempotencyKey: Type.Optional(IdempotencyKey),
    },
    {
      title: 'EventEndpointChange',
      additionalProperties: false,
      description: 'Fields that you leave out keep their value.',
    },
  );

export const RotateBody = Type.Object(
  { idempotencyKey: Type.Optional(IdempotencyKey) },
  { title: 'EventSecretRotation', additionalProperties: false, [optionalBody]: true },
);

export const ReplayBody = Type.Object(
  {
    after: nullable(
      Type.String({
        maxLength: 255,
        description:
          'The id of an event: the events after it are sent again. Null: all events that are kept. An endpoint that ' +
          'has not reached this event yet skips nothing.',
      }),
    ),
    idempotencyKey: Type.Optional(IdempotencyKey),
  },
  { title: 'EventReplay', additionalProperties: false },
);

export const endpointExample: Static<typeof EndpointSchema> = {
  id: '0199c1f4-2b3c-7d4e-9f50-61728394a5b6',
  url: 'https://shop.example.com/till-events',
  types: ['payment.succeeded', 'subscription.entitled', 'subscription.unentitled'],
  description: 'The shop',
  enabled: true,
  disabledAt: null,
  disabledReason: null,
  failingSince: null,
  createdAt: '2026-11-15T09:30:00.000Z',
  updatedAt: '2026-11-15T09:30:00.000Z',
};

export const endpointWithSecretExample: Static<typeof EndpointWithSecretSchema> = {
  ...endpointExample,
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=',
};

export function endpointResponse(endpoint: EventEndpoint): Static<typeof EndpointSchema> {
  const { id, url, types, description, enabled, disabledReason } = endpoint;
  return {
    ...{ id, url, types, description, enabled, disabledReason },
    disabledAt: endpoint.disabledAt?.toISOString() ?? null,
    failingSince: endpoint.failingSince?.toISOString() ?? null,
    createdAt: endpoint.createdAt.toISOString(),
    updatedAt: endpoint.updatedAt.toISOString(),
  };
}
