import { setImmediate, setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { registerConsoleRoutes } from '../console/console-routes.ts';
import { ApiGuard } from '../http/access/api-guard.ts';
import { type LoadedApiKeys, loadApiKeys } from '../http/access/api-key-source.ts';
import { RateLimiter } from '../http/access/rate-limiter.ts';
import { buildApp } from '../http/app.ts';
import { backlogMax } from '../http/load/limits.ts';
import { type CrashPoints, noCrashPoints } from '../idempotency/crash-points.ts';
import { refreshDelayMs } from '../keys/key-cache.ts';
import { resources } from '../mirrors/mirror.ts';
import type { Cache } from '../platform/cache.ts';
import { systemClock } from '../platform/clock.ts';
import { completeIndexes } from '../platform/deferred-indexes.ts';
import type { Logger } from '../platform/logger.ts';
import { MemoryCache } from '../platform/memory-cache.ts';
import { createMetrics, type Metrics } from '../platform/metrics.ts';
import type { Database } from '../platform/postgres.ts';
import { Repeater } from '../platform/repeater.ts';
import { Shutdown } from '../platform/shutdown.ts';
import { AccountGuard } from '../processor/account/account-guard.ts';
import { AccountStore } from '../processor/account/account-store.ts';
import { eventTypes } from '../processor/event-types.ts';
import type { Processor } from '../processor/processor.ts';
import type { CallLimits } from '../processor/stripe/wire/calls.ts';
import type { SandboxControl } from '../sandbox-control/sandbox-control.ts';
import {
  closeTimeoutMs,
  describeAddress,
  explainPort,
  openCache,
  openDatabase,
  openProcessor,
  type Start,
} from './compose-parts.ts';
import { registerRoutes } from './compose-routes.ts';
import { composeServices, type Services } from './compose-services.ts';
import type { Config } from './config.ts';
import type { WelcomeFacts } from './welcome.ts';

/**
 * A processor call ends within ten seconds; with the stop delay before it, this fits the 30 s that orchestrators wait.
 */
const drainTimeoutMs = 15_000;
const sweepDelayMs = 60_000;
/** A missed webhook is found within this time. */
const recoveryDelayMs = 300_000;
const retentionDelayMs = 3_600_000;
/** A deleted customer's data leaves the inbox within about this time. */
const erasureDelayMs = 60_000;
/** Indexes are missing only after an upgrade. */
const indexDelayMs = 3_600_000;
/** The end of a grace period has its event within half a minute. */
const dueEventsDelayMs = 20_000;
/** Objects that are older than events are exist only after an upgrade. */
const olderObjectsDelayMs = 3_600_000;
/** Secrets need it only after EVENT_SECRET_KEYS changed. A process with the earlier keys may write some a little later. */
const secretsDelayMs = 3_600_000;
/** Requests count the newest events themselves. This keeps their number small. */
const overviewDelayMs = 10_000;
export const metricLabels = {
  eventTypes: [...eventTypes, 'other'],
  mirrors: resources,
};

export interface Till {
  readonly facts: WelcomeFacts;
  /** Reloads the key file; returns the number of valid keys. */
  readonly reloadKeys: () => Promise<number>;
  /** Stops everything in order; true if every part stopped in time. */
  readonly stop: () => Promise<boolean>;
}

/** What only tests change. */
export interface TestSettings {
  readonly crashPoints?: CrashPoints;
  /** How long a request may take. */
  readonly requestDeadlineMs?: number;
  /** How long a call to the processor may take. */
  readonly callLimits?: Partial<CallLimits>;
}

/** The composition root: the only place that knows every part. If the start fails, nothing is left running. */
export async function startTill(
  config: Config,
  logger: Logger,
  testSettings: TestSettings = {},
): Promise<Till> {
  const shutdown = new Shutdown(logger);
  try {
    const { callLimits, ...settings } = testSettings;
    return await start({ config, logger, shutdown, callLimits }, settings);
  } catch (error) {
    await shutdown.run();
    throw error;
  }
}

async function start(
  from: Start,
  { crashPoints, ...limits }: Omit<TestSettings, 'callLimits'>,
): Promise<Till> {
  const { config, logger, shutdown } = from;
  const keys = await loadApiKeys(config, logger);
  const { directUrl, database, ownerLock } = await openDatabase(from);
  const cache = await openCache(from);
  const metrics = createMetrics(metricLabels);
  const address = { url: `http://${config.host}:${config.port}` };
  const account = new AccountGuard({ database, store: new AccountStore(), logger });
  const { processor, name, sandbox } = await openProcessor(from, metrics, address, () => account.require());
  shutdown.add('processor account', closeTimeoutMs, async () => account.stop());
  await account.start(processor);
  const services = composeServices({
    database,
    ownerLock,
    processor,
    metrics,
    clock: systemClock,
    logger,
    crashPoints: crashPoints ?? noCrashPoints,
    retentionDays: config.webhookRetentionDays,
    entitlementGraceDays: config.entitlementGraceDays,
    events: config.events,
  });
  const startBackgroundWork = composeBackgroundWork(from, services, { account, directUrl });
  const input = { database, cache, metrics, keys, services, processor, sandbox, limits };
  const app = await composeApp(from, input);
  address.url = await listen(app, config);
  if (config.role !== 'api') startBackgroundWork();
  const facts: WelcomeFacts = {
    url: address.url,
    database:
      config.databaseUrl === undefined
        ? `embedded PostgreSQL in ${config.dataDir}`
        : describeAddress(config.databaseUrl),
    cache: config.redisUrl === undefined ? 'in-process' : describeAddress(config.redisUrl),
    processor: name,
    servesApi: config.role !== 'worker',
    hasConsole: config.hasConsole,
    generatedKey: keys.generated,
  };
  return { facts, reloadKeys: keys.reload, stop: () => shutdown.run() };
}

/** Returns a function that starts the work once requests are served. At a shutdown, requests end before this work. */
function composeBackgroundWork(
  { logger, shutdown }: Start,
  services: Services,
  { account, directUrl }: { readonly account: AccountGuard; readonly directUrl: string },
): () => void {
  const { worker, sweeper, recovery, retention, erasure, dispatcher } = services;
  const { eventUpkeep, secretUpkeep, overviewFollower } = services;
  const processorRepeaters = [
    new Repeater({ name: 'sweep', delayMs: sweepDelayMs, work: (signal) => sweeper.sweep(signal), logger }),
    new Repeater({
      name: 'recovery',
      delayMs: recoveryDelayMs,
      work: (signal) => recovery.run(signal),
      logger,
    }),
  ];
  const repeaters = [
    new Repeater({ name: 'retention', delayMs: retentionDelayMs, work: () => retention.run(), logger }),
    new Repeater({
      name: 'erasure',
      delayMs: erasureDelayMs,
      work: (signal) => erasure.run(signal),
      logger,
    }),
    new Repeater({
      name: 'due events',
      delayMs: dueEventsDelayMs,
      work: (signal) => eventUpkeep.writeDue(signal),
      logger,
    }),
    new Repeater({
      name: 'older objects',
      delayMs: olderObjectsDelayMs,
      work: (signal) => eventUpkeep.recordOlder(signal),
      logger,
    }),
    new Repeater({
      name: 'secrets',
      delayMs: secretsDelayMs,
      work: (signal) => secretUpkeep.run(signal),
      logger,
    }),
    new Repeater({
      name: 'overview',
      delayMs: overviewDelayMs,
      work: (signal) => overviewFollower.run(signal),
      logger,
    }),
    new Repeater({
      name: 'indexes',
      delayMs: indexDelayMs,
      work: (signal) => completeIndexes({ url: directUrl, logger, signal }),
      logger,
    }),
  ];
  shutdown.add('background work', closeTimeoutMs, () =>
    Promise.all([services, ...repeaters, ...processorRepeaters].map((part) => part.stop())),
  );
  return () => {
    for (const part of [worker, dispatcher, ...repeaters]) part.start();
    void account.comparison.then((comparison) => {
      if (shutdown.hasBegun) return;
      if (comparison === 'same') for (const repeater of processorRepeaters) repeater.start();
      // The events of another account stay in the queue.
      else void worker.stop();
    });
  };
}

interface AppInput {
  readonly database: Database;
  readonly cache: Cache;
  readonly metrics: Metrics;
  readonly keys: LoadedApiKeys;
  readonly services: Services;
  readonly processor: Processor;
  readonly sandbox: SandboxControl | undefined;
  readonly limits: Pick<TestSettings, 'requestDeadlineMs'>;
}

async function composeApp({ config, logger, shutdown }: Start, input: AppInput): Promise<FastifyInstance> {
  const { database, cache, metrics, keys, services, processor, sandbox, limits } = input;
  const fallback = new MemoryCache(systemClock);
  const limiter = new RateLimiter({ shared: cache, fallback, clock: systemClock, logger });
  const app = await buildApp({
    ...limits,
    logger,
    metrics,
    guard: new ApiGuard({
      keys: keys.ring,
      storedKeys: services.keys,
      limiter,
      requestsPerMinute: config.rateLimitPerMinute,
    }),
    dependencies: [
      { name: 'database', check: () => database.ping(), reach: () => database.reach() },
      { name: 'cache', check: () => cache.ping() },
    ],
    trustProxy: config.trustProxy,
    isStopping: () => shutdown.hasBegun,
    servesApi: config.role !== 'worker',
    beforeScrape: () => services.measure(),
    registerRoutes: async (scope) => {
      await registerRoutes(scope, services, { processor, sandbox, clock: systemClock, logger, metrics });
      if (config.hasConsole) registerConsoleRoutes(scope);
    },
  });
  if (config.role !== 'worker') refreshKeys({ logger, shutdown }, services);
  const stopDelayMs = config.stopDelaySeconds * 1_000;
  shutdown.add('open requests', stopDelayMs + drainTimeoutMs + closeTimeoutMs, () =>
    closeApp(app, stopDelayMs),
  );
  return app;
}

/** Starts before the first request, and ends after the last one. */
function refreshKeys({ logger, shutdown }: Omit<Start, 'config'>, { keys }: Services): void {
  const repeater = new Repeater({
    name: 'API keys',
    delayMs: refreshDelayMs,
    work: () => keys.refresh(),
    logger,
  });
  shutdown.add('API keys', closeTimeoutMs, () => repeater.stop());
  repeater.start();
}

async function listen(app: FastifyInstance, { host, port }: Config): Promise<string> {
  try {
    return await app.listen({ host, port, backlog: backlogMax });
  } catch (error) {
    throw explainPort(error, { variable: 'PORT', port, host });
  }
}

/**
 * Keeps serving for a while, so that load balancers stop sending requests and clients, told to close their connections,
 * reconnect to another process. Then accepts nothing new, and waits for requests in progress, up to a limit.
 */
async function closeApp(app: FastifyInstance, stopDelayMs: number): Promise<void> {
  await setTimeout(stopDelayMs);
  // Runs just after the arrived data was read: a connection whose request has not been read yet would look idle.
  await setImmediate();
  const expired = new AbortController();
  const limit = setTimeout(drainTimeoutMs, undefined, { signal: expired.signal }).then(
    () => app.server.closeAllConnections(),
    () => undefined,
  );
  await app.close();
  expired.abort();
  await limit;
}
