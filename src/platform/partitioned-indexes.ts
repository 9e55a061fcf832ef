import pg from 'pg';
import type { Logger } from './logger.ts';
import { isLockTimeout } from './postgres.ts';

/** The advisory lock under which one process at a time builds indexes ("tlix" in ASCII). */
const advisoryLockId = 0x746c6978;
const connectTimeoutMs = 5_000;
/** Attaching an index queues for a lock that blocks every later statement, so it waits only this long. */
const attachLockTimeoutMs = 100;

interface MissingIndex {
  readonly parent: string;
  readonly partition: string;
  /** The parent's definition: `CREATE INDEX … ON ONLY … USING …`. */
  readonly definition: string;
  readonly is_owner: boolean;
}

/**
 * Finishes indexes that a migration created only on a partitioned table. Builds them concurrently on each large
 * partition, so that no write waits, and attaches them. An interrupted build starts over. Returns false if the work
 * should be repeated soon.
 */
export async function completePartitionedIndexes(options: {
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
  if (missing.some(({ is_owner }) => !is_owner)) {
    logger.warn(
      { action: 'Run "npm run till -- migrate" with the DATABASE_URL of the role that owns the schema.' },
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
    await build(client, index);
    logger.info({ index: index.parent, partition: index.partition }, 'index built');
  }
  return true;
}

/** Small partitions first: operators mostly look at the newest weeks. */
async function findMissing(client: pg.Client): Promise<readonly MissingIndex[]> {
  const { rows } = await client.query<MissingIndex>(
    `select parent.relname as parent, part.relname as partition, pg_get_indexdef(parent.oid) as definition,
       pg_has_role(part.relowner, 'usage') as is_owner
     from pg_index join pg_class parent on parent.oid = indexrelid
       join pg_inherits on inhparent = indrelid join pg_class part on part.oid = inhrelid
     where parent.relkind = 'I' and not indisvalid and parent.relnamespace = 'till'::regnamespace
       and not exists (select from pg_inherits attached join pg_index child on child.indexrelid = attached.inhrelid
         where attached.inhparent = parent.oid and child.indrelid = part.oid)
     order by pg_relation_size(part.oid), part.relname, parent.relname`,
  );
  return rows;
}

async function build(client: pg.Client, { parent, partition, definition }: MissingIndex): Promise<void> {
  const name = `${partition}_${parent}`;
  const { rows } = await client.query<{ indisvalid: boolean }>(
    `select indisvalid from pg_index where indexrelid = to_regclass('till.' || quote_ident($1))`,
    [name],
  );
  if (rows[0]?.indisvalid === false) await client.query(`drop index concurrently till.${name}`);
  if (rows[0]?.indisvalid !== true) {
    const method = definition.slice(definition.indexOf(' USING '));
    await client.query(`create index concurrently ${name} on till.${partition}${method}`);
  }
  await client.query(`set lock_timeout = ${attachLockTimeoutMs}`);
  await client.query(`alter index till.${parent} attach partition till.${name}`);
  await client.query('set lock_timeout = 0');
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
