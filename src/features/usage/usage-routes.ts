import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Failure } from '#core/errors.ts';
import type { Mistake } from '#core/problem-fields.ts';
import { ApiRoutes } from '#http/api-routes.ts';
import { body, response } from '#http/docs/api-schema.ts';
import { mistakesMax, usageBodyBytesMax } from '#http/load/limits.ts';
import type { UsageConsumption } from './usage-consumption.ts';
import type { UsageReading } from './usage-reading.ts';
import {
  ConsumeBody,
  ConsumedSchema,
  EventsQuery,
  usageExample as example,
  RecordBody,
  RecordedSchema,
  TotalsQuery,
  TotalsSchema,
  UsageEventListSchema,
} from './usage-schema.ts';
import type { UsageService } from './usage-service.ts';

const path = '/api/v1/usage';

export interface UsageServices {
  readonly usage: UsageService;
  readonly consumption: UsageConsumption;
  readonly reading: UsageReading;
}

export function registerUsageRoutes(app: FastifyInstance, services: UsageServices): void {
  const routes = new ApiRoutes(app, 'usage');
  addWrites(routes, services);
  addReads(routes, services.reading);
}

const { id, customerId, meter, quantity, at } = example;
const exampleOfNew = { id, customerId, meter, quantity, at };

function addWrites(routes: ApiRoutes, { usage, consumption }: UsageServices): void {
  routes.add(`POST ${path}`, {
    scope: 'usage',
    operationId: 'recordUsage',
    summary: 'Record what customers have used',
    description:
      'Counts each event once, even if it is sent several times. A rejected event does not affect the others. If there is ' +
      'no response, send the same batch again, or any part of it.',
    body: body(RecordBody, { events: [exampleOfNew] }),
    bodyBytesMax: usageBodyBytesMax,
    response: {
      200: response('The results, after the commit.', RecordedSchema, {
        recorded: 1,
        duplicates: 0,
        rejected: [],
      }),
    },
    run: async (request) => {
      const { events } = request.body;
      requireCustomers(events, (index) => `body.events[${index}]`);
      const { rejected, ...counts } = await usage.record(applicationOf(request), events);
      return { ...counts, rejected: [...rejected] };
    },
  });
  routes.add(`POST ${path}/consume`, {
    scope: 'usage',
    operationId: 'consumeUsage',
    summary: 'Use something if the limit allows it',
    description:
      'Checks and counts in one step: the quantity is counted only if it fits into the window. If fifty requests arrive ' +
      'while ten are left, ten are allowed. The same id again is allowed, and counted once. A refusal is not remembered.',
    body: body(ConsumeBody, exampleOfNew),
    response: {
      200: response('Whether it is allowed.', ConsumedSchema, {
        allowed: true,
        used: 251,
        limit: 1_000,
        remaining: 749,
        resetsAt: '2026-12-15T09:30:00.000Z',
      }),
    },
    failures: ['not_found', 'meter_archived', 'id_reused'],
    run: async (request) => {
      requireCustomers([request.body], () => 'body');
      const { resetsAt, ...consumed } = await consumption.consume(applicationOf(request), request.body);
      return { ...consumed, resetsAt: resetsAt.toISOString() };
    },
  });
}

function addReads(routes: ApiRoutes, reading: UsageReading): void {
  routes.add(`GET ${path}`, {
    scope: 'read',
    operationId: 'getUsage',
    summary: 'Get what a customer has used on each day',
    description: 'Days are those of `at`, in UTC. Events are kept for the setting `USAGE_RETENTION_DAYS`.',
    query: TotalsQuery,
    failures: ['not_found'],
    response: {
      200: response('The sums of the days.', TotalsSchema, { data: [{ date: '2026-11-15', quantity: 250 }] }),
    },
    run: async ({ query }) => ({ data: [...(await reading.totals(query))] }),
  });
  routes.add(`GET ${path}/events`, {
    scope: 'read',
    operationId: 'listUsageEvents',
    summary: 'List the usage events of a customer, the latest first',
    query: EventsQuery,
    failures: ['not_found'],
    response: {
      200: response('One page of events.', UsageEventListSchema, { data: [example], nextCursor: null }),
    },
    run: async ({ query }) => {
      const { data, nextCursor } = await reading.list(query);
      return {
        data: data.map(({ at, createdAt, ...event }) => ({
          ...event,
          at: at.toISOString(),
          createdAt: createdAt.toISOString(),
        })),
        nextCursor,
      };
    },
  });
}

/** The ids of events belong to the name of the API key, as idempotency keys do. */
function applicationOf({ caller }: Pick<FastifyRequest, 'caller'>): string {
  if (caller === undefined) throw new Error('a request reached the API without an API key');
  return caller.application;
}

/** Fails unless each event names its customer by one of the two ids. */
function requireCustomers(
  events: readonly { readonly customerId?: string; readonly externalId?: string }[],
  pathOf: (index: number) => string,
): void {
  const errors = events.flatMap(({ customerId, externalId }, index): readonly Mistake[] => {
    if ((customerId === undefined) !== (externalId === undefined)) return [];
    const isMissing = customerId === undefined;
    const message = isMissing ? 'is required, unless externalId is sent' : 'must not be sent with externalId';
    return [{ path: `${pathOf(index)}.customerId`, message }];
  });
  if (errors.length === 0) return;
  const shown = errors.slice(0, mistakesMax);
  const detail = shown.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw new Failure('invalid_request', detail, { errors: shown });
}
