import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { InstallationStore } from '../idempotency/installation-store.ts';
import { resources } from '../model/facts.ts';
import type { Cache } from '../platform/cache.ts';
import { systemClock } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import { MemoryCache } from '../platform/memory-cache.ts';
import type { Metrics } from '../platform/metrics.ts';
import { migrate, requireSchema, schemaNumber } from '../platform/migrate.ts';
import { OwnerLock } from '../platform/owner-lock.ts';
import { inspectPooler, type PoolMode } from '../platform/pool-mode.ts';
import { Database, type Queryable } from '../platform/postgres.ts';
import { Repeater } from '../platform/repeater.ts';
import { Replica } from '../platform/replica.ts';
import { sampleDelayMs } from '../platform/replica-lag.ts';
import type { Shutdown } from '../platform/shutdown.ts';
import type { Tracer } from '../platform/tracing.ts';
import { isUnavailable } from '../platform/unavailable.ts';
import { version } from '../platform/version.ts';
import type { SharedSandbox } from '../processes/messages.ts';
import type { ParentLink } from '../processes/parent-link.ts';
import type { BeforeCall, Processor } from '../processor/port/processor.ts';
import { checkSecretKey, mayBeSandbox, publicApiBase } from '../processor/stripe/check-secret-key.ts';
import { eventTypes } from '../processor/stripe/events/event-types.ts';
import { createStripeProcessor } from '../processor/stripe/stripe-processor.ts';
import type { CallLimits } from '../processor/stripe/wire/calls.ts';
import { SandboxControl } from '../sandbox-control/sandbox-control.ts';
import { BackfillStore } from '../sync/backfill-store.ts';
import type { MetricsSource } from '../telemetry/metrics-of-registry.ts';
import type { Config } from './config.ts';
import type { WelcomeFacts } from './welcome.ts';

/** The time limit for closing each part. */
export const closeTimeoutMs = 5_000;
/** Metrics exist before the processor does. */
export const metricLabels = { eventTypes: [...eventTypes, 'other'], mirrors: resources };
/** The embedded server's own shutdown escalates, and finishes within this time. */
const postgresStopTimeoutMs = 30_000;
/** Half a minute in total, the longest that a database container needs to start. */
const databaseAttemptsMax = 30;
const databaseRetryDelayMs = 1_000;
const webhookSecretBytes = 24;
/** The sandbox accepts any test key. */
export const sandboxKey = 'sk_test_sandbox';
export const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url));

/** What every part needs to start, and where it registers its shutdown. */
export interface Start {
  readonly config: Config;
  readonly logger: Logger;
  readonly shutdown: Shutdown;
  /** Set in one of several processes. The parent runs the embedded parts. */
  readonly parent?: ParentLink<WelcomeFacts> | undefined;
  /** Tests set others. */
  readonly callLimits?: Partial<CallLimits> | undefined;
}

export async function openDatabase(start: Start) {
  const addresses = await findDatabase(start);
  await migrateWhenReachable(addresses, start);
  return connect(addresses, start);
}

/** Brings the database to the newest schema, and returns the URL of its own sessions. */
export async function migrateDatabase(start: Start): Promise<string> {
  const addresses = await findDatabase(start);
  await migrateWhenReachable(addresses, start);
  return addresses.directUrl;
}

/**
 * Connects to the database of a running service, for commands that run next to it. Starts and migrates nothing, and refuses
 * a database that is not migrated.
 */
export async function joinDatabase(start: Start) {
  const addresses = await findRunningDatabase(start);
  await requireSchema({ url: addresses.directUrl, folder: migrationsFolder });
  return connect(addresses, start);
}

/** Loads the packages of OpenTelemetry only if there is a collector. */
export async function openTelemetry(
  { config, logger, shutdown }: Start,
  source: MetricsSource,
): Promise<Tracer | undefined> {
  if (config.telemetry === undefined) return undefined;
  const { Telemetry } = await import('../telemetry/open-telemetry.ts');
  const telemetry = new Telemetry(config.telemetry, { ...source, version, logger });
  shutdown.add('telemetry', closeTimeoutMs, () => telemetry.stop());
  return telemetry.tracer;
}

async function findRunningDatabase({ config, shutdown }: Start): Promise<DatabaseAddresses> {
  if (config.databaseUrl !== undefined)
    return checkAddresses(config, config.databaseUrl).catch((error: unknown) => {
      throw isUnavailable(error) ? explainUnavailable(error, config) : error;
    });
  const { findRunningPostgres } = await import('../platform/embedded-postgres.ts');
  const postgres = await findRunningPostgres(config.dataDir);
  shutdown.add('embedded PostgreSQL', closeTimeoutMs, () => postgres.stop());
  return embedded(postgres.url);
}

/** The addresses of one database. */
interface DatabaseAddresses {
  readonly url: string;
  /** For work that needs its own session: locks that outlive a transaction, migrations, indexes. */
  readonly directUrl: string;
  readonly poolMode: PoolMode;
}

function embedded(url: string): DatabaseAddresses {
  return { url, directUrl: url, poolMode: 'none' };
}

