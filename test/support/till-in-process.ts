import assert from 'node:assert/strict';
import { type Clock, type ProcessorClock, systemClock } from '#core/platform/clock.ts';
import type { Logger, LogLevel } from '#core/platform/logger.ts';
import { createMetrics, type Metrics } from '#core/platform/metrics.ts';
import { schemaNumber } from '#core/platform/migrate.ts';
import { OwnerLock } from '#core/platform/owner-lock.ts';
import { Database } from '#core/platform/postgres.ts';
import type { StreamLimits } from '#engine/events/feed/event-streams.ts';
import type { CrashPoints } from '#engine/idempotency/claim.ts';
import { InstallationStore } from '#engine/idempotency/installation-store.ts';
import { BackfillStore } from '#engine/sync/backfill-store.ts';
import { Worker } from '#engine/sync/worker.ts';
import { SandboxControl } from '#operators/sandbox-control/sandbox-control.ts';
import { composeConsole } from '#runtime/composition/compose-console.ts';
import type { EventSettings } from '#runtime/composition/compose-context.ts';
import { migrationsFolder } from '#runtime/composition/compose-database.ts';
import { metricLabels } from '#runtime/composition/compose-parts.ts';
import { operationTags, registerRoutes } from '#runtime/composition/compose-routes.ts';
import { composeServices, type Services } from '#runtime/composition/compose-services.ts';
import type { ConsoleConfig } from '#runtime/composition/config.ts';
import type { ApiKeyRing } from '../../src/http/access/api-guard.ts';
import { buildApp } from '../../src/http/app.ts';
import type { CsvLimits } from '../../src/http/csv/csv-exports.ts';
import type { OverloadLimits } from '../../src/http/load/overload.ts';
import { registerRoot } from '../../src/http/operations/root-route.ts';
import type { Processor } from '../../src/processor/port/processor.ts';
import { createStripeProcessor } from '../../src/processor/stripe/stripe-processor.ts';
import type { CallLimits } from '../../src/processor/stripe/wire/calls.ts';
import { type Backend, type Lifetime, startBackend, webhookSecrets } from './backend.ts';
import { type Client, createClient, readSuccess } from './client.ts';
import { createGuard, testRing } from './frame.ts';
import { captureLog, type LogLine } from './log-capture.ts';
import { signWebhook } from './webhook-events.ts';

/** Retries come at once. No timeout is met, unless a test sets a shorter one. */
const patientLimits: CallLimits = {
  deadlineMs: 60_000,
  attemptTimeoutMs: 30_000,
  retriesMax: 2,
  retryDelayMs: 1,
};

const testSecretKey = 'sk_test_till';

/** No name server is asked. */
const eventSettings: EventSettings = {
  retentionDays: 90,
  allowPrivate: false,
  secretKeys: [],
  resolve: async (host) => {
    if (/(^|\.)example\.com$/.test(host)) return ['93.184.215.14'];
    throw new Error(`${host} is not known`);
  },
};

/** As the settings have it by default. */
const consoleConfig: ConsoleConfig = {
  publicUrl: undefined,
  idleMinutes: 480,
  sessionHours: 168,
  hasKeySignIn: true,
  oidc: undefined,
};

/** One call to the processor and its retries. A fault must outlast them all to be seen. */
export const triesPerCall = patientLimits.retriesMax + 1;

/** Far more batches than any test queues. A queue that never empties must end the test. */
const batchesMax = 1_000;
/** Far more rounds than a queue needs in which every event is due. */
const drainRoundsMax = 200;

const patientTurnWaitMs = 120_000;
const patientDeadlineMs = 600_000;

