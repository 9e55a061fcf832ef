import pg from 'pg';
import type { Logger } from './logger.ts';
import { buildConcurrently, type MissingIndex } from './missing-index.ts';
import { findMissingParts } from './partitioned-indexes.ts';
import { isLockTimeout } from './postgres.ts';

/** The advisory lock under which one process at a time builds indexes ("tlix" in ASCII). */
const advisoryLockId = 0x746c6978;
const connectTimeoutMs = 5_000;

/**
 * Builds the indexes that migrations left out for large tables and partitions, concurrently, so that no write waits. An
 * interrupted build starts over. Returns false if the work should be repeated soon.
 */
export async function completeIndexes(options: {
  readonly url: string;
  readonly logger: Logger;
  readonly signal?: AbortSignal;
}): Promise<boolean> {
  const { url, logger, signal } = options;
  const client = await connect(url);
  let pid: number | undefined;
  const cancel = () => void cancelBackend(url, pid);
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    pid = rows[0]?.pid;
    return await completeAll(client, logger, signal);
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
  logger: Logger,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const missing = await findMissing(client);
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
  for (const index of await findMissing(client)) {
    signal?.throwIfAborted();
    await index.build();
    logger.info({ index: index.name, table: index.table }, 'index built');
  }
  return true;
}

async function findMissing(client: pg.Client): Promise<readonly MissingIndex[]> {
  return [...(await findMissingParts(client)), ...(await findDeferred(client))];
}

/** The indexes that `till.deferred_indexes` declares and the database does not have yet. */
async function findDeferred(client: pg.Client): Promise<readonly MissingIndex[]> {
  const { rows } = await client.query<DeferredIndex>(
    `select name, table_name, definition, pg_has_role(relowner, 'usage') as is_owner
     from till.deferred_indexes() join pg_class on pg_class.oid = to_regclass('till.' || quote_ident(table_name))
     where not exists (select from pg_index
       where indexrelid = to_regclass('till.' || quote_ident(name)) and indisvalid)
     order by pg_relation_size(pg_class.oid), name`,
  );
  return rows.map(({ name, table_name: table, definition, is_owner: isOwner }) => ({
    name,
    table,
    isOwner,
    build: () => buildConcurrently(client, name, table, definition),
  }));
}

interface DeferredIndex {
  readonly name: string;
  readonly table_name: string;
  /** What follows the name of the table: `(status, created_at, id)`. */
  readonly definition: string;
  readonly is_owner: boolean;
}

/** Builds have no timeout: they block nothing, and they may have to wait for a backup's transaction. */
async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'till indexes',
    connectionTimeoutMillis: connectTimeoutMs,
  });
  // The next statement reports a connection that broke.
  client.on('error', () => {});
  await client.connect();
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
    // The server is gone, and the build with it.
  }
}
