import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { type Meter, meterKeyPattern, meterResets } from '#core/model/meter.ts';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import {
  body,
  CursorQuery,
  DateTime,
  Id,
  IdempotencyKey,
  Name,
  NextCursor,
  response,
} from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import type { MeterService } from './meter-service.ts';

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

const MeterSchema = component('Meter', {
  id: Id,
  key: Key,
  name: Name,
  resets: Resets,
  active: Type.Boolean({ description: 'False once it is archived. Then its usage is rejected.' }),
  createdAt: DateTime,
  updatedAt: DateTime,
});

const MeterListSchema = component('MeterList', {
  data: Type.Array(MeterSchema),
  nextCursor: NextCursor,
});

const CreateBody = Type.Object(
  { key: Key, name: Name, resets: Resets, idempotencyKey: Type.Optional(IdempotencyKey) },
  { title: 'NewMeter', additionalProperties: false },
);

const UpdateBody = Type.Object(
  { name: Type.Optional(Name), idempotencyKey: Type.Optional(IdempotencyKey) },
  { title: 'MeterChange', additionalProperties: false },
);

const example: Static<typeof MeterSchema> = {
  id: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  key: 'api_calls',
  name: 'API calls',
  resets: 'period',
  active: true,
  createdAt: '2026-11-15T09:30:00.000Z',
  updatedAt: '2026-11-15T09:30:00.000Z',
};

const path = '/api/v1/meters';

export function registerMeterRoutes(app: FastifyInstance, meters: MeterService): void {
  const routes = new ApiRoutes(app, 'usage');
  routes.addKeyed(`POST ${path}`, {
    scope: 'write',
    operationId: 'createMeter',
    summary: 'Create a meter',
    description:
      'A meter adds up the quantities of usage events. An integer feature of a plan with the same name as `key` is the ' +
      'limit in each window, and `true` means that there is no limit.',
    body: body(CreateBody, { key: example.key, name: example.name, resets: example.resets }),
    response: { 201: response('The new meter.', MeterSchema, example) },
    failures: ['meter_key_taken', 'too_many_meters'],
    run: ({ body: { key, name, resets } }, idempotencyKey) =>
      meters.create({ key, name, resets }, idempotencyKey),
    toResponse: meterView,
  });
  routes.addKeyed(`PATCH ${path}/:id`, {
    scope: 'write',
    operationId: 'updateMeter',
    summary: 'Update a meter',
    body: body(UpdateBody, { name: 'Calls' }),
    response: { 200: response('The updated meter.', MeterSchema, { ...example, name: 'Calls' }) },
    run: ({ params, body: { name } }, idempotencyKey) => meters.update(params.id, { name }, idempotencyKey),
    toResponse: meterView,
  });
  routes.add(`POST ${path}/:id/archive`, {
    scope: 'write',
    operationId: 'archiveMeter',
    summary: 'Archive a meter',
    description: 'An archived meter rejects usage, and its limits end. What was counted can still be read.',
    response: { 200: response('The archived meter.', MeterSchema, { ...example, active: false }) },
    run: async ({ params }) => meterView(await meters.archive(params.id)),
  });
  routes.add(`GET ${path}`, {
    scope: 'read',
    operationId: 'listMeters',
    summary: 'List meters, newest first',
    query: CursorQuery,
    response: {
      200: response('One page of meters.', MeterListSchema, { data: [example], nextCursor: null }),
    },
    run: async ({ query }) => {
      const { data, nextCursor } = await meters.list(query);
      return { data: data.map(meterView), nextCursor };
    },
  });
  routes.add(`GET ${path}/:id`, {
    scope: 'read',
    operationId: 'getMeter',
    summary: 'Get a meter',
    response: { 200: response('The meter.', MeterSchema, example) },
    run: async ({ params }) => meterView(await meters.read(params.id)),
  });
}

/** A meter as the API shows it. */
function meterView({ id, key, name, resets, active, createdAt, updatedAt }: Meter) {
  return {
    id,
    key,
    name,
    resets,
    active,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
