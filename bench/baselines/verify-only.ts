/** The service's own webhook route with its whole environment. It verifies events but stores nothing. */

import { systemClock } from '#core/platform/clock.ts';
import { createLogger } from '#core/platform/logger.ts';
import { MemoryCache } from '#core/platform/memory-cache.ts';
import { createMetrics } from '#core/platform/metrics.ts';
import { Database } from '#core/platform/postgres.ts';
import { Shutdown } from '#core/platform/shutdown.ts';
import { Inbox, type Receipt } from '#engine/webhooks/inbox.ts';
import { registerWebhookRoutes } from '#engine/webhooks/webhook-routes.ts';
import { metricLabels, openProcessor } from '#runtime/composition/compose-parts.ts';
import { loadConfig } from '#runtime/composition/config.ts';
import { ApiGuard, ApiKeyRing } from '../../src/http/access/api-guard.ts';
import { RateLimiter } from '../../src/http/access/rate-limiter.ts';
import { buildApp } from '../../src/http/app.ts';
import { serve } from './serve.ts';

class DiscardingInbox extends Inbox {
  override receive(): Promise<Receipt> {
    return Promise.resolve('stored');
  }
}

const config = loadConfig(process.env, process.cwd());
const logger = createLogger(config.logLevel);
const metrics = createMetrics(metricLabels);
const { processor } = await openProcessor({ config, logger, shutdown: new Shutdown(logger) }, metrics, {
  url: '',
});
// Never connects, because it gets no statements.
const database = new Database({ url: config.databaseUrl ?? '', poolSize: 1, logger });
const inbox = new DiscardingInbox(
  { database, processor, metrics, logger, clock: systemClock },
  { isIdle: false, applyReceived: async () => new Map() },
  () => {},
);
const cache = new MemoryCache(systemClock);
const app = await buildApp({
  logger,
  metrics,
  guard: new ApiGuard({
    keys: new ApiKeyRing(config.apiKeys),
    limiter: new RateLimiter({ shared: cache, fallback: cache, clock: systemClock, logger }),
    requestsPerMinute: config.rateLimitPerMinute,
  }),
  dependencies: [],
  trustProxy: [],
  isStopping: () => false,
  servesApi: true,
  beforeScrape: async () => {},
  registerRoutes: (scope) => registerWebhookRoutes(scope, { processor, clock: systemClock }, inbox),
});
await serve(app);
