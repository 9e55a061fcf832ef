import type { TestContext } from 'node:test';
import type pg from 'pg';
import { Stripe } from 'stripe';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { type CrashPoints, noCrashPoints } from '../../src/idempotency/crash-points.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { OwnerLock } from '../../src/platform/owner-lock.ts';
import { Database } from '../../src/platform/postgres.ts';
import { type Processor, processorOperations } from '../../src/processor/processor.ts';
import { createStripeProcessor } from '../../src/processor/stripe/stripe-processor.ts';
import type { CallLimits } from '../../src/processor/stripe/wire/calls.ts';
import { composeServices, registerRoutes, type Services } from '../../src/till/compose-services.ts';
import { startFrame, testKey } from './frame.ts';
import { captureLog } from './log-capture.ts';
import { createTestDatabase, openPool } from './test-database.ts';

/** Retries come at once. The time-outs are never met unless a test means to meet them. */
const patient: CallLimits = { deadlineMs: 60_000, tryTimeoutMs: 30_000, retriesMax: 2, retryDelayMs: 1 };

/** One call and its retries, as often as the adapter above makes them: a fault must outlast them all to be seen. */
export const triesPerCall = patient.retriesMax + 1;

export interface Answer {
  readonly status: number;
  readonly replayed: boolean;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A POST with a valid key, and an idempotency key if one is given. */
export type Post = (path: string, body: object, idempotencyKey?: string) => Promise<Answer>;

/** A processor and a database, apart from the services that use them, so that those can die. */
export interface Lab {
  readonly databaseUrl: string;
  readonly processorUrl: string;
  /** The official client: the dashboard, and the frontend that confirms payments. */
  readonly dashboard: Stripe;
  /** Looks into, and tampers with, the database. */
  readonly sql: <Row extends pg.QueryResultRow>(
    text: string,
    values?: readonly unknown[],
  ) => Promise<readonly Row[]>;
  /** Makes the processor misbehave; see sandbox/README.md. */
  readonly misbehave: (fault: {
    readonly operation: string;
    readonly kind: 'error' | 'latency' | 'hang' | 'reset_before' | 'reset_after';
    readonly times?: number;
    readonly status?: number;
    readonly latencyMs?: number;
  }) => Promise<void>;
  readonly behave: () => Promise<void>;
  /** Ends something with the lab, in reverse order: what uses the database before the database. */
  readonly atEnd: (end: () => unknown) => void;
}

export async function startLab(t: TestContext): Promise<Lab> {
  const ends: (() => unknown)[] = [];
  t.after(async () => {
    for (const end of ends.toReversed()) await end();
  });
  const testDatabase = await createTestDatabase();
  ends.push(() => testDatabase.drop());
  const sandbox = await startSandbox({ port: 0 });
  ends.push(() => sandbox.close());
  const pool = openPool({ connectionString: testDatabase.url, max: 2, application_name: 'test' });
  ends.push(() => pool.end());
  const control = async (method: string, body?: object) => {
    const init = { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const answer = await fetch(`${sandbox.url}/sandbox/faults`, init);
    if (!answer.ok) throw new Error(`the sandbox refused: ${await answer.text()}`);
  };
  return {
    databaseUrl: testDatabase.url,
    processorUrl: sandbox.url,
    dashboard: new Stripe('sk_test_dashboard', {
      host: '127.0.0.1',
      port: sandbox.port,
      protocol: 'http',
      telemetry: false,
    }),
    sql: async <Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await pool.query<Row>(text, [...values])).rows,
    misbehave: (fault) => control('POST', fault),
    behave: () => control('DELETE'),
    atEnd: (end) => void ends.push(end),
  };
}

export interface LabTill {
  readonly url: string;
  readonly services: Services;
  readonly processor: Processor;
  readonly database: Database;
  readonly ownerLock: OwnerLock;
  readonly post: Post;
  readonly get: (path: string) => Promise<Answer>;
}

export interface LabTillOptions {
  readonly crashPoints?: CrashPoints;
  readonly poolSize?: number;
  readonly limits?: Partial<CallLimits>;
  readonly processorUrl?: string;
  readonly secretKey?: string;
}

/** The whole service but its process: real HTTP in front, the lab's processor and database behind. */
export async function startLabTill(t: TestContext, lab: Lab, options: LabTillOptions = {}): Promise<LabTill> {
  const { logger } = captureLog();
  const metrics = createMetrics({ eventTypes: [], mirrors: [], processorOperations });
  const ownerLock = new OwnerLock({ url: lab.databaseUrl, logger });
  await ownerLock.acquire();
  lab.atEnd(() => ownerLock.close());
  const database = new Database({ url: lab.databaseUrl, poolSize: options.poolSize ?? 10, logger });
  lab.atEnd(() => database.close());
  const processor = createStripeProcessor({
    secretKey: options.secretKey ?? 'sk_test_lab',
    apiBase: new URL(options.processorUrl ?? lab.processorUrl),
    webhookSecrets: ['whsec_lab'],
    maxInFlight: 200,
    metrics,
    logger,
    limits: { ...patient, ...options.limits },
  });
  lab.atEnd(() => processor.close());
  const services = composeServices({
    database,
    ownerLock,
    processor,
    metrics,
    clock: systemClock,
    logger,
    crashPoints: options.crashPoints ?? noCrashPoints,
    retentionDays: 90,
  });
  lab.atEnd(() => services.stop());
  const { app, url } = await startFrame(t, async (scope) =>
    registerRoutes(scope, services, { processor, clock: systemClock }),
  );
  // Before the parts that its requests use.
  lab.atEnd(() => app.close());
  return {
    url,
    services,
    processor,
    database,
    ownerLock,
    post: postTo(url, testKey),
    get: async (path) => toAnswer(await fetch(`${url}${path}`, { headers: { 'x-api-key': testKey } })),
  };
}

export function postTo(url: string, apiKey: string): Post {
  return sendTo(url, apiKey, 'POST');
}

export function sendTo(url: string, apiKey: string, method: 'POST' | 'PATCH'): Post {
  return async (path, body, idempotencyKey) =>
    toAnswer(
      await fetch(`${url}${path}`, {
        method,
        headers: {
          'x-api-key': apiKey,
          'content-type': 'application/json',
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
        body: JSON.stringify(body),
      }),
    );
}

async function toAnswer(response: Response): Promise<Answer> {
  return {
    status: response.status,
    replayed: response.headers.get('idempotent-replayed') === 'true',
    // Every answer of the API is a JSON object.
    body: (await response.json()) as Readonly<Record<string, unknown>>,
  };
}
