import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { DataDirInUseError, EmbeddedPostgresError } from './start-error.ts';

/**
 * A killed service needs a moment to leave the process table, and holds its lock until then. Two seconds are enough on
 * a machine under load, and a short wait for a person who started a second service by mistake.
 */
const lockWaitMsMax = 2_000;
const lockPollMs = 50;

/** SQLITE_BUSY: another process holds the lock. */
const sqliteBusyCode = 5;

/**
 * Takes the lock that makes this process the only owner of a data directory for as long as it lives.
 *
 * The kernel must release the lock when the process ends, however it ends, so it has to be a lock on an open file. Node
 * has no call for that, but its built-in SQLite does: an exclusive transaction on an empty file is exactly such a lock.
 * Unlike an advisory lock in the server, it exists before the server starts and survives its restarts. It needs no
 * program that a small container may lack.
 */
export async function lockDataDir(dataDir: string, lockPath: string): Promise<Disposable> {
  const deadlineMs = performance.now() + lockWaitMsMax;
  for (;;) {
    const lock = tryLock(dataDir, lockPath);
    if (lock) return lock;
    if (performance.now() >= deadlineMs) throw new DataDirInUseError(dataDir);
    await delay(lockPollMs);
  }
}

function tryLock(dataDir: string, lockPath: string): Disposable | undefined {
  let file: DatabaseSync | undefined;
  try {
    file = new DatabaseSync(lockPath);
    // Without a journal on disk there is nothing to clean up after a kill: the file stays empty.
    file.exec('pragma journal_mode = memory; begin exclusive');
    return file;
  } catch (cause) {
    file?.close();
    if (!(cause instanceof Error)) throw cause;
    if ('errcode' in cause && cause.errcode === sqliteBusyCode) return undefined;
    throw new EmbeddedPostgresError(
      `The data directory ${dataDir} cannot be locked; DATA_DIR must be on a disk with file locks (${cause.message}).`,
      { cause },
    );
  }
}
