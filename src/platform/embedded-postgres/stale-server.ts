import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../logger.ts';
import { shutDown } from './shut-down.ts';
import { EmbeddedPostgresError } from './start-error.ts';

/**
 * Makes way for a new server: ends one that outlived its service, and disarms the lock files that one left behind.
 * Only the holder of the data directory's lock may call this, because whoever holds it owns any server found here.
 *
 * An orphan is ended rather than adopted: then there is one way to run a server and not two, it runs the binaries and
 * settings of this release, and we hear of its death as its parent. Ending it takes a fraction of a second and, being an
 * orderly shutdown, loses nothing.
 */
export async function clearStaleServer(dataPath: string, socketDir: string, logger: Logger): Promise<void> {
  const pidPath = join(dataPath, 'postmaster.pid');
  const found = await readPidFile(pidPath);
  if (found && (await isServerOf(found.pid, dataPath))) {
    logger.warn({ serverPid: found.pid }, 'orphaned PostgreSQL server found');
    await endOrphan(found.pid, dataPath);
  }
  await disarmPidFile(pidPath);
  for (const name of await readdir(socketDir)) await rm(join(socketDir, name), { force: true });
}

/** Nobody tells us of the end of a process that is not our child, so it is asked for. */
const orphanPollMs = 10;

async function endOrphan(pid: number, dataPath: string): Promise<void> {
  const send = (signal: NodeJS.Signals) => {
    try {
      process.kill(pid, signal);
    } catch (error) {
      // ESRCH: it ended by itself meanwhile, which is what was wanted.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  };
  const endsWithin = async (waitMs: number) => {
    const deadlineMs = performance.now() + waitMs;
    while (performance.now() < deadlineMs) {
      if (!(await isServerOf(pid, dataPath))) return true;
      await delay(orphanPollMs);
    }
    return false;
  };
  if (!(await shutDown(send, endsWithin))) {
    throw new EmbeddedPostgresError(
      `An earlier PostgreSQL (process ${pid}) still runs on ${dataPath} and does not stop. Stop it by hand.`,
    );
  }
}

/**
 * Whether a process is the main process of a server on this data. Process ids are reused, so the command line decides;
 * it is readable where `/proc/<pid>/cwd` is not (another user's process, in a container), and a process that is
 * dead but not yet collected by its parent has none.
 */
async function isServerOf(pid: number, dataPath: string): Promise<boolean> {
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const [program = '', ...args] = commandLine.split('\0');
  return basename(program) === 'postgres' && args[args.indexOf('-D') + 1] === dataPath;
}

/**
 * A new server refuses while the process named in `postmaster.pid` exists, whichever that is by now. The file is not
 * simply removed: it names the old server's shared memory, by which the new one makes sure that no process of the old is
 * left, not even one whose parent was killed, before it touches the data. So only the process id is replaced, by that
 * of the new server's parent: us. A server knows that its own parent is no rival.
 */
async function disarmPidFile(pidPath: string): Promise<void> {
  const found = await readPidFile(pidPath);
  if (found) await writeFile(pidPath, [String(process.pid), ...found.otherLines].join('\n'));
  // A file without a process id was cut short by a full disk or a power cut, and names no shared memory either.
  else await rm(pidPath, { force: true });
}

async function readPidFile(
  pidPath: string,
): Promise<{ pid: number; otherLines: readonly string[] } | undefined> {
  const text = await readFile(pidPath, 'utf8').catch(() => '');
  const [firstLine = '', ...otherLines] = text.split('\n');
  const pid = Number.parseInt(firstLine, 10);
  return Number.isSafeInteger(pid) && pid > 0 ? { pid, otherLines } : undefined;
}
