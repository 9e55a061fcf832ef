import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { composeServices, registerRoutes, type Services } from './compose-services.ts';
import type { Config } from './config.ts';
import { ApiGuard } from './http/api-guard.ts';
import { type LoadedApiKeys, loadApiKeys } from './http/api-key-source.ts';
import { buildApp } from './http/app.ts';
import { RateLimiter } from './http/rate-limiter.ts';
import { type Marks, noMarks } from './idempotency/marks.ts';
import type { Cache } from './platform/cache.ts';
import { systemClock } from './platform/clock.ts';
import type { Logger } from './platform/logger.ts';
import { MemoryCache } from './platform/memory-cache.ts';
import { createMetrics, type Metrics } from './platform/metrics.ts';
import { migrate } from './platform/migrate.ts';
import { Database, isUnavailable } from './platform/postgres.ts';
import { Presence } from './platform/presence.ts';
import { RedisCache } from './platform/redis-cache.ts';
import { Repeater } from './platform/repeater.ts';
import { Shutdown } from './platform/shutdown.ts';
import { type Processor, processorOperations } from './processor/processor.ts';
import { checkProcessorKeys, publicApiBase } from './processor/stripe/check-processor-keys.ts';
import { createStripeProcessor } from './processor/stripe/stripe-processor.ts';
import { eventTypes } from './webhooks/event-types.ts';
import type { WelcomeFacts } from './welcome.ts';

/** Orchestrators wait 30 s before they kill; what is in flight gets most of that. */
const drainTimeoutMs = 20_000;
const closeTimeoutMs = 5_000;
/** Its own shutdown is bounded and escalates within this time. */
const postgresStopTimeoutMs = 30_000;
/** Half a minute in all, which is what a database container needs at most. */
const databaseTriesMax = 30;
const databaseRetryDelayMs = 1_000;
const sweepDelayMs = 60_000;
/** A missed webhook is noticed within this time. */
const recoveryDelayMs = 300_000;
const retentionDelayMs = 3_600_000;
const webhookSecretBytes = 24;
const mirrors = ['customer', 'plan', 'payment', 'refund', 'subscription', 'invoice'];
const migrationsFolder = fileURLToPath(new URL('../migrations', import.meta.url));

export interface Till {
  readonly facts: WelcomeFacts;
  /** Reads the key file again; returns how many keys are valid now. */
  readonly reloadKeys: () => Promise<number>;
  /** Ends everything in order; true if all of it ended in time. */
  readonly stop: () => Promise<boolean>;
}

/** The composition root: the only place that knows every part. Whatever fails, nothing is left running. */
export async function startTill(config: Config, logger: Logger, marks: Marks = noMarks): Promise<Till> {
  const shutdown = new Shutdown(logger);
  try {
    return await start({ config, logger, shutdown }, marks);
  } catch (error) {
    await shutdown.run();
    throw error;
  }
}

/** What every part of the start needs. */
interface Start {
  readonly config: Config;
  readonly logger: Logger;
  readonly shutdown: Shutdown;
}

async function start(from: Start, marks: Marks): Promise<Till> {
  const { config, logger, shutdown } = from;
  const keys = await loadApiKeys(config);
  const { database, presence } = await openDatabase(from);
  const cache = await openCache(from);
  const metrics = createMetrics({ eventTypes, processorOperations, mirrors });
  const address = { url: `http://${config.host}:${config.port}` };
  const { processor, name } = await openProcessor(from, metrics, address);
  const services = composeServices({
    database,
    presence,
    processor,
    metrics,
    clock: systemClock,
    logger,
    marks,
    retentionDays: config.webhookRetentionDays,
  });
  const startBackgroundWork = composeBackgroundWork(from, services);
  const app = await composeApp(from, { database, cache, metrics, keys, services, processor });
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
    generatedKey: keys.generated,
  };
  return { facts, reloadKeys: keys.reload, stop: () => shutdown.run() };
}

async function openDatabase({ config, logger, shutdown }: Start) {
  const url = config.databaseUrl ?? (await startPostgres({ config, logger, shutdown }));
  await migrateWhenReachable(url, logger);
  const presence = new Presence({ url, logger });
  shutdown.add('presence', closeTimeoutMs, () => presence.close());
  await presence.show();
  const database = new Database({ url, poolSize: config.databasePoolSize, logger });
  shutdown.add('database connections', closeTimeoutMs, () => database.close());
  return { database, presence };
}

async function startPostgres({ config, logger, shutdown }: Start): Promise<string> {
  const { startEmbeddedPostgres } = await import('./platform/embedded-postgres.ts');
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, logger });
  shutdown.add('embedded PostgreSQL', postgresStopTimeoutMs, () => postgres.stop());
  return postgres.url;
}

/** A database that is started together with the service may need a moment longer. */
async function migrateWhenReachable(url: string, logger: Logger): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await migrate({ url, folder: migrationsFolder, logger });
    } catch (error) {
      if (!isUnavailable(error) || tries >= databaseTriesMax) throw error;
      logger.warn({ err: error, tries }, 'the database cannot be reached yet');
      await setTimeout(databaseRetryDelayMs);
    }
  }
}

