import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import type { Config } from './config.ts';
import { ApiGuard } from './http/api-guard.ts';
import { loadApiKeys } from './http/api-key-source.ts';
import { buildApp } from './http/app.ts';
import { RateLimiter } from './http/rate-limiter.ts';
import type { Cache } from './platform/cache.ts';
import { systemClock } from './platform/clock.ts';
import type { Logger } from './platform/logger.ts';
import { MemoryCache } from './platform/memory-cache.ts';
import { createMetrics } from './platform/metrics.ts';
import { migrate } from './platform/migrate.ts';
import { Database, isUnavailable } from './platform/postgres.ts';
import { RedisCache } from './platform/redis-cache.ts';
import { Shutdown } from './platform/shutdown.ts';
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
const migrationsFolder = fileURLToPath(new URL('../migrations', import.meta.url));

export interface Till {
  readonly facts: WelcomeFacts;
  /** Reads the key file again; returns how many keys are valid now. */
  readonly reloadKeys: () => Promise<number>;
  /** Ends everything in order; true if all of it ended in time. */
  readonly stop: () => Promise<boolean>;
}

/** The composition root: the only place that knows every part. Whatever fails, nothing is left running. */
export async function startTill(config: Config, logger: Logger): Promise<Till> {
  const shutdown = new Shutdown(logger);
  try {
    return await start(config, logger, shutdown);
  } catch (error) {
    await shutdown.run();
    throw error;
  }
}

async function start(config: Config, logger: Logger, shutdown: Shutdown): Promise<Till> {
  const keys = await loadApiKeys(config);
  const database = await openDatabase(config, logger, shutdown);
  const cache = await openCache(config, logger);
  shutdown.add('cache', closeTimeoutMs, () => cache.close());
  const metrics = createMetrics({ eventTypes, processorOperations: [], mirrors: [] });

  const limiter = new RateLimiter({
    shared: cache,
    fallback: new MemoryCache(systemClock),
    clock: systemClock,
    logger,
  });
  const servesApi = config.role !== 'worker';
  const app = await buildApp({
    logger,
    metrics,
    guard: new ApiGuard({ keys: keys.ring, limiter, requestsPerMinute: config.rateLimitPerMinute }),
    dependencies: [
      { name: 'database', check: () => database.ping() },
      { name: 'cache', check: () => cache.ping() },
    ],
    trustProxy: config.trustProxy,
    servesApi,
    registerRoutes: async () => {},
  });
  shutdown.add('open requests', drainTimeoutMs + closeTimeoutMs, async () => {
    await closeApp(app);
  });
  const url = await listen(app, config);

  const facts: WelcomeFacts = {
    url,
    database:
      config.databaseUrl === undefined
        ? `embedded PostgreSQL in ${config.dataDir}`
        : describeAddress(config.databaseUrl),
    cache: config.redisUrl === undefined ? 'in-process' : describeAddress(config.redisUrl),
    processor: 'none',
    servesApi,
    generatedKey: keys.generated,
  };
  return { facts, reloadKeys: keys.reload, stop: () => shutdown.run() };
}

async function openDatabase(config: Config, logger: Logger, shutdown: Shutdown): Promise<Database> {
  const url = config.databaseUrl ?? (await startPostgres(config, logger, shutdown));
  await migrateWhenReachable(url, logger);
  const database = new Database({ url, poolSize: config.databasePoolSize, logger });
  shutdown.add('database connections', closeTimeoutMs, () => database.close());
  return database;
}

async function startPostgres(config: Config, logger: Logger, shutdown: Shutdown): Promise<string> {
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

async function openCache(config: Config, logger: Logger): Promise<Cache> {
  if (config.redisUrl === undefined) return new MemoryCache(systemClock);
  const cache = new RedisCache({ url: config.redisUrl, logger });
  await cache.connect();
  return cache;
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
