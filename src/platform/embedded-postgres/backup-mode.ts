import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { isLockTimeout } from '../postgres.ts';
import { connectToPrimary } from '../primary-connection.ts';
import { EmbeddedPostgresError } from './start-error.ts';

/** One backup at a time ("tlbk" in ASCII). */
const advisoryLockId = 0x746c626b;
/** The server takes a moment to notice that a backup was killed. */
const lockTimeoutMs = 5_000;
/** The slowest statement waits for a checkpoint: seconds, or minutes on a busy disk. */
const queryTimeoutMs = 600_000;

/** What must be added to the copied files to make them a database. */
interface BackupEnd {
  /** The text of the file `backup_label`. */
  readonly label: string;
  /** The files in `pg_wal` that a start from the copy reads. */
  readonly walFiles: readonly string[];
}

/**
 * A session in PostgreSQL's backup mode: the files can be copied while the server writes them, because a start from the
 * copy repeats everything that was written since `start`. If this process dies, the session ends, and with it the mode.
 */
export class BackupMode implements AsyncDisposable {
  readonly client: pg.Client;

  private constructor(client: pg.Client) {
    this.client = client;
  }

  static async connect(url: string): Promise<BackupMode> {
    const options = { application_name: 'till backup', query_timeout: queryTimeoutMs };
    return new BackupMode(await connectToPrimary(url, options));
  }

  async start(): Promise<void> {
    const { client } = this;
    await client.query(`set lock_timeout = ${lockTimeoutMs}`);
    await client.query('select pg_advisory_lock($1)', [advisoryLockId]).catch((cause: unknown) => {
      if (!isLockTimeout(cause)) throw cause;
      throw new EmbeddedPostgresError('Another backup of this database is running.', { cause });
    });
    // Keeps the log from here on until this session ends, however many checkpoints happen meanwhile. The name is the
    // session's own: a session that ends releases its locks a moment before its slot.
    await client.query(
      `select pg_create_physical_replication_slot('till_backup_' || pg_backend_pid(), true, true)`,
    );
    await client.query(`select pg_backup_start('till backup', fast => true)`);
  }

  /** Ends the mode. The copy contains everything up to now. */
  async end(dataPath: string): Promise<BackupEnd> {
    const { rows } = await this.client.query<{ label: string; last: string }>(
      'select labelfile as label, pg_walfile_name(lsn) as last from pg_backup_stop(wait_for_archive => false)',
    );
    const { label = '', last = '' } = rows[0] ?? {};
    const first = /^START WAL LOCATION: .*\(file ([0-9A-F]{24})\)$/m.exec(label)?.[1] ?? '';
    const names = (await readdir(join(dataPath, 'pg_wal'))).sort();
    const walFiles = names.filter((name) => /^[0-9A-F]{24}$/.test(name) && name >= first && name <= last);
    if (walFiles[0] !== first || walFiles.length !== segmentOf(last) - segmentOf(first) + 1) {
      throw new EmbeddedPostgresError(
        `The log of the backup is not complete: ${first} to ${last} is needed, and there is ${walFiles.join(', ')}.`,
      );
    }
    return { label, walFiles };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.end().catch(() => {});
  }
}

/** A file of the log has 16 MB, and 256 of them have the same eight digits in the middle of their names. */
function segmentOf(walFile: string): number {
  return Number.parseInt(walFile.slice(8, 16), 16) * 256 + Number.parseInt(walFile.slice(16), 16);
}

/**
 * Files that only a running server needs, or that a start creates again. PostgreSQL's own tools skip the same files.
 */
const unneededFolders = [
  ...['pg_wal', 'pg_replslot', 'pg_dynshmem', 'pg_notify', 'pg_serial', 'pg_snapshots', 'pg_stat_tmp'],
  'pg_subtrans',
];
const unneededFiles = [
  ...['postmaster.pid', 'postmaster.opts', 'current_logfiles', 'backup_label', 'tablespace_map'],
  ...['backup_label.old', 'tablespace_map.old', controlFile()],
];

/** Whether the copy needs this folder, or an empty one in its place. */
export function isCopiedFolder(path: string): boolean {
  const [folder = '', ...below] = path.split('/');
  return below.length === 0 || !unneededFolders.includes(folder);
}

/** Whether the copy needs this file, apart from the log and `controlFile`, which come last. */
export function isCopied(path: string): boolean {
  const [folder = ''] = path.split('/');
  const name = path.slice(path.lastIndexOf('/') + 1);
  const isTemporary = path.includes('pgsql_tmp') || /^t\d+_\d+/.test(name);
  return (
    !unneededFolders.includes(folder) &&
    !unneededFiles.includes(path) &&
    !isTemporary &&
    !name.startsWith('pg_internal.init')
  );
}

export function controlFile(): string {
  return 'global/pg_control';
}

/** Enough for a file that changes every few seconds. */
const readsMax = 100;

/** The server may be writing this file, so it is read until two reads agree. */
export async function readControlFile(dataPath: string): Promise<Buffer> {
  const path = join(dataPath, controlFile());
  let last = await readFile(path);
  for (let reads = 0; reads < readsMax; reads += 1) {
    const next = await readFile(path);
    if (next.equals(last)) return next;
    last = next;
  }
  throw new EmbeddedPostgresError(`${path} changes too fast to be copied. Retry later.`);
}
