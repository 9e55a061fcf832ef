import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { Stripe } from 'stripe';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { ApiGuard } from '../../src/http/access/api-guard.ts';
import { ApiKeyRing } from '../../src/http/access/api-key.ts';
import { RateLimiter } from '../../src/http/access/rate-limiter.ts';
import { buildApp } from '../../src/http/app.ts';
import { noCrashPoints } from '../../src/idempotency/crash-points.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import type { Logger } from '../../src/platform/logger.ts';
import { MemoryCache } from '../../src/platform/memory-cache.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { OwnerLock } from '../../src/platform/owner-lock.ts';
import { Database } from '../../src/platform/postgres.ts';
import { eventTypes } from '../../src/processor/event-types.ts';
import { type Processor, processorOperations } from '../../src/processor/processor.ts';
import { createStripeProcessor } from '../../src/processor/stripe/stripe-processor.ts';
import { composeServices, registerRoutes, type Services } from '../../src/till/compose-services.ts';
import { eventFixture } from '../fixtures/event-fixture.ts';
import { captureLog, type LogLine } from '../support/log-capture.ts';
import { createTestDatabase } from '../support/test-database.ts';

export const apiKey = 'webhook-key-0123456789';
/** The first is the sandbox's, the second is being rotated out. */
export const webhookSecrets = ['whsec_current', 'whsec_previous'] as const;
/** Far more batches than any test queues; a queue that never empties must end the test. */
const batchesMax = 1_000;

/** Far more looks than a call needs to be made; each is a round trip to the sandbox. */
const looksMax = 10_000;

/** Where clean-up goes: a test's own context, or the file's `after`. */
export interface Lifetime {
  after(work: () => Promise<unknown>): void;
}

export interface WebhookTill {
  readonly url: string;
  readonly databaseUrl: string;
  readonly services: Services;
  readonly processor: Processor;
  readonly lines: readonly LogLine[];
  /** The official client on the sandbox: the frontend and the dashboard, as far as Till is concerned. */
  readonly stripe: Stripe;
  /** The sandbox's own controls. */
  control(path: string, body?: object, method?: 'POST' | 'DELETE'): Promise<void>;
  /** Resolves once every fault that was set has met its request. */
  faultsTaken(): Promise<void>;
  /** A request with a valid key. */
  call(path: string, init?: RequestInit): Promise<Response>;
  /** A POST below /api/v1 that must succeed. */
  post<Answer>(path: string, body?: object): Promise<Answer>;
  /** A GET below /api/v1 that must succeed. */
  get<Answer>(path: string): Promise<Answer>;
  /** Sends a webhook; signed now with the current secret unless the headers say otherwise. */
  send(body: string | Buffer, headers?: Readonly<Record<string, string>>): Promise<Response>;
  /** Sends events that must be accepted, and applies all that is due. */
  take(...events: readonly string[]): Promise<void>;
  /** Applies all events that are due. */
  drain(): Promise<void>;
  /** Brings what the sandbox holds back, and applies it. */
  settle(): Promise<void>;
  sql<Row extends Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<readonly Row[]>;
  /** A counter's value, or how much a histogram has observed, over all labels unless some are given. */
  count(metric: string, labels?: Readonly<Record<string, string>>): Promise<number>;
}

export interface WebhookTillOptions {
  /** The way to the database, for tests that cut it. */
  readonly reachDatabase?: (url: string) => Promise<{ readonly url: string }>;
  readonly poolSize?: number;
  readonly retentionDays?: number;
  /** Of the API, per key; 0 is off. */
  readonly requestsPerMinute?: number;
  /** For tests in which it goes wrong. */
  readonly clock?: Clock;
}

