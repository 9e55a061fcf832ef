import type { FastifyInstance } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { Type } from '#core/platform/schemas.ts';
import { shareConcurrent } from '#core/platform/share-concurrent.ts';
import { version } from '#core/platform/version.ts';
import { component } from '../docs/components.ts';
import { operatorRoute } from './operator-route.ts';

export interface Dependency {
  readonly name: string;
  /** Rejects, within about a second, when the dependency is down. */
  readonly check: () => Promise<void>;
  /** Rejects only when it cannot be reached at all. Set for a dependency that every request needs. */
  readonly reach?: () => Promise<void>;
  /** The consequence of the outage, for the response. */
  readonly downMessage?: string;
}

const DependencyHealth = Type.Object(
  { status: Type.String({ description: '`up` or `down`.' }), message: Type.Optional(Type.String()) },
  { additionalProperties: true },
);
const DependencyMap = Type.Unsafe<Record<string, Static<typeof DependencyHealth>>>({
  type: 'object',
  patternProperties: { '^.*$': DependencyHealth },
});

const HealthSchema = component('Health', {
  status: Type.String({ description: '`ok` if every dependency is up, otherwise `error`.' }),
  info: DependencyMap,
  error: DependencyMap,
  details: DependencyMap,
  version: Type.String({ description: 'The version of Till that runs.' }),
});

type Health = Static<typeof HealthSchema>;

const up = { status: 'up' };
const down = { status: 'down', message: 'not reachable or not writable' };
const healthyExample: Health = {
  status: 'ok',
  info: { database: up, cache: up },
  error: {},
  details: { database: up, cache: up },
  version: '0.1.0',
};
const unhealthyExample: Health = {
  status: 'error',
  info: { database: up },
  error: { cache: down },
  details: { database: up, cache: down },
  version: '0.1.0',
};

export function registerHealth(
  app: FastifyInstance,
  dependencies: readonly Dependency[],
  isStopping: () => boolean,
): void {
  // Anyone may request health at any rate.
  const check = shareConcurrent(() => readHealth(dependencies));
  app.get(
    '/health',
    operatorRoute({
      operationId: 'getHealth',
      summary: 'Check whether the database and the cache are ready',
      response: {
        200: jsonResponse('Every dependency is up.', HealthSchema, { ok: healthyExample }),
        503: jsonResponse(
          'A dependency is down, or the service is stopping. `error` lists the causes.',
          HealthSchema,
          { error: unhealthyExample },
        ),
      },
    }),
    async (_request, reply) => {
      const health = isStopping() ? withStopping(await check()) : await check();
      return reply.code(health.status === 'ok' ? 200 : 503).send(health);
    },
  );
  registerReadiness(app, dependencies, isStopping);
  app.get(
    '/health/live',
    operatorRoute({
      operationId: 'getLiveness',
      summary: 'Check whether the process is alive',
      response: {
        200: jsonResponse('The process is alive.', component('Liveness', { status: Type.String() }), {
          alive: { status: 'ok' },
        }),
      },
    }),
    async () => ({ status: 'ok' }),
  );
}

function registerReadiness(
  app: FastifyInstance,
  dependencies: readonly Dependency[],
  isStopping: () => boolean,
): void {
  const schema = component('Readiness', {
    status: Type.String({ description: '`ok` if the process can serve requests, otherwise `error`.' }),
  });
  const reachAll = shareConcurrent(() => Promise.all(dependencies.map(({ reach }) => reach?.())));
  const isReady = () =>
    reachAll().then(
      () => true,
      () => false,
    );
  app.get(
    '/health/ready',
    operatorRoute({
      operationId: 'getReadiness',
      summary: 'Check whether the process can serve requests',
      description:
        'For load balancers and readiness probes. The cache does not count, because requests are served without it.',
      response: {
        200: jsonResponse('The database can be reached.', schema, { ok: { status: 'ok' } }),
        503: jsonResponse('The database cannot be reached, or the service is stopping.', schema, {
          error: { status: 'error' },
        }),
      },
    }),
    async (_request, reply) => {
      const isOk = !isStopping() && (await isReady());
      return reply.code(isOk ? 200 : 503).send({ status: isOk ? 'ok' : 'error' });
    },
  );
}

async function readHealth(dependencies: readonly Dependency[]): Promise<Health> {
  const entries = await Promise.all(
    dependencies.map(async ({ name, check, downMessage: message = down.message }) => {
      const state = await check().then(
        () => up,
        () => ({ ...down, message }),
      );
      return [name, state] as const;
    }),
  );
  const info = entries.filter(([, state]) => state === up);
  const error = entries.filter(([, state]) => state !== up);
  return {
    status: error.length === 0 ? 'ok' : 'error',
    info: Object.fromEntries(info),
    error: Object.fromEntries(error),
    details: Object.fromEntries(entries),
    version,
  };
}

/** For load balancers, a stopping service is the same as an unavailable one. */
function withStopping({ error, details, ...health }: Health): Health {
  const service = { status: 'down', message: 'stopping' };
  return { ...health, status: 'error', error: { ...error, service }, details: { ...details, service } };
}

/** With one example, under its name. */
function jsonResponse(description: string, schema: TSchema, named: Readonly<Record<string, object>>) {
  const examples = Object.fromEntries(Object.entries(named).map(([name, value]) => [name, { value }]));
  return { description, content: { 'application/json': { schema, examples } } };
}