async function openCache({ config, logger, shutdown }: Start): Promise<Cache> {
  if (config.redisUrl === undefined) return new MemoryCache(systemClock);
  const cache = new RedisCache({ url: config.redisUrl, logger });
  shutdown.add('cache', closeTimeoutMs, () => cache.close());
  await cache.connect();
  return cache;
}

/** The processor behind the key; without one, the sandbox, which sends its webhooks to `till`. */
async function openProcessor(
  { config, logger, shutdown }: Start,
  metrics: Metrics,
  till: { readonly url: string },
): Promise<{ readonly processor: Processor; readonly name: string }> {
  const { maxInFlight } = config.processor;
  const { secretKey } = config.processor;
  if (secretKey !== undefined) {
    const apiBase = new URL(config.processor.apiBase ?? publicApiBase);
    const nodeEnv = config.production ? 'production' : undefined;
    for (const warning of checkProcessorKeys({ secretKey, apiBase, nodeEnv })) logger.warn(warning);
    const { webhookSecrets } = config.processor;
    const processor = createStripeProcessor({
      secretKey,
      apiBase,
      webhookSecrets,
      maxInFlight,
      metrics,
      logger,
    });
    shutdown.add('processor', closeTimeoutMs, async () => processor.close());
    return { processor, name: `${apiBase.origin}, ${processor.livemode ? 'live' : 'test'} mode` };
  }
  const { startSandbox } = await import('../sandbox/sandbox.ts');
  const secret =
    config.processor.webhookSecrets[0] ?? `whsec_${randomBytes(webhookSecretBytes).toString('base64url')}`;
  const sandbox = await startSandbox({
    port: config.processor.sandboxPort,
    dataDir: join(config.dataDir, 'sandbox'),
    webhook: {
      // Known only once the service listens, which it does after the processor is there.
      get url() {
        return `${till.url}/webhooks/processor`;
      },
      secret,
    },
    log: (level, fields, message) => logger[level]({ part: 'sandbox', ...fields }, message),
  });
  shutdown.add('sandbox', closeTimeoutMs, () => sandbox.close());
  const processor = createStripeProcessor({
    secretKey: 'sk_test_sandbox',
    apiBase: new URL(sandbox.url),
    webhookSecrets: config.processor.webhookSecrets.length > 0 ? config.processor.webhookSecrets : [secret],
    maxInFlight,
    metrics,
    logger,
  });
  shutdown.add('processor', closeTimeoutMs, async () => processor.close());
  return { processor, name: `sandbox at ${sandbox.url}` };
}

/** To be started once requests are served: at a shutdown, requests end first and this after them. */
function composeBackgroundWork({ logger, shutdown }: Start, services: Services): () => void {
  const { worker, sweeper, recovery, retention } = services;
  const repeaters = [
    new Repeater({ name: 'sweep', delayMs: sweepDelayMs, work: () => sweeper.sweep(), logger }),
    new Repeater({ name: 'recovery', delayMs: recoveryDelayMs, work: () => recovery.run(), logger }),
    new Repeater({ name: 'retention', delayMs: retentionDelayMs, work: () => retention.run(), logger }),
  ];
  const parts = [worker, ...repeaters];
  shutdown.add('background work', closeTimeoutMs, () => Promise.all(parts.map((part) => part.stop())));
  return () => {
    for (const part of parts) part.start();
  };
}

interface AppInput {
  readonly database: Database;
  readonly cache: Cache;
  readonly metrics: Metrics;
  readonly keys: LoadedApiKeys;
  readonly services: Services;
  readonly processor: Processor;
}

async function composeApp({ config, logger, shutdown }: Start, input: AppInput): Promise<FastifyInstance> {
  const { database, cache, metrics, keys, services, processor } = input;
  const fallback = new MemoryCache(systemClock);
  const limiter = new RateLimiter({ shared: cache, fallback, clock: systemClock, logger });
  const app = await buildApp({
    logger,
    metrics,
    guard: new ApiGuard({ keys: keys.ring, limiter, requestsPerMinute: config.rateLimitPerMinute }),
    dependencies: [
      { name: 'database', check: () => database.ping() },
      { name: 'cache', check: () => cache.ping() },
    ],
    trustProxy: config.trustProxy,
    isStopping: () => shutdown.hasBegun,
    servesApi: config.role !== 'worker',
    beforeScrape: async () => metrics.webhookQueueDepth.set(await services.webhookEvents.countPending()),
    registerRoutes: (scope) => registerRoutes(scope, services, { processor, clock: systemClock }),
  });
  shutdown.add('open requests', drainTimeoutMs + closeTimeoutMs, () => closeApp(app));
  return app;
}

async function listen(app: FastifyInstance, { host, port }: Config): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    throw new Error(`port ${port} is already in use on ${host}; set PORT to another one`, { cause: error });
  }
}

/** Lets what is in flight finish, up to a limit, and accepts nothing new meanwhile. */
async function closeApp(app: FastifyInstance): Promise<void> {
  const expired = new AbortController();
  const limit = setTimeout(drainTimeoutMs, undefined, { signal: expired.signal }).then(
    () => app.server.closeAllConnections(),
    () => undefined,
  );
  await app.close();
  expired.abort();
  await limit;
}

/** An address without its credentials: neither those before the host nor those among the parameters. */
function describeAddress(text: string): string {
  return text.replace(/\?.*/s, '').replace(/\/\/.*@/s, '//');
}
