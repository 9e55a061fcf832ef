import { fileURLToPath } from 'node:url';
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
import { Database } from './platform/postgres.ts';
import { RedisCache } from './platform/redis-cache.ts';
import { Shutdown } from './platform/shutdown.ts';
import { eventTypes } from './webhooks/event-types.ts';
import type { WelcomeFacts } from './welcome.ts';

/** Orchestrators wait 30 s before they kill; what is in flight gets most of that. */
const drainTimeoutMs = 20_000;
const closeTimeoutMs = 5_000;
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
    const timer = setTimeout(() => app.server.closeAllConnections(), drainTimeoutMs);
    await app.close();
    clearTimeout(timer);
  });
  const url = await app.listen({ host: config.host, port: config.port });

  const facts: WelcomeFacts = {
    url,
    database: config.databaseUrl === undefined ? 'embedded' : describeUrl(config.databaseUrl),
    cache: config.redisUrl === undefined ? 'in-process' : describeUrl(config.redisUrl),
    processor: 'none',
    servesApi,
    generatedKey: keys.generated,
  };
  return { facts, reloadKeys: keys.reload, stop: () => shutdown.run() };
}

async function openDatabase(config: Config, logger: Logger, shutdown: Shutdown): Promise<Database> {
  const url = config.databaseUrl ?? '';
  await migrate({ url, folder: migrationsFolder, logger });
  const database = new Database({ url, poolSize: config.databasePoolSize, logger });
  shutdown.add('database connections', closeTimeoutMs, () => database.close());
  return database;
}

async function openCache(config: Config, logger: Logger): Promise<Cache> {
  if (config.redisUrl === undefined) return new MemoryCache(systemClock);
  const cache = new RedisCache({ url: config.redisUrl, logger });
  await cache.connect();
  return cache;
}

/** An address without its credentials. */
function describeUrl(text: string): string {
  const url = new URL(text);
  return `${url.protocol}//${url.host}${url.pathname}`;
}
