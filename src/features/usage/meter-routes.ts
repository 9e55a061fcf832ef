import type { FastifyInstance } from 'fastify';
import { ApiRoutes } from '#http/api-routes.ts';
import { body, CursorQuery, response } from '#http/docs/api-schema.ts';
import {
  CreateBody,
  meterExample as example,
  MeterListSchema,
  MeterSchema,
  UpdateBody,
} from './meter-schema.ts';
import type { MeterService } from './meter-service.ts';
import { meterView } from './meter-view.ts';

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
