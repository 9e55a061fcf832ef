import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Scope, scopes } from '#core/model/api-key.ts';
import { MovableClock } from '#core/platform/clock.ts';
import {
  type Backend,
  connectProcessor,
  type Lifetime,
  openSql,
  webhookSecrets,
} from '../support/backend.ts';
import { type Client, createClient, testKey } from '../support/client.ts';
import { type ProcessorProxy, startProcessorProxy } from '../support/processor-proxy.ts';
import { startOwnRedis } from '../support/redis-server.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { startTill } from '../support/till.ts';
import { backendEnvironment, quickCommand, type TillInChild } from '../support/till-in-child.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { hookUrl } from './operation-parts.ts';

/** What the requests of these tests never reach, unless a test counts them up. */
const requestsPerMinute = 1_000_000;

export interface Tills extends Client, Backend {
  /** Two processes of the service on one database and one Redis. The sandbox is embedded in the first. */
  readonly pair: readonly [TillInChild, TillInChild];
  /** A third one, which waits neither for turns nor for claims. It calls the processor through the proxy. */
  readonly impatient: TillInProcess;
  readonly proxy: ProcessorProxy;
  /** A fourth one, in which a request must be finished within a moment. */
  readonly hasty: TillInProcess;
  /** An API key for each scope. */
  readonly keys: Readonly<Record<Scope, string>>;
  /** A fifth one, whose clock stands still. It allows one request a minute, and the administrator has used it up. */
  readonly stingy: TillInProcess;
  readonly hookUrl: string;
}

export async function startTills(life: Lifetime): Promise<Tills> {
  const ends: (() => unknown)[] = [];
  life.after(async () => {
    for (const end of ends.toReversed()) await end();
  });
  const atEnd = (end: () => unknown) => void ends.push(end);
  const environment = await startServers(atEnd);
  const databaseUrl = environment.DATABASE_URL;
  const first = await startTill({ in: 'child', command: quickCommand, environment });
  atEnd(() => first.stop('SIGKILL'));
  const { url: processorUrl } = await first.get<{ url: string }>('/sandbox');
  const second = await startTill({
    ...{ in: 'child', command: quickCommand },
    environment: { ...backendEnvironment({ databaseUrl, processorUrl }), ...environment },
  });
  atEnd(() => second.stop('SIGKILL'));
  const backend: Backend = {
    ...connectProcessor(processorUrl),
    databaseUrl,
    sql: openSql(databaseUrl, atEnd),
    // The embedded sandbox knows the address.
    deliverTo: () => {},
    processorClock: (clock) => new MovableClock(clock),
    atEnd,
  };
  const proxy = await startProcessorProxy(backend);
  const impatient = await startTill({
    ...{ in: 'process', on: backend, processorUrl: proxy.url },
    ...{ turnWaitMs: 1, claimWaitMs: 1, events: { allowPrivate: true } },
  });
  const hasty = await startTill({ in: 'process', on: backend, requestDeadlineMs: 50 });
  const stingy = await startStingy(backend);
  const keyOf = async (name: string, ...granted: readonly Scope[]) =>
    (await first.post<{ key: string }>('/api-keys', { name, scopes: granted })).key;
  const keys = await Promise.all(scopes.map(async (scope) => [scope, await keyOf(scope, scope)] as const));
  return {
    ...createClient(first),
    ...backend,
    ...{ pair: [first, second], impatient, hasty, stingy, proxy, hookUrl },
    // Each scope is there.
    keys: Object.fromEntries(keys) as Record<Scope, string>,
  };
}

async function startServers(atEnd: Backend['atEnd']) {
  const database = await createTestDatabase();
  atEnd(() => database.drop());
  const redis = await startOwnRedis();
  if (redis === undefined) throw new Error('Redis is not installed');
  atEnd(() => redis.stop());
  const folder = await mkdtemp(join(tmpdir(), 'till-fuzz-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return {
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    DATA_DIR: folder,
    API_KEYS: `tests:${testKey}`,
    RATE_LIMIT_PER_MINUTE: String(requestsPerMinute),
    USAGE_RATE_LIMIT_PER_MINUTE: String(requestsPerMinute),
    EVENT_ENDPOINTS_ALLOW_PRIVATE: 'true',
    PROCESSOR_WEBHOOK_SECRET: webhookSecrets[0],
    // Wrong API keys are counted for the address of the caller.
    TRUST_PROXY: '127.0.0.1',
  };
}

async function startStingy(on: Backend): Promise<TillInProcess> {
  const startedAt = new Date();
  const till = await startTill({
    ...{ in: 'process', on, clock: { now: () => startedAt } },
    ...{ requestsPerMinute: 1, usageRequestsPerMinute: 1 },
  });
  // Requests about usage are counted by themselves.
  await till.call('GET', '/plans');
  await till.call('POST', '/usage', { events: [] });
  return till;
}
