import type { Static } from 'typebox';
import { meterKeyPattern, meterResets } from '#core/model/meter.ts';
import { Type } from '#core/platform/schemas.ts';
import { DateTime, Id, IdempotencyKey, Name, NextCursor } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';

const Key = Type.String({
  pattern: meterKeyPattern,
  description:
    'The name of the meter in usage events, and of the feature of a plan that limits it: 1 to 64 lower-case letters, ' +
    'digits, `_`, `.` and `-`. No two meters have the same one.',
});
const Resets = Type.Enum([...meterResets], {
  description:
    'When a window ends and counting begins again. `period`: with the period of the subscription. `month`: every month ' +
    'from the start of the period, for longer periods.',
});

export const MeterSchema = component('Meter', {
  id: Id,
  key: Key,
  name: Name,
  resets: Resets,
  active: Type.Boolean({ description: 'False once it is archived. Then its usage is rejected.' }),
  createdAt: DateTime,
  updatedAt: DateTime,
});

export const MeterListSchema = component('MeterList', {
  data: Type.Array(MeterSchema),
  nextCursor: NextCursor,
});

export const CreateBody = Type.Object(
  { key: Key, name: Name, resets: Resets, idempotencyKey: Type.Optional(IdempotencyKey) },
  { title: 'NewMeter', additionalProperties: false },
);

export const UpdateBody = Type.Object(
  { name: Type.Optional(Name), idempotencyKey: Type.Optional(IdempotencyKey) },
  { title: 'MeterChange', additionalProperties: false },
);

export const meterExample: Static<typeof MeterSchema> = {
  id: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  key: 'api_calls',
  name: 'API calls',
  resets: 'period',
  active: true,
  createdAt: '2026-11-15T09:30:00.000Z',
  updatedAt: '2026-11-15T09:30:00.000Z',
};
