import { execFile } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#core/platform/logger.ts';
import { shutDown } from './shut-down.ts';
import { EmbeddedPostgresError } from './start-error.ts';

/**
 * Prepares the start of a new server: ends a server that outlived its service, and disarms the lock files that it left.
 * Only the holder of the data directory's lock may call this, because it owns any server found here.
 *
 * An orphan is ended, not adopted. That leaves one way to run a server, it runs this release's binaries and settings,
 * and this process, as its parent, notices when it dies. Ending it takes a fraction of a second and, as an orderly
 * shutdown, loses nothing.
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

/** The kernel reports only the end of child processes, so an orphan is polled. */
const orphanPollMs = 10;

async function endOrphan(pid: number, dataPath: string): Promise<void> {
  const send = (signal: NodeJS.Signals) => {
    try {
      process.kill(pid, signal);
    } catch (error) {
      // ESRCH: it has already ended.
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
 * Whether a process is the main process of a server on this data. Process ids are reused, so the command line decides.
 * It is readable where `/proc/<pid>/cwd` is not (another user's process, in a container), and it is empty for a process
 * that is dead but not yet reaped.
 */
async function isServerOf(pid: number, dataPath: string): Promise<boolean> {
  if (process.platform === 'darwin') return isServerCommand(await readCommand(pid), dataPath);
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  const [program = '', ...args] = commandLine.split('\0');
  return basename(program) === 'postgres' && args[args.indexOf('-D') + 1] === dataPath;
}

/** A process that does not exist has no command line. `ps` is on every system, and takes milliseconds. */
const psTimeoutMs = 5_000;

/** The command of a process as one line, where there is no `/proc`. */
export async function readCommand(pid: number): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const args = ['-ww', '-o', 'command=', '-p', String(pid)];
  execFile('ps', args, { timeout: psTimeoutMs }, (_error, output) => resolve(output.trim()));
  return promise;
}

/** That line does not show where an argument ends, so it is compared with the beginning of the server's command. */
export function isServerCommand(command: string, dataPath: string): boolean {
  return `${command} `.includes(`/postgres -D ${dataPath} `);
}

/**
 * A new server refuses to start while the process named in `postmaster.pid` exists, even if the id was reused. The file
 * cannot simply be removed: it names the old server's shared memory, which the new server uses to check that no process
 * of the old one is left, not even one whose parent was killed, before it touches the data. So only the process id is
 * replaced, by that of the new server's parent, this process. A server accepts its own parent's id there.
 */
async function disarmPidFile(pidPath: string): Promise<void> {
  const found = await readPidFile(pidPath);
  if (found) await writeFile(pidPath, [String(process.pid), ...found.otherLines].join('\n'));
  // A file without a process id was truncated by a full disk or a power failure, and names no shared memory either.
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