async function findDatabase(start: Start): Promise<DatabaseAddresses> {
  const { databaseUrl: url } = start.config;
  if (url === undefined) return embedded(start.parent?.seat.databaseUrl ?? (await startPostgres(start)));
  return whenReachable(start, () => checkAddresses(start.config, url));
}

/** Refuses a pooler that Till would not work with: requests would fail, or locks would protect nothing. */
async function checkAddresses({ databaseDirectUrl }: Config, url: string): Promise<DatabaseAddresses> {
  const { mode, mistake } = await inspectPooler(url, databaseDirectUrl);
  if (mistake !== undefined) throw new Error(mistake);
  if (databaseDirectUrl === undefined) return { url, directUrl: url, poolMode: mode };
  return { url, directUrl: databaseDirectUrl, poolMode: 'transaction' };
}

async function connect({ url, directUrl, poolMode }: DatabaseAddresses, { config, logger, shutdown }: Start) {
  const backfillStore = new BackfillStore(await schemaNumber(migrationsFolder));
  const onAcquired = (session: Queryable) => backfillStore.announce(session);
  const ownerLock = new OwnerLock({ url: directUrl, logger, onAcquired });
  shutdown.add('owner lock', closeTimeoutMs, () => ownerLock.close());
  await ownerLock.acquire();
  const database = new Database({ url, poolSize: config.databasePoolSize, logger, poolMode });
  shutdown.add('database connections', closeTimeoutMs, () => database.close());
  const installationId = await new InstallationStore().readId(database);
  return { directUrl, database, ownerLock, installationId, backfillStore };
}

/** Undefined if there is none. A replica that cannot be reached does not delay the start: the primary is read. */
export function openReplica(
  { config, logger, shutdown }: Start,
  primary: Database,
  metrics: Metrics,
): Replica | undefined {
  const { databaseReplicaUrl: url, databasePoolSize: poolSize, replicaLagSecondsMax: lagSecondsMax } = config;
  if (url === undefined || config.role === 'worker') return undefined;
  // Every statement runs in a transaction, so the address may also lead to a pooler of any mode.
  const replica = new Database({ url, poolSize, logger, poolMode: 'transaction', kind: 'replica' });
  shutdown.add('replica connections', closeTimeoutMs, () => replica.close());
  const reads = new Replica({ primary, replica, lagSecondsMax, metrics, logger });
  const watch = new Repeater({ name: 'replica', delayMs: sampleDelayMs, work: () => reads.watch(), logger });
  shutdown.add('replica', closeTimeoutMs, () => watch.stop());
  watch.start();
  primary.setReadRouter(reads);
  return reads;
}

/** Starts the embedded PostgreSQL, and returns its URL. */
export async function startPostgres({ config, logger, shutdown }: Start): Promise<string> {
  const { startEmbeddedPostgres } = await import('../platform/embedded-postgres.ts');
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, logger });
  shutdown.add('embedded PostgreSQL', postgresStopTimeoutMs, () => postgres.stop());
  return postgres.url;
}

function migrateWhenReachable({ directUrl: url }: DatabaseAddresses, start: Start): Promise<void> {
  const { logger } = start;
  return whenReachable(start, () => migrate({ url, folder: migrationsFolder, logger }));
}

/** A database that starts together with the service may need longer. */
async function whenReachable<T>({ config, logger }: Start, work: () => Promise<T>): Promise<T> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      if (attempts >= databaseAttemptsMax) throw explainUnavailable(error, config);
      logger.warn({ err: error, attempts }, 'database unavailable; retry scheduled');
      await setTimeout(databaseRetryDelayMs);
    }
  }
}

/** Quotes the reason: a pooler reports an unknown database or user in the same way as an outage. */
function explainUnavailable(error: unknown, { databaseUrl, databaseDirectUrl }: Config): Error {
  const addresses = [databaseUrl, databaseDirectUrl].filter((url) => url !== undefined).map(describeAddress);
  const variables = databaseDirectUrl === undefined ? 'DATABASE_URL' : 'DATABASE_URL or DATABASE_DIRECT_URL';
  const reason = error instanceof Error && error.message !== '' ? ` (${error.message})` : '';
  return new Error(
    `the database at ${addresses.join(' or ')} is unavailable${reason}; start it, or correct ${variables}`,
    { cause: error },
  );
}

export async function openCache({ config, logger, shutdown }: Start): Promise<Cache> {
  if (config.redisUrl === undefined) return new MemoryCache(systemClock);
  const { RedisCache } = await import('../platform/redis-cache.ts');
  const cache = new RedisCache({ url: config.redisUrl, logger });
  shutdown.add('cache', closeTimeoutMs, () => cache.close());
  await cache.connect();
  return cache;
}

interface OpenedProcessor {
  readonly processor: Processor;
  /** The name that is shown to people. */
  readonly name: string;
  /** Undefined if the processor cannot be a sandbox. */
  readonly sandbox?: SandboxControl | undefined;
}

