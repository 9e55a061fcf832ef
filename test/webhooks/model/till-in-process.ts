import assert from 'node:assert/strict';
import { ApiGuard } from '../../../src/http/access/api-guard.ts';
import { ApiKeyRing } from '../../../src/http/access/api-key.ts';
import { RateLimiter } from '../../../src/http/access/rate-limiter.ts';
import { buildApp } from '../../../src/http/app.ts';
import { noCrashPoints } from '../../../src/idempotency/crash-points.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { MemoryCache } from '../../../src/platform/memory-cache.ts';
import { createMetrics, type Metrics } from '../../../src/platform/metrics.ts';
import { OwnerLock } from '../../../src/platform/owner-lock.ts';
import { Database, type Queryable } from '../../../src/platform/postgres.ts';
import { eventTypes } from '../../../src/processor/event-types.ts';
import { processorOperations } from '../../../src/processor/processor.ts';
import { createStripeProcessor } from '../../../src/processor/stripe/stripe-processor.ts';
import { Worker } from '../../../src/sync/worker.ts';
import { composeServices, registerRoutes, type Services } from '../../../src/till/compose-services.ts';
import { captureLog, type LogLine } from '../../support/log-capture.ts';
import { testKey } from '../../support/till-process.ts';

/** Any number of workers may run; three are enough to get in each other's way. */
const workersCount = 3;
/** Each worker holds one connection and asks through eight more; the requests need some too. */
const poolSize = 20;
/** Far more rounds than a queue whose every event is due can need. */
const drainRoundsMax = 200;

export interface TillInProcess {
  readonly url: string;
  readonly database: Database;
  readonly services: Services;
  readonly metrics: Metrics;
  readonly lines: readonly LogLine[];
  /** Transactions that PostgreSQL ended because they waited for each other in a circle. */
  readonly deadlocks: readonly string[];
  /** Delivers a webhook, which must be acknowledged. */
  readonly post: (body: string, signature: string) => Promise<void>;
  stopWorkers(): Promise<void>;
  /** Lets all waiting times pass, and works until nothing is left to do. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** The service's own parts in this process, on a real socket, with workers that the test can hold still. */
export async function startTillInProcess(options: {
  readonly databaseUrl: string;
  readonly processorUrl: string;
  readonly webhookSecret: string;
}): Promise<TillInProcess> {
  const { databaseUrl: url, processorUrl, webhookSecret } = options;
  const { logger, lines } = captureLog('warn');
  const deadlocks: string[] = [];
  const database = new WatchedDatabase({ url, poolSize, logger, deadlocks });
  const ownerLock = new OwnerLock({ url, logger });
  await ownerLock.acquire();
  const metrics = createMetrics({ eventTypes, processorOperations, mirrors: [] });
  const processor = createStripeProcessor({
    secretKey: 'sk_test_till',
    apiBase: new URL(processorUrl),
    webhookSecrets: [webhookSecret],
    maxInFlight: 200,
    metrics,
    logger,
    limits: { retryDelayMs: 1 },
  });
  const clock = systemClock;
  const parts = { database, ownerLock, processor, metrics, clock, logger };
  const services = composeServices({ ...parts, crashPoints: noCrashPoints, retentionDays: 90 });
  const cache = new MemoryCache(clock);
  const app = await buildApp({
    logger,
    metrics,
    guard: new ApiGuard({
      keys: new ApiKeyRing([{ name: 'model', key: testKey }]),
      limiter: new RateLimiter({ shared: cache, fallback: cache, clock, logger }),
      requestsPerMinute: 0,
    }),
    dependencies: [],
    trustProxy: [],
    isStopping: () => false,
    servesApi: true,
    beforeScrape: async () => {},
    registerRoutes: (scope) => registerRoutes(scope, services, { processor, clock }),
  });
  const extra = Array.from(
    { length: workersCount - 1 },
    () => new Worker({ eventApplier: services.eventApplier, logger }),
  );
  const workers = [services.worker, ...extra];
  for (const worker of workers) worker.start();
  const stopWorkers = async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
  };
  const listening = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    url: listening,
    database,
    services,
    metrics,
    lines,
    deadlocks,
    post: async (body, signature) => {
      const answer = await fetch(`${listening}/webhooks/processor`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', 'stripe-signature': signature },
      });
      assert.equal(answer.status, 200, await answer.text());
      // The service wakes its own worker; those beside it would notice half a second later.
      for (const worker of extra) worker.nudge();
    },
    stopWorkers,
    drain: () => drain(database, services),
    close: async () => {
      await app.close();
      await stopWorkers();
      await services.stop();
      processor.close();
      await ownerLock.close();
      await database.close();
    },
  };
}

/** Lets the time pass that events wait for their next try, instead of waiting for it. */
export async function drain(database: Queryable, services: Services): Promise<void> {
  for (let rounds = 0; rounds < drainRoundsMax; rounds += 1) {
    const waiting = await database.query(
      `update till.webhook_events set next_try_at = now() where state = 'pending' returning 1`,
    );
    if (waiting.length === 0) return;
    await Promise.all(
      Array.from({ length: workersCount }, async () => {
        while ((await services.eventApplier.applyBatch()) > 0);
      }),
    );
  }
  throw new Error(`the queue does not empty within ${drainRoundsMax} rounds`);
}

interface WatchedOptions {
  readonly url: string;
  readonly poolSize: number;
  readonly logger: ConstructorParameters<typeof Database>[0]['logger'];
  readonly deadlocks: string[];
}

/** The service's database, which also tells of deadlocks: the service survives them, but they are defects all the same. */
class WatchedDatabase extends Database {
  readonly #deadlocks: string[];

  constructor({ deadlocks, ...options }: WatchedOptions) {
    super(options);
    this.#deadlocks = deadlocks;
  }

  override async transaction<T>(...asked: Parameters<typeof Database.prototype.transaction<T>>): Promise<T> {
    try {
      return await super.transaction(...asked);
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined;
      if (cause instanceof Error && 'code' in cause && cause.code === '40P01') {
        this.#deadlocks.push('where' in cause ? String(cause.where) : cause.message);
      }
      throw error;
    }
  }
}
