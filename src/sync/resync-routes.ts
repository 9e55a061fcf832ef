import type { FastifyInstance } from 'fastify';
import { type Static, Type } from 'typebox';
import {
  answer,
  body,
  bodyFailures,
  DateTime,
  Id,
  IdParams,
  nullable,
  problems,
} from '../http/docs/api-schema.ts';
import { component } from '../http/docs/components.ts';
import { emptyIfAbsent, optionalBody } from '../http/input/validator.ts';
import { typed } from '../http/typed-app.ts';
import { resources } from '../model/facts.ts';
import { type ResyncRun, resyncStatuses } from './resync-run.ts';
import type { ResyncRuns } from './resync-runs.ts';

const Kind = Type.Enum([...resources]);

const ResyncSchema = component('Resync', {
  id: Id,
  customerId: nullable(Type.String({ format: 'uuid', description: 'Null: all customers are compared.' })),
  status: Type.Enum([...resyncStatuses], {
    description: '`stopped`: the process that ran it has ended. Start another one.',
  }),
  progress: Type.Array(
    Type.Object({
      resource: Kind,
      compared: Type.Integer({ description: 'Objects of the processor that were compared so far.' }),
      expected: Type.Integer({ description: 'About as many as will be compared.' }),
      corrected: Type.Integer({ description: 'Rows that differed and were corrected.' }),
    }),
  ),
  skipped: Type.Array(Type.Object({ resource: Kind, id: Type.String(), reason: Type.String() }), {
    description: 'The first objects that could not be compared.',
  }),
  skippedCount: Type.Integer(),
  error: nullable(Type.String({ description: 'Why it failed.' })),
  startedAt: DateTime,
  endedAt: nullable(DateTime),
});

export type ResyncAnswer = Static<typeof ResyncSchema>;

const ResyncListSchema = component('ResyncList', { data: Type.Array(ResyncSchema) });

const CreateBody = Type.Object(
  { customerId: Type.Optional(Id) },
  { additionalProperties: false, title: 'NewResync', [optionalBody]: true },
);

const example: Static<typeof ResyncSchema> = {
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

const tags = ['resyncs'];
const path = '/api/v1/resyncs';
const config = { scope: 'operate' } as const;

export function registerResyncRoutes(fastify: FastifyInstance, runs: ResyncRuns): void {
  const app = typed(fastify);
  app.post(
    path,
    {
      config,
      preValidation: emptyIfAbsent,
      schema: {
        tags,
        operationId: 'startResync',
        summary: 'Compare with the processor',
        description:
          'Compares every object with the processor, or those of one customer, and corrects what differs. It runs after ' +
          'the response, one at a time: follow it with GET. Safe at any time, and safe to repeat.',
        body: body(CreateBody, { customerId: example.id }),
        response: {
          202: answer('The resync, running.', ResyncSchema, example),
          ...problems('not_found', 'resync_running', ...bodyFailures),
        },
      },
    },
    async (request, reply) => {
      const run = await runs.start(request.body.customerId ?? null);
      return reply.code(202).send(toAnswer(run));
    },
  );
  app.get(
    path,
    {
      config,
      schema: {
        tags,
        operationId: 'listResyncs',
        summary: 'List resyncs, newest first',
        description: 'The last 50.',
        response: { 200: answer('The resyncs.', ResyncListSchema, { data: [example] }), ...problems() },
      },
    },
    async () => ({ data: (await runs.list()).map(toAnswer) }),
  );
  app.get(
    `${path}/:id`,
    {
      config,
      schema: {
        tags,
        operationId: 'getResync',
        summary: 'Get a resync with its progress',
        params: IdParams,
        response: { 200: answer('The resync.', ResyncSchema, example), ...problems('not_found') },
      },
    },
    async (request) => toAnswer(await runs.read(request.params.id)),
  );
}

function toAnswer(run: ResyncRun): Static<typeof ResyncSchema> {
  return {
    ...run,
    progress: [...run.progress],
    skipped: [...run.skipped],
    startedAt: run.startedAt.toISOString(),
    endedAt: run.endedAt?.toISOString() ?? null,
  };
}
