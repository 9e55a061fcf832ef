import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Metrics } from '#core/platform/metrics.ts';
import { migrate, requireSchema, schemaNumber } from '#core/platform/migrate.ts';
import { OwnerLock } from '#core/platform/owner-lock.ts';
import { inspectPooler, type PoolMode } from '#core/platform/pool-mode.ts';
import { Database, type Queryable } from '#core/platform/postgres.ts';
import { Repeater } from '#core/platform/repeater.ts';
import { Replica } from '#core/platform/replica.ts';
import { sampleDelayMs } from '#core/platform/replica-lag.ts';
import { isConnectionRefused, isUnavailable } from '#core/platform/unavailable.ts';
import { InstallationStore } from '#engine/idempotency/installation-store.ts';
import { BackfillStore } from '#engine/sync/backfill-store.ts';
import type { Config } from './config.ts';
import type { Start } from './start.ts';

/** The time limit for closing each part. */
export const closeTimeoutMs = 5_000;
/** The embedded server's own shutdown escalates, and finishes within this time. */
const postgresStopTimeoutMs = 30_000;
/** Half a minute in total, the longest that a database container needs to start. */
const databaseAttemptsMax = 30;
const databaseRetryDelayMs = 1_000;
export const migrationsFolder = fileURLToPath(new URL('../../../migrations', import.meta.url));

/** An open database with the newest schema, and the parts that belong to it. */
export type OpenedDatabase = Awaited<ReturnType<typeof connect>>;

/**
 * Starts the database if it is embedded, migrates it to the newest schema, and connects to it. Calls `whileWaiting` as
 * soon as other processes work and this one only waits for them.
 */
export async function openDatabase(start: Start, whileWaiting?: () => void): Promise<OpenedDatabase> {
  const addresses = await findDatabase(start, whileWaiting);
  await migrateWhenReachable(addresses, start);
  return connect(addresses, start);
}

/** Migrates the database to the newest schema, and returns the URL for sessions of its own. */
export async function migrateDatabase(start: Start): Promise<void> {
  await migrateWhenReachable(await findDatabase(start), start);
}

/**
 * Connects to the database of a running service, for commands that run next to it. Starts and migrates nothing, and
 * refuses a database that is not migrated.
 */
export async function joinDatabase(start: Start): Promise<OpenedDatabase> {
  const addresses = await findRunningDatabase(start);
  await requireSchema({ url: addresses.directUrl, folder: migrationsFolder });
  return connect(addresses, start);
}

async function findRunningDatabase({ config, shutdown }: Start): Promise<DatabaseAddresses> {
  if (config.databaseUrl !== undefined)
    return checkAddresses(config, config.databaseUrl).catch((error: unknown) => {
      throw isUnavailable(error) ? explainUnavailable(error, config) : explainRefusal(error, config);
    });
  const { findRunningPostgres } = await import('../embedded-postgres.ts');
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

async function findDatabase(start: Start, whileWaiting = () => {}): Promise<DatabaseAddresses> {
  const url = start.config.databaseUrl ?? start.parent?.seat.databaseUrl;
  if (url === undefined) return embedded(await startPostgres(start, whileWaiting));
  whileWaiting();
  if (start.config.databaseUrl === undefined) return embedded(url);
  return whenReachable(start, () => checkAddresses(start.config, url));
}

/** Refuses a pooler with which Till would not work: requests would fail, or locks would protect nothing. */
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
  return { database, ownerLock, installationId, backfillStore };
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
export async function startPostgres(
  { config, logger, shutdown }: Start,
  whileWaiting = () => {},
): Promise<string> {
  const { startEmbeddedPostgres } = await import('../embedded-postgres.ts');
  const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, logger, whileWaiting });
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
      if (!isUnavailable(error)) throw explainRefusal(error, config);
      if (attempts >= databaseAttemptsMax) throw explainUnavailable(error, config);
      logger.warn({ err: error, attempts }, 'database unavailable; retry scheduled');
      await setTimeout(databaseRetryDelayMs);
    }
  }
}

/** The server is up, but refuses the user, the password, the database or the kind of connection. */
function explainRefusal(error: unknown, config: Config): unknown {
  if (!(error instanceof Error) || !isConnectionRefused(error)) return error;
  const { addresses, variables } = addressesOf(config);
  return new Error(
    `the database at ${addresses} refuses the connection (${error.message}); correct ${variables}`,
    {
      cause: error,
    },
  );
}

/** Quotes the reason: a pooler reports an unknown database or user in the same way as an outage. */
function explainUnavailable(error: unknown, config: Config): Error {
  const { addresses, variables } = addressesOf(config);
  const reason = error instanceof Error && error.message !== '' ? ` (${error.message})` : '';
  return new Error(
    `the database at ${addresses} is unavailable${reason}; start it, or correct ${variables}`,
    {
      cause: error,
    },
  );
}

function addressesOf({ databaseUrl, databaseDirectUrl }: Config) {
  const urls = [databaseUrl, databaseDirectUrl].filter((url) => url !== undefined);
  return {
    addresses: urls.map(describeAddress).join(' or '),
    variables: databaseDirectUrl === undefined ? 'DATABASE_URL' : 'DATABASE_URL or DATABASE_DIRECT_URL',
  };
}

/** A URL without credentials: neither before the host nor in the parameters. */
export function describeAddress(text: string): string {
  return text.replace(/\?.*/s, '').replace(/\/\/.*@/s, '//');
}