export interface ProcessOptions {
  /** Another way to the database than the direct one, for tests that cut or watch it. */
  readonly databaseUrl?: string;
  /** Another way to the processor than the direct one. */
  readonly processorUrl?: string;
  readonly secretKey?: string;
  readonly poolSize?: number;
  readonly limits?: Partial<CallLimits>;
  readonly retentionDays?: number;
  /** How long a write waits for its turn. The default is so long that a busy machine does not decide a test. */
  readonly turnWaitMs?: number;
  /** How long a request waits for others with its idempotency key. Ten seconds by default. */
  readonly claimWaitMs?: number;
  readonly entitlementGraceDays?: number;
  readonly usageRetentionDays?: number;
  readonly overviewTimeZone?: string;
  /** Where customers may be sent back. Anywhere by default. */
  readonly returnUrlOrigins?: readonly string[];
  /** Settings of event endpoints. By default, every name below example.com resolves to a public address. */
  readonly events?: Partial<EventSettings>;
  /** Whether events are delivered in the background. */
  readonly delivers?: boolean;
  /** The rate limit for each API key. 0 turns it off. */
  readonly requestsPerMinute?: number;
  readonly usageRequestsPerMinute?: number;
  readonly clock?: Clock;
  /** By default, Till follows the sandbox as if it was embedded. */
  readonly processorClock?: ProcessorClock;
  /** The number of the newest migration of its release. That of this code by default. */
  readonly schema?: number;
  readonly crashPoints?: CrashPoints;
  /** How many workers apply events in the background. Without any, the test applies them. */
  readonly workers?: number;
  readonly streamLimits?: Partial<StreamLimits>;
  /** How long a request may take. The default is so long that a busy machine does not decide a test. */
  readonly requestDeadlineMs?: number;
  readonly overloadLimits?: OverloadLimits;
  /** Whether /console is served. Not by default. Settings other than the default ones imply it. */
  readonly hasConsole?: boolean;
  readonly console?: Partial<ConsoleConfig>;
  readonly trustProxy?: readonly string[];
  readonly csvLimits?: Partial<CsvLimits>;
  readonly logLevel?: LogLevel;
  /** At the end, fails if an error was logged. */
  readonly mustNotLogErrors?: boolean;
}

