import type pg from 'pg';
import type { Logger } from './logger.ts';
import { buildConcurrently, type MissingIndex } from './missing-index.ts';
import { findMissingParts } from './partitioned-indexes.ts';
import { isLockTimeout } from './postgres.ts';
import { connectToPrimary } from './primary-connection.ts';

/** The advisory lock under which one process at a time builds indexes ("tlix" in ASCII). */
const advisoryLockId = 0x746c6978;

interface DeferredIndex {
  readonly name: string;
  readonly table: string;
  /** What follows the name of the table: `(status, created_at, id)`. */
  readonly definition: string;
}

/**
 * Indexes that a release adds to a table that may be large. A migration is one transaction, so building an index in it
 * blocks the writes to the table, about a second for every million rows. In new databases they are built from here too.
 * They are declared in the code and not in the database, because the owner of the schema executes the definitions. For
 * a partitioned table, a migration creates the index `on only` the table, and each partition gets its own later.
 */
const deferredIndexes: readonly DeferredIndex[] = [];

/**
 * Builds the indexes that migrations left out for large tables and partitions, concurrently, so that no write waits. An
 * interrupted build starts over. Returns false if the work should be repeated soon.
 */
export async function completeIndexes(options: {
  readonly url: string;
  readonly logger: Logger;
  readonly signal?: AbortSignal;
  /** For tests. */
  readonly deferred?: readonly DeferredIndex[];
}): Promise<boolean> {
  const { url, logger, signal, deferred = deferredIndexes } = options;
  const client = await connect(url);
  let pid: number | undefined;
  const cancel = () => void cancelBackend(url, pid);
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    pid = rows[0]?.pid;
    return await completeAll(client, deferred, logger, signal);
  } catch (error) {
    if (signal?.aborted || isLockTimeout(error)) return false;
    throw error;
  } finally {
    signal?.removeEventListener('abort', cancel);
    await client.end();
  }
}

async function completeAll(
  client: pg.Client,
  deferred: readonly DeferredIndex[],
  logger: Logger,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const missing = await findMissing(client, deferred);
  if (missing.length === 0) return true;
  if (missing.some(({ isOwner }) => !isOwner)) {
    logger.warn(
      { action: 'Run "till migrate" with the DATABASE_URL of the role that owns the schema.' },
      'indexes incomplete: the database role may not build them',
    );
    return true;
  }
  const lock = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
    advisoryLockId,
  ]);
  if (lock.rows[0]?.taken !== true) return false;
  // Another process may have built some while this one waited for the lock.
  for (const index of await findMissing(client, deferred)) {
    signal?.throwIfAborted();
    await index.build();
    logger.info({ index: index.name, table: index.table }, 'index built');
  }
  return true;
}

async function findMissing(
  client: pg.Client,
  deferred: readonly DeferredIndex[],
): Promise<readonly MissingIndex[]> {
  return [...(await findMissingParts(client)), ...(await findDeferred(client, deferred))];
}

/** Returns the indexes that the database does not have yet. */
async function findDeferred(
  client: pg.Client,
  deferred: readonly DeferredIndex[],
): Promise<readonly MissingIndex[]> {
  const { rows } = await client.query<DeferredIndex & { isOwner: boolean }>(
    `select v.*, pg_has_role(relowner, 'usage') as "isOwner"
     from jsonb_to_recordset($1) as v (name text, "table" text, definition text)
       join pg_class on pg_class.oid = to_regclass('till.' || quote_ident(v."table"))
     where not exists (select from pg_index
       where indexrelid = to_regclass('till.' || quote_ident(v.name)) and indisvalid)
     order by pg_relation_size(pg_class.oid), v.name`,
    [JSON.stringify(deferred)],
  );
  return rows.map(({ name, table, definition, isOwner }) => ({
    name,
    table,
    isOwner,
    build: () => buildConcurrently(client, name, table, definition),
  }));
}

/** Builds have no timeout: they block nothing, and they may have to wait for a backup's transaction. */
async function connect(url: string): Promise<pg.Client> {
  const client = await connectToPrimary(url, { application_name: 'till indexes' });
  await client.query('set statement_timeout = 0; set lock_timeout = 0');
  return client;
}

/** The next build drops what a canceled one leaves behind. */
async function cancelBackend(url: string, pid: number | undefined): Promise<void> {
  try {
    const client = await connect(url);
    await client.query('select pg_cancel_backend($1)', [pid]);
    await client.end();
  } catch {
    // The server has stopped, and the build with it.
  }
}
