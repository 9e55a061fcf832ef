import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { DataDirInUseError, EmbeddedPostgresError } from './start-error.ts';

export interface DataDirLock {
  release(): void;
}

/**
 * A killed service needs a moment to leave the process table, and its lock goes with it. Two seconds cover a
 * machine under load, and are short enough for somebody who started a second service by mistake.
 */
const lockWaitMsMax = 2_000;
const lockPollMs = 50;

/** SQLITE_BUSY: somebody else holds the lock. */
const sqliteBusyCode = 5;

/**
 * Takes the lock that makes this process the only owner of a data directory for as long as it lives.
 *
 * The kernel must drop the lock with the process, whatever kills it, so it has to be a lock on an open file. Node
 * has no call for that, but the SQLite inside it does: an exclusive transaction on an empty file is nothing but
 * such a lock. It exists before there is a server and outlasts each of the server's restarts, neither of which is
 * true of an advisory lock in the server itself, and it needs no program that a small container may lack.
 */
export async function lockDataDir(dataDir: string, lockPath: string): Promise<DataDirLock> {
  const deadlineMs = performance.now() + lockWaitMsMax;
  for (;;) {
    const lock = tryLock(dataDir, lockPath);
    if (lock) return lock;
    if (performance.now() >= deadlineMs) throw new DataDirInUseError(dataDir);
    await delay(lockPollMs);
  }
}

function tryLock(dataDir: string, lockPath: string): DataDirLock | undefined {
  let file: DatabaseSync | undefined;
  try {
    file = new DatabaseSync(lockPath);
    // Without a journal on the disk there is nothing to clean up after a kill: the file stays empty for ever.
    file.exec('pragma journal_mode = memory; begin exclusive');
    const locked = file;
    return { release: () => locked.close() };
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
