import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { systemClock } from '#core/platform/clock.ts';
import type { Logger } from '#core/platform/logger.ts';
import { MemoryCache } from '#core/platform/memory-cache.ts';
import { createMetrics } from '#core/platform/metrics.ts';
import type { ConsoleAccess } from '#operators/console/sessions/console-access.ts';
import type { KeyService } from '#operators/keys/key-service.ts';
import { ApiGuard, ApiKeyRing } from '../../src/http/access/api-guard.ts';
import { RateLimiter } from '../../src/http/access/rate-limiter.ts';
import { type AppParts, buildApp } from '../../src/http/app.ts';
import { testKey } from './client.ts';
import { captureLog, type LogLine } from './log-capture.ts';

export interface Frame {
  readonly app: FastifyInstance;
  readonly url: string;
  readonly port: number;
  readonly lines: LogLine[];
  /** A request with a valid API key. */
  readonly call: (path: string, init?: RequestInit) => Promise<Response>;
}

/** The HTTP frame on a real socket, with routes of the test's own in place of the resources. */
export async function startFrame(
  t: TestContext,
  registerRoutes: AppParts['registerRoutes'] = async () => {},
  options: Partial<AppParts> & { readonly requestsPerMinute?: number } = {},
): Promise<Frame> {
  const { logger, lines } = captureLog();
  const app = await buildApp({
    logger,
    metrics: createMetrics({
      eventTypes: ['payment_intent.succeeded'],
      mirrors: [],
    }),
    guard: createGuard(logger, options.requestsPerMinute ?? 0),
    dependencies: [],
    trustProxy: [],
    isStopping: () => false,
    beforeScrape: async () => {},
    servesApi: true,
    registerRoutes,
    ...options,
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${url}${path}`, { ...init, headers: { 'x-api-key': testKey, ...init.headers } });
  return { app, url, port, lines, call };
}

interface GuardOptions {
  readonly storedKeys?: KeyService;
  readonly sessions?: ConsoleAccess | undefined;
  readonly ring?: ApiKeyRing;
  readonly usageRequestsPerMinute?: number | undefined;
}

/** Only the API key of the tests. */
export function testRing(): ApiKeyRing {
  return new ApiKeyRing([{ name: 'tests', application: 'tests', key: testKey }]);
}

/** Accepts the tests' API key, and stored ones if there are any. 0 requests a minute turns the rate limit off. */
export function createGuard(
  logger: Logger,
  requestsPerMinute: number,
  { storedKeys, sessions, ring = testRing(), usageRequestsPerMinute = 0 }: GuardOptions = {},
): ApiGuard {
  // One minute lasts for the whole test, however slow the machine is.
  const startedAt = systemClock.now();
  const clock = { now: () => startedAt };
  const cache = new MemoryCache(clock);
  return new ApiGuard({
    keys: ring,
    ...(storedKeys === undefined ? {} : { storedKeys }),
    sessions,
    limiter: new RateLimiter({ shared: cache, fallback: cache, clock, logger }),
    requestsPerMinute,
    usageRequestsPerMinute,
  });
}
