import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { body, DateTime, Id, nullable, response } from '#http/docs/api-schema.ts';
import { component } from '#http/docs/components.ts';
import { optionalBody } from '#http/input/validator.ts';
import { type ResyncRun, resyncStatuses } from './resync-run.ts';
import type { ResyncRuns } from './resync-runs.ts';

const resyncSchema = (resources: readonly string[]) =>
  component('Resync', {
    id: Id,
    customerId: nullable(
      Type.String({ format: 'uuid', description: 'Null: the resync compares all customers.' }),
    ),
    status: Type.Enum([...resyncStatuses], {
      description: '`stopped`: the process that ran it has ended. Start another one.',
    }),
    progress: Type.Array(
      Type.Object({
        resource: Type.Enum([...resources]),
        compared: Type.Integer({ description: 'Objects of the processor that were compared so far.' }),
        expected: Type.Integer({ description: 'The approximate number of objects to compare.' }),
        corrected: Type.Integer({ description: 'Rows that differed and were corrected.' }),
      }),
    ),
    skipped: Type.Array(
      Type.Object({ resource: Type.Enum([...resources]), id: Type.String(), reason: Type.String() }),
      {
        description: 'The first objects that could not be compared.',
      },
    ),
    skippedCount: Type.Integer(),
    error: nullable(Type.String({ description: 'Why it failed.' })),
    startedAt: DateTime,
    endedAt: nullable(DateTime),
  });

const CreateBody = Type.Object(
  { customerId: Type.Optional(Id) },
  { additionalProperties: false, title: 'NewResync', [optionalBody]: true },
);

type Resync = Static<ReturnType<typeof resyncSchema>>;

const example: Resync = {
  id: '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90',
  customerId: null,
  status: 'running',
  progress: [{ resource: 'customer', compared: 300, expected: 1_200, corrected: 1 }],
  skipped: [],
  skippedCount: 0,
  error: null,
  startedAt: '2026-11-15T09:30:00.000Z',
  endedAt: null,
};

const path = '/api/v1/resyncs';

/** `resources`: all that a resync compares. */
export function registerResyncRoutes(
  app: FastifyInstance,
  runs: ResyncRuns,
  resources: readonly string[],
): void {
  const ResyncSchema = resyncSchema(resources);
  const ResyncListSchema = component('ResyncList', { data: Type.Array(ResyncSchema) });
  const routes = new ApiRoutes(app, 'resyncs');
  routes.add(`POST ${path}`, {
    scope: 'operate',
    operationId: 'startResync',
    audited: 'everyone',
    summary: 'Compare with the processor',
    description:
      'Compares every object with the processor, or those of one customer, and corrects what differs. It runs after ' +
      'the response, one at a time: follow it with GET. Safe at any time, and safe to repeat.',
    body: body(CreateBody, { customerId: example.id }),
    response: { 202: response('The resync, running.', ResyncSchema, example) },
    failures: ['not_found', 'resync_running'],
    run: async (request) => toResponse(await runs.start(request.body.customerId ?? null)),
  });
  routes.add(`GET ${path}`, {
    scope: 'operate',
    operationId: 'listResyncs',
    summary: 'List resyncs, newest first',
    description: 'The last 50.',
    response: { 200: response('The resyncs.', ResyncListSchema, { data: [example] }) },
    run: async () => ({ data: (await runs.list()).map(toResponse) }),
  });
  routes.add(`GET ${path}/:id`, {
    scope: 'operate',
    operationId: 'getResync',
    summary: 'Get a resync with its progress',
    response: { 200: response('The resync.', ResyncSchema, example) },
    run: async ({ params }) => toResponse(await runs.read(params.id)),
  });
}

function toResponse(run: ResyncRun): Resync {
  return {
    ...run,
    progress: [...run.progress],
    skipped: [...run.skipped],
    startedAt: run.startedAt.toISOString(),
    endedAt: run.endedAt?.toISOString() ?? null,
  };
}
