import type { Static } from 'typebox';
import { meterKeyLengthMax } from '#core/model/meter.ts';
import { Type } from '#core/platform/schemas.ts';
import {
  CursorQuery,
  DateTime,
  dateTime,
  ExternalId,
  Id,
  NextCursor,
  nullable,
} from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { patternRule } from '#http/input/validator.ts';
import { daysDefault, daysMax } from './usage-reading.ts';
import { rejectionCodes } from './usage-service.ts';

/** A batch of them takes tens of milliseconds. `usageBodyBytesMax` has room for their JSON. */
const eventsMax = 1_000;
const quantityMax = 1_000_000_000_000;

const EventId = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[^\\s\\p{C}]+$',
  [patternRule]: 'must have only visible characters',
  description:
    'Your own id of the usage, such as the id of the request that you served. Within a UTC day of `at`, and for API ' +
    'keys of the same name, an id counts once. Till remembers it for 35 days.',
});
const MeterKey = Type.String({
  minLength: 1,
  maxLength: meterKeyLengthMax,
  description: 'The key of a meter.',
});

/** One of the two ids. The route checks this, because an error of a union would name neither. */
const customerOf = {
  customerId: Type.Optional({ ...Id, description: 'Either this or `externalId`.' }),
  externalId: Type.Optional(ExternalId),
};

const NewUsageEvent = component('NewUsageEvent', {
  id: EventId,
  ...customerOf,
  meter: MeterKey,
  quantity: Type.Optional(
    Type.Integer({
      minimum: -quantityMax,
      maximum: quantityMax,
      default: 1,
      description: 'The used quantity. A negative one corrects an earlier event.',
    }),
  ),
  at: dateTime(
    'When it was used (RFC 3339): at most 35 days ago, and at most 5 minutes ahead. Keep it with the id, and send the ' +
      'same on a retry. It decides in which window the event counts.',
  ),
});

export const RecordBody = Type.Object(
  {
    events: Type.Array(
      { ...NewUsageEvent, additionalProperties: false },
      { minItems: 1, maxItems: eventsMax },
    ),
  },
  { title: 'UsageBatch', additionalProperties: false },
);

export const RecordedSchema = component('RecordedUsage', {
  recorded: Type.Integer({ description: 'Events that were counted now.' }),
  duplicates: Type.Integer({ description: 'Events that were counted before, with the same content.' }),
  rejected: Type.Array(
    Type.Object({
      index: Type.Integer({ description: 'The place of the event in `events`, from 0.' }),
      id: Type.String(),
      code: Type.Enum([...rejectionCodes], {
        description:
          '`too_old`, `in_future`: see `at`. `id_reused`: an earlier event of the same day has this id and other content. ' +
          'A rejected event changes nothing, and sending it again as it is does not help.',
      }),
    }),
  ),
});

export const ConsumeBody = Type.Object(
  {
    id: EventId,
    ...customerOf,
    meter: MeterKey,
    quantity: Type.Optional(Type.Integer({ minimum: 1, maximum: quantityMax, default: 1 })),
    at: dateTime('When it is used (RFC 3339): at most an hour ago, and at most 5 minutes ahead.'),
  },
  { title: 'UsageConsumption', additionalProperties: false },
);

export const ConsumedSchema = component('ConsumedUsage', {
  allowed: Type.Boolean({ description: 'True if the quantity fits and is counted, now or before.' }),
  used: Type.Integer({ description: 'In the window of `at`, this quantity included if it is allowed.' }),
  limit: nullable(Type.Integer({ description: 'Null if there is no limit.' })),
  remaining: nullable(Type.Integer({ description: 'At least 0. Null if there is no limit.' })),
  resetsAt: dateTime('When the window ends.'),
});

const ofCustomer = { ...Id, description: 'The customer.' };
const From = Type.Optional(
  Type.String({
    format: 'date',
    description: `The first UTC day. By default ${daysDefault} days before \`to\`, and at most ${daysMax} days before it.`,
  }),
);
const To = Type.Optional(
  Type.String({ format: 'date', description: 'The UTC day after the last one. Default: tomorrow.' }),
);

export const TotalsQuery = Type.Object(
  { customerId: ofCustomer, meter: MeterKey, from: From, to: To },
  { additionalProperties: false },
);

export const TotalsSchema = component('UsageTotals', {
  data: Type.Array(
    Type.Object({
      date: Type.String({ format: 'date', description: 'A UTC day. Days without usage are left out.' }),
      quantity: Type.Integer(),
    }),
  ),
});

export const EventsQuery = Type.Object(
  { customerId: ofCustomer, meter: Type.Optional(MeterKey), from: From, to: To, ...CursorQuery.properties },
  { additionalProperties: false },
);

const UsageEventSchema = component('UsageEvent', {
  id: Type.String(),
  customerId: Id,
  meter: Type.String({ description: 'The key of the meter.' }),
  quantity: Type.Integer(),
  at: DateTime,
  createdAt: DateTime,
});

export const UsageEventListSchema = component('UsageEventList', {
  data: Type.Array(UsageEventSchema),
  nextCursor: NextCursor,
});

export const usageExample: Static<typeof UsageEventSchema> = {
  id: 'request-8c1f',
  customerId: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  meter: 'api_calls',
  quantity: 1,
  at: '2026-11-15T09:30:00.000Z',
  createdAt: '2026-11-15T09:30:00.250Z',
};