/** Till in this process: real PostgreSQL, sandbox and sockets. Its worker is not started, so that the test decides when. */
export async function startWebhookTill(
  life: Lifetime,
  options: WebhookTillOptions = {},
): Promise<WebhookTill> {
  const closers: (() => Promise<unknown>)[] = [];
  life.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const testDatabase = await createTestDatabase();
  closers.push(() => testDatabase.drop());
  const { logger, lines } = captureLog();
  const address = { url: '' };
  const sandbox = await startSandbox({
    port: 0,
    webhook: {
      get url() {
        return `${address.url}/webhooks/processor`;
      },
      secret: webhookSecrets[0],
    },
  });
  closers.push(() => sandbox.close());
  const metrics = createMetrics({
    eventTypes: [...eventTypes, 'other'],
    processorOperations,
    mirrors: ['customer', 'plan', 'payment', 'refund', 'subscription', 'invoice'],
  });
  const processor = createStripeProcessor({
    secretKey: 'sk_test_till',
    apiBase: new URL(sandbox.url),
    webhookSecrets,
    maxInFlight: 50,
    metrics,
    logger,
    limits: { deadlineMs: 30_000, tryTimeoutMs: 15_000, retryDelayMs: 1 },
  });
  closers.push(async () => processor.close());
  const databaseUrl = (await options.reachDatabase?.(testDatabase.url))?.url ?? testDatabase.url;
  const ownerLock = new OwnerLock({ url: testDatabase.url, logger });
  await ownerLock.acquire();
  closers.push(() => ownerLock.close());
  const database = new Database({ url: databaseUrl, poolSize: options.poolSize ?? 5, logger });
  closers.push(() => database.close());
  const services = composeServices({
    database,
    ownerLock,
    processor,
    metrics,
    clock: options.clock ?? systemClock,
    logger,
    crashPoints: noCrashPoints,
    retentionDays: options.retentionDays ?? 90,
  });
  closers.push(() => services.stop());
  const app = await buildApp({
    logger,
    metrics,
    guard: guardWith(logger, options.requestsPerMinute ?? 0),
    dependencies: [],
    trustProxy: [],
    isStopping: () => false,
    servesApi: true,
    beforeScrape: async () => metrics.webhookQueueDepth.set(await services.webhookEvents.countPending()),
    registerRoutes: (scope) => registerRoutes(scope, services, { processor, clock: systemClock }),
  });
  address.url = await app.listen({ host: '127.0.0.1', port: 0 });
  closers.push(() => app.close());

  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${address.url}${path}`, { ...init, headers: { 'x-api-key': apiKey, ...init.headers } });
  const post = async (path: string, body: object = {}) =>
    answered(
      await call(`/api/v1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    );
  const send = (body: string | Buffer, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${address.url}/webhooks/processor`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'stripe-signature': sign(body), ...headers },
      body,
    });
  const drain = async () => {
    for (let batch = 0; batch < batchesMax; batch += 1) {
      if ((await services.eventApplier.applyBatch()) === 0) return;
    }
    assert.fail('the queue does not empty');
  };
  const control = async (path: string, body: object = {}, method = 'POST') => {
    const response = await fetch(`${sandbox.url}/sandbox/${path}`, { method, body: JSON.stringify(body) });
    assert.equal(response.status, 200, `the sandbox refused ${path}`);
  };
  await control('delivery', { mode: 'paused' });
  return {
    url: address.url,
    databaseUrl: testDatabase.url,
    services,
    processor,
    lines,
    stripe: new Stripe('sk_test_dashboard', {
      host: '127.0.0.1',
      port: sandbox.port,
      protocol: 'http',
      telemetry: false,
      maxNetworkRetries: 0,
    }),
    control,
    faultsTaken: async () => {
      for (let look = 0; look < looksMax; look += 1) {
        const { faults } = await answered(await fetch(`${sandbox.url}/sandbox/faults`));
        if (faults.length === 0) return;
      }
      assert.fail('nobody met the fault');
    },
    call,
    post,
    get: async (path) => answered(await call(`/api/v1${path}`)),
    send,
    take: async (...events) => {
      for (const event of events) await answered(await send(event));
      await drain();
    },
    drain,
    settle: async () => {
      await control('delivery/flush');
      await drain();
    },
    // The test names the columns that it asks for.
    sql: <Row extends Record<string, unknown>>(text: string, values: readonly unknown[] = []) =>
      database.query<Row>(text, values),
    count: async (metric, labels = {}) => {
      const found = await metrics.registry.getSingleMetric(metric)?.get();
      assert(found, `there is no metric ${metric}`);
      const matching = found.values
        .filter((value) => !('metricName' in value) || String(value.metricName).endsWith('_count'))
        .filter(({ labels: own }) =>
          Object.entries(labels).every(([name, text]) => Object(own)[name] === text),
        );
      return matching.reduce((sum, { value }) => sum + value, 0);
    },
  };
}

/** The signature header for a body. */
export function sign(
  body: string | Buffer,
  secret: string = webhookSecrets[0],
  atSeconds = Math.floor(Date.now() / 1_000),
): string {
  const signature = createHmac('sha256', secret).update(`${atSeconds}.`).update(body).digest('hex');
  return `t=${atSeconds},v1=${signature}`;
}

/** A fixture as an event of its own: another id, made now, with fields of its object and of itself changed. */
export function eventOf(name: string, object: object = {}, event: object = {}): string {
  const fixture = JSON.parse(eventFixture(name));
  return JSON.stringify({
    ...fixture,
    id: `evt_${randomUUID().replaceAll('-', '')}`,
    created: Math.floor(Date.now() / 1_000),
    ...event,
    data: { object: { ...fixture.data.object, ...object } },
  });
}

export function idOf(event: string): string {
  return JSON.parse(event).id;
}

async function answered(response: Response) {
  const text = await response.text();
  assert.ok(response.ok, `${response.status}: ${text}`);
  return JSON.parse(text);
}

function guardWith(logger: Logger, requestsPerMinute: number): ApiGuard {
  const cache = new MemoryCache(systemClock);
  const limiter = new RateLimiter({ shared: cache, fallback: cache, clock: systemClock, logger });
  return new ApiGuard({
    keys: new ApiKeyRing([{ name: 'tests', key: apiKey }]),
    limiter,
    requestsPerMinute,
  });
}