export interface TillInProcess extends Backend, Client {
  readonly url: string;
  readonly services: Services;
  readonly processor: Processor;
  readonly database: Database;
  readonly ownerLock: OwnerLock;
  /** The API keys from the environment. */
  readonly ring: ApiKeyRing;
  readonly metrics: Metrics;
  readonly lines: readonly LogLine[];
  /** Transactions that PostgreSQL ended because of a deadlock. Till survives them, but each is a defect. */
  readonly deadlocks: readonly string[];
  /** Sends a webhook. It is signed now with the current secret, unless the headers say otherwise. */
  send(body: string | Buffer, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Sends events that must be accepted, and applies all that are due. */
  take(...events: readonly string[]): Promise<void>;
  /** Applies all events that are due. */
  drain(): Promise<void>;
  /** Applies all events, even those that wait for their next attempt. */
  drainAll(): Promise<void>;
  /** Lets the sandbox deliver the webhooks that it holds back, and applies them. */
  settle(): Promise<void>;
  stopWorkers(): Promise<void>;
  /** A counter's value, or how many values a histogram has observed, over all labels unless some are given. */
  count(metric: string, labels?: Readonly<Record<string, string>>): Promise<number>;
  /** Ends this Till before its backend ends. */
  stop(): Promise<void>;
}

type Place = { readonly on?: Backend; readonly for?: Lifetime };

/** All parts of Till but its process and its background work; see `startTill`. */
export async function startInProcess(options: Place & ProcessOptions): Promise<TillInProcess> {
  const backend = options.on ?? (await startBackend(lifetimeOf(options)));
  const ends: (() => unknown)[] = [];
  const stop = async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  };
  backend.atEnd(stop);
  const parts = await openParts(backend, options, ends);
  const { logger, lines, metrics, processor, database } = parts;
  const { secretKey = testSecretKey } = options;
  const sandbox = new SandboxControl({ url: backend.processorUrl, secretKey });
  const services = composeServices({
    ...parts,
    clock: options.clock,
    crashPoints: options.crashPoints,
    config: {
      webhookRetentionDays: options.retentionDays ?? 90,
      entitlementGraceDays: options.entitlementGraceDays ?? 0,
      returnUrlOrigins: options.returnUrlOrigins ?? [],
      events: { ...eventSettings, ...options.events },
      overviewTimeZone: options.overviewTimeZone ?? 'UTC',
      usageRetentionDays: options.usageRetentionDays ?? 90,
    },
    processorClock: options.processorClock ?? backend.processorClock(options.clock ?? systemClock),
    turnWaitMs: options.turnWaitMs ?? patientTurnWaitMs,
    claimWaitMs: options.claimWaitMs,
  });
  ends.push(() => services.stop());
  // The background work would do it: a new database has the days of UTC.
  if (options.overviewTimeZone !== undefined) await services.overviewFollower.run();
  let isStopping = false;
  const ring = testRing();
  const shared = { ...parts, ring, keys: services.keys, audit: services.audit };
  const operators =
    options.hasConsole === true || options.console !== undefined
      ? composeConsole({
          ...shared,
          clock: options.clock ?? systemClock,
          config: { ...consoleConfig, ...options.console },
          timeZone: options.overviewTimeZone ?? 'UTC',
          port: () => Number(new URL(url).port),
        })
      : undefined;
  const guard = createGuard(logger, options.requestsPerMinute ?? 0, {
    storedKeys: services.keys,
    sessions: operators?.access,
    ring,
    usageRequestsPerMinute: options.usageRequestsPerMinute,
  });
  const app = await buildApp({
    logger,
    metrics,
    guard,
    audit: services.audit,
    hasConsole: operators !== undefined,
    dependencies: [],
    trustProxy: options.trustProxy ?? [],
    isStopping: () => isStopping,
    servesApi: true,
    ...pickFrameOptions(options),
    beforeScrape: () => services.measure(),
    tags: operationTags,
    registerRoutes: async (scope) => {
      const { streamLimits } = options;
      const parts = { processor, sandbox, clock: systemClock, logger, metrics, streamLimits };
      await registerRoutes(scope, services, parts);
      registerRoot(scope, options.hasConsole === true);
      operators?.registerRoutes(scope, guard);
    },
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  ends.push(() => {
    isStopping = true;
    return app.close();
  });
  backend.deliverTo(() => url);
  if (options.delivers === true) services.dispatcher.start();
  const workers = startWorkers(services, logger, options.workers ?? 0);
  ends.push(() => workers.stop());
  if (options.mustNotLogErrors) backend.atEnd(() => assertNoErrors(lines));
  return {
    ...backend,
    ...createClient({ url }),
    url,
    services,
    ring,
    ...parts,
    ...eventCalls({ url, backend, services, database, nudge: workers.nudge }),
    stopWorkers: workers.stop,
    count: (metric, labels) => countMetric(metrics, metric, labels),
    stop,
  };
}

function pickFrameOptions({
  requestDeadlineMs = patientDeadlineMs,
  overloadLimits,
  csvLimits,
}: ProcessOptions) {
  return {
    requestDeadlineMs,
    ...(overloadLimits === undefined ? {} : { overloadLimits }),
    ...(csvLimits === undefined ? {} : { csvLimits }),
  };
}

function lifetimeOf({ for: life }: Place): Lifetime {
  assert(life !== undefined, 'a Till needs a backend or a lifetime');
  return life;
}

async function openParts(backend: Backend, options: ProcessOptions, ends: (() => unknown)[]) {
  const { logger, lines } = captureLog(options.logLevel);
  const metrics = createMetrics(metricLabels);
  const backfillStore = new BackfillStore(options.schema ?? (await schemaNumber(migrationsFolder)));
  const ownerLock = new OwnerLock({
    ...{ url: backend.databaseUrl, logger },
    onAcquired: (session) => backfillStore.announce(session),
  });
  // Before it is acquired: one that fails to connect would retry for ever.
  ends.push(() => ownerLock.close());
  await ownerLock.acquire();
  const deadlocks: string[] = [];
  const databaseUrl = options.databaseUrl ?? backend.databaseUrl;
  const database = new WatchedDatabase({
    url: databaseUrl,
    poolSize: options.poolSize ?? 10,
    logger,
    deadlocks,
  });
  ends.push(() => database.close());
  const processor = createStripeProcessor({
    secretKey: options.secretKey ?? testSecretKey,
    apiBase: new URL(options.processorUrl ?? backend.processorUrl),
    webhookSecrets,
    maxInFlight: 200,
    metrics,
    logger,
    limits: { ...patientLimits, ...options.limits },
  });
  ends.push(() => processor.close());
  const installationId = await new InstallationStore().readId(database);
  return { logger, lines, metrics, ownerLock, backfillStore, database, installationId, deadlocks, processor };
}

interface EventParts {
  readonly url: string;
  readonly backend: Backend;
  readonly services: Services;
  readonly database: Database;
  readonly nudge: () => void;
}

function eventCalls({ url, backend, services, database, nudge }: EventParts) {
  const send: TillInProcess['send'] = async (body, headers = {}) => {
    const response = await fetch(`${url}/webhooks/processor`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'stripe-signature': signWebhook(body), ...headers },
      body,
    });
    nudge();
    return response;
  };
  const drain = async () => {
    for (let batch = 0; batch < batchesMax; batch += 1)
      if ((await services.eventApplier.applyBatch()) === 0) return;
    assert.fail('the queue does not empty');
  };
  return {
    send,
    drain,
    take: async (...events: readonly string[]) => {
      for (const event of events) await readSuccess(await send(event));
      await drain();
    },
    drainAll: async () => {
      for (let round = 0; round < drainRoundsMax; round += 1) {
        const waiting = await database.query(
          `update till.webhook_events set next_try_at = now() where state = 'pending' returning 1`,
        );
        if (waiting.length === 0) return;
        // Side by side, as the workers of several processes do it.
        await Promise.all([drain(), drain(), drain()]);
      }
      assert.fail(`the queue does not empty within ${drainRoundsMax} rounds`);
    },
    settle: async () => {
      await backend.control('delivery/flush');
      await drain();
    },
  };
}