/** The processor for the configured secret key. Without one, the sandbox, which sends its webhooks to `till`. */
export async function openProcessor(
  start: Start,
  metrics: Metrics,
  till: { readonly url: string },
  beforeCall?: BeforeCall,
): Promise<OpenedProcessor> {
  const { secretKey } = start.config.processor;
  if (secretKey !== undefined) return openRealProcessor(start, metrics, secretKey, beforeCall);
  const { url, webhookSecrets } = start.parent?.seat.sandbox ?? (await startOwnSandbox(start, till));
  const processor = connectProcessor(start, metrics, {
    secretKey: sandboxKey,
    apiBase: new URL(url),
    webhookSecrets,
    beforeCall,
  });
  const control = new SandboxControl({ url, secretKey: sandboxKey });
  return { processor, name: `sandbox at ${url}`, sandbox: control };
}

/** Starts the sandbox, which sends its webhooks to `till`. */
export async function startOwnSandbox(
  { config, logger, shutdown }: Start,
  till: { readonly url: string },
): Promise<SharedSandbox> {
  const { startSandbox } = await import('../../sandbox/sandbox.ts');
  const generated = `whsec_${randomBytes(webhookSecretBytes).toString('base64url')}`;
  const [secret = generated, ...older] = config.processor.webhookSecrets;
  const sandbox = await startSandbox({
    port: config.processor.sandboxPort,
    allowedHosts: config.processor.sandboxHosts,
    dataDir: config.dataDir,
    webhook: {
      // Known only once the service listens, after the processor has started.
      get url() {
        return `${till.url}/webhooks/processor`;
      },
      secret,
    },
    log: (level, fields, message) => logger[level]({ part: 'sandbox', ...fields }, message),
  }).catch((error: unknown) => {
    throw explainPort(error, {
      variable: 'SANDBOX_PORT',
      port: config.processor.sandboxPort,
      host: '127.0.0.1',
    });
  });
  shutdown.add('sandbox', closeTimeoutMs, () => sandbox.close());
  return { url: sandbox.url, webhookSecrets: [secret, ...older] };
}

/** The processor of a running service, for commands that run next to it. */
export function joinProcessor(start: Start, metrics: Metrics, beforeCall?: BeforeCall): OpenedProcessor {
  const { secretKey, sandboxPort } = start.config.processor;
  if (secretKey !== undefined) return openRealProcessor(start, metrics, secretKey, beforeCall);
  const apiBase = new URL(`http://127.0.0.1:${sandboxPort}`);
  const processor = connectProcessor(start, metrics, {
    secretKey: sandboxKey,
    apiBase,
    webhookSecrets: ['unused'],
    beforeCall,
  });
  const control = new SandboxControl({ url: apiBase.origin, secretKey: sandboxKey });
  return { processor, name: `sandbox at ${apiBase.origin}`, sandbox: control };
}

/** Warnings about the secret key and the address of the processor. */
export function secretKeyWarnings({ processor, production }: Config) {
  if (processor.secretKey === undefined) return [];
  return checkSecretKey({
    secretKey: processor.secretKey,
    apiBase: new URL(processor.apiBase ?? publicApiBase),
    nodeEnv: production ? 'production' : undefined,
  });
}

function openRealProcessor(
  start: Start,
  metrics: Metrics,
  secretKey: string,
  beforeCall?: BeforeCall,
): OpenedProcessor {
  const { config, logger } = start;
  const apiBase = new URL(config.processor.apiBase ?? publicApiBase);
  const nodeEnv = config.production ? 'production' : undefined;
  const settings = { secretKey, apiBase, nodeEnv };
  for (const { message, ...fields } of secretKeyWarnings(config)) logger.warn(fields, message);
  const { webhookSecrets } = config.processor;
  const processor = connectProcessor(start, metrics, { secretKey, apiBase, webhookSecrets, beforeCall });
  return {
    processor,
    name: `${apiBase.origin}, ${processor.livemode ? 'live' : 'test'} mode`,
    sandbox: mayBeSandbox(settings) ? new SandboxControl({ url: apiBase.origin, secretKey }) : undefined,
  };
}

function connectProcessor(
  { config, logger, shutdown, callLimits = {} }: Start,
  metrics: Metrics,
  to: {
    readonly secretKey: string;
    readonly apiBase: URL;
    readonly webhookSecrets: readonly string[];
    readonly beforeCall?: BeforeCall | undefined;
  },
): Processor {
  const { maxInFlight } = config.processor;
  const processor = createStripeProcessor({ ...to, maxInFlight, metrics, logger, limits: callLimits });
  shutdown.add('processor', closeTimeoutMs, async () => processor.close());
  return processor;
}

/** A URL without credentials: neither before the host nor in the parameters. */
export function describeAddress(text: string): string {
  return text.replace(/\?.*/s, '').replace(/\/\/.*@/s, '//');
}

/** Explains a port that is in use by what to change; returns any other error unchanged. */
export function explainPort(
  error: unknown,
  { variable, port, host }: { readonly variable: string; readonly port: number; readonly host: string },
): unknown {
  if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) return error;
  return new Error(`port ${port} is already in use on ${host}; set ${variable} to another port`, {
    cause: error,
  });
}
