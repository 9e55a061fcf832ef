import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Cache } from '../platform/cache.ts';
import { systemClock } from '../platform/clock.ts';
import type { Logger } from '../platform/logger.ts';
import { MemoryCache } from '../platform/memory-cache.ts';
import type { Metrics } from '../platform/metrics.ts';
import { migrate } from '../platform/migrate.ts';
import { OwnerLock } from '../platform/owner-lock.ts';
import { Database, isUnavailable } from '../platform/postgres.ts';
import type { Shutdown } from '../platform/shutdown.ts';
import type { Processor } from '../processor/processor.ts';
import { checkProcessorKeys, mayBeSandbox, publicApiBase } from '../processor/stripe/check-processor-keys.ts';
import { createStripeProcessor } from '../processor/stripe/stripe-processor.ts';
import { SandboxControl } from '../sandbox-control/sandbox-control.ts';
import type { Config } from './config.ts';

/** The time limit for closing each part. */
export const closeTimeoutMs = 5_000;
/** The embedded server's own shutdown escalates, and ends within this time. */
const postgresStopTimeoutMs = 30_000;
/** Half a minute in total, the longest that a database container needs to start. */
const databaseTriesMax = 30;
const databaseRetryDelayMs = 1_000;
const webhookSecretBytes = 24;
/** The sandbox accepts any test key. */
export const sandboxKey = 'sk_test_sandbox';
const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url));

/** What every part needs to start, and where it registers its shutdown. */
export interface Start {
  readonly config: Config;
  readonly logger: Logger;
  readonly shutdown: Shutdown;
}

export async function openDatabase({ config, logger, shutdown }: Start) {
  const url = await migrateDatabase({ config, logger, shutdown });
  return connect(url, { config, logger, shutdown });
}

/** Brings the database to the newest schema, and returns its URL. */
export async function migrateDatabase({ config, logger, shutdown }: Start): Promise<string> {
  const url = config.databaseUrl ?? (await startPostgres({ config, logger, shutdown }));
  await migrateWhenReachable(url, logger);
  return url;
}

/** Connects to the database of a running service, for commands that run next to it. Starts and migrates nothing. */
export async function joinDatabase({ config, logger, shutdown }: Start) {
  if (config.databaseUrl !== undefined) return connect(config.databaseUrl, { config, logger, shutdown });
  const { findRunningPostgres } = await import('../platform/embedded-postgres.ts');
  const postgres = await findRunningPostgres(config.dataDir);
  shutdown.add('embedded PostgreSQL', closeTimeoutMs, () => postgres.stop());
  return connect(postgres.url, { config, logger, shutdown });
}

async function connect(url: string, { config, logger, shutdown }: Start) {
  const ownerLock = new OwnerLock({ url, logger });
  shutdown.add('owner lock', closeTimeoutMs, () => ownerLock.close());
  await ownerLock.acquire();
  const database = new Database({ url, poolSize: config.databasePoolSize, logger });
  shutdown.add('database connections', closeTimeoutMs, () => database.close());
  return { url, database, ownerLock };
}

async function startPostgres({ config, logger, shutdown }: Start): Promise<string> {
  const { startEmbeddedPostgres } = await import('../platform/embedded-postgres.ts');
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, logger });
  shutdown.add('embedded PostgreSQL', postgresStopTimeoutMs, () => postgres.stop());
  return postgres.url;
}

/** A database that starts together with the service may need longer. */
async function migrateWhenReachable(url: string, logger: Logger): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await migrate({ url, folder: migrationsFolder, logger });
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      if (tries >= databaseTriesMax) {
        throw new Error(
          `the database at ${describeAddress(url)} is unavailable; start it, or correct DATABASE_URL`,
          {
            cause: error,
          },
        );
      }
      logger.warn({ err: error, tries }, 'database unavailable; retry scheduled');
      await setTimeout(databaseRetryDelayMs);
    }
  }
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

/** The processor for the configured key; without a key, the sandbox, which sends its webhooks to `till`. */
export async function openProcessor(
  start: Start,
  metrics: Metrics,
  till: { readonly url: string },
  beforeCall?: () => void,
): Promise<OpenedProcessor> {
  const { config, logger, shutdown } = start;
  if (config.processor.secretKey !== undefined)
    return openRealProcessor(start, metrics, config.processor.secretKey, beforeCall);
  const { startSandbox } = await import('../../sandbox/sandbox.ts');
  const generated = `whsec_${randomBytes(webhookSecretBytes).toString('base64url')}`;
  const [secret = generated, ...older] = config.processor.webhookSecrets;
  const sandbox = await startSandbox({
    port: config.processor.sandboxPort,
    dataDir: config.dataDir,
    webhook: {
      // Known only once the service listens, which happens after the processor has started.
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
  const processor = connectProcessor(start, metrics, {
    secretKey: sandboxKey,
    apiBase: new URL(sandbox.url),
    webhookSecrets: [secret, ...older],
    beforeCall,
  });
  const control = new SandboxControl({ url: sandbox.url, secretKey: sandboxKey });
  return { processor, name: `sandbox at ${sandbox.url}`, sandbox: control };
}

/** The processor of a running service, for commands that run next to it. */
export function joinProcessor(start: Start, metrics: Metrics): OpenedProcessor {
  const { secretKey, sandboxPort } = start.config.processor;
  if (secretKey !== undefined) return openRealProcessor(start, metrics, secretKey);
  const apiBase = new URL(`http://127.0.0.1:${sandboxPort}`);
  const processor = connectProcessor(start, metrics, {
    secretKey: sandboxKey,
    apiBase,
    webhookSecrets: ['unused'],
  });
  return { processor, name: `sandbox at ${apiBase.origin}` };
}

function openRealProcessor(
  start: Start,
  metrics: Metrics,
  secretKey: string,
  beforeCall?: () => void,
): OpenedProcessor {
  const { config, logger } = start;
  const apiBase = new URL(config.processor.apiBase ?? publicApiBase);
  const nodeEnv = config.production ? 'production' : undefined;
  const settings = { secretKey, apiBase, nodeEnv };
  for (const { message, ...fields } of checkProcessorKeys(settings)) logger.warn(fields, message);
  const { webhookSecrets } = config.processor;
  const processor = connectProcessor(start, metrics, { secretKey, apiBase, webhookSecrets, beforeCall });
  return {
    processor,
    name: `${apiBase.origin}, ${processor.livemode ? 'live' : 'test'} mode`,
    sandbox: mayBeSandbox(settings) ? new SandboxControl({ url: apiBase.origin, secretKey }) : undefined,
  };
}

function connectProcessor(
  { config, logger, shutdown }: Start,
  metrics: Metrics,
  to: {
    readonly secretKey: string;
    readonly apiBase: URL;
    readonly webhookSecrets: readonly string[];
    readonly beforeCall?: (() => void) | undefined;
  },
): Processor {
  const { maxInFlight } = config.processor;
  const processor = createStripeProcessor({ ...to, maxInFlight, metrics, logger });
  shutdown.add('processor', closeTimeoutMs, async () => processor.close());
  return processor;
}

/** A URL without its credentials, neither those before the host nor those in the parameters. */
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