function startWorkers(services: Services, logger: Logger, count: number) {
  const extra = Array.from(
    { length: Math.max(0, count - 1) },
    () => new Worker({ eventApplier: services.eventApplier, logger }),
  );
  const workers = count === 0 ? [] : [services.worker, ...extra];
  for (const worker of workers) worker.start();
  return {
    stop: async () => void (await Promise.all(workers.map((worker) => worker.stop()))),
    // Till wakes its own worker. The others would notice new events half a second later.
    nudge: () => {
      for (const worker of extra) worker.nudge();
    },
  };
}

async function countMetric(
  metrics: Metrics,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  const metric = await metrics.registry.getSingleMetric(name)?.get();
  assert(metric, `there is no metric ${name}`);
  return metric.values
    .filter((value) => !('metricName' in value) || String(value.metricName).endsWith('_count'))
    .filter(({ labels: own }) => Object.entries(labels).every(([label, text]) => Object(own)[label] === text))
    .reduce((sum, { value }) => sum + value, 0);
}

function assertNoErrors(lines: readonly LogLine[]): void {
  assert.deepEqual(
    lines.filter(({ level }) => level === 'error' || level === 'fatal'),
    [],
  );
}

interface WatchedOptions {
  readonly url: string;
  readonly poolSize: number;
  readonly logger: Logger;
  readonly deadlocks: string[];
}

/** Till's database, which also reports deadlocks. */
class WatchedDatabase extends Database {
  readonly #deadlocks: string[];

  constructor({ deadlocks, ...options }: WatchedOptions) {
    super(options);
    this.#deadlocks = deadlocks;
  }

  override async transaction<T>(...args: Parameters<typeof Database.prototype.transaction<T>>): Promise<T> {
    try {
      return await super.transaction(...args);
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined;
      if (cause instanceof Error && 'code' in cause && cause.code === '40P01')
        this.#deadlocks.push('where' in cause ? String(cause.where) : cause.message);
      throw error;
    }
  }
}
