import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { withDeadline } from '#core/platform/deadline.ts';
import type { Logger } from '#core/platform/logger.ts';
import type { ServerCommand } from './server-command.ts';
import { forwardServerLog } from './server-log.ts';
import { shutDown } from './shut-down.ts';
import { EmbeddedPostgresError } from './start-error.ts';

/** One run of PostgreSQL, from its start to its end. */
export interface Server {
  readonly pid: number | undefined;
  /** Resolves when the server accepts connections; rejects with the reason if it ends before that. */
  readonly ready: Promise<void>;
  /** Resolves with the way it ended. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

/**
 * A start takes half a second. After a crash it first replays the log since the last checkpoint: 512 MB, on a slow
 * disk.
 */
const readyTimeoutMs = 120_000;

export function launchServer(options: {
  readonly command: ServerCommand;
  readonly postgres: string;
  readonly args: readonly string[];
  readonly logger: Logger;
}): Server {
  const { command, postgres, args, logger } = options;
  const child = spawn(...command.line(postgres, args), {
    ...command.options,
    // In its own session: Ctrl-C in a terminal reaches only this process, which can still finish its requests.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  const log = forwardServerLog(child.stderr, logger, resolve);
  const ended = endOf(child);
  const stop = async () => {
    const endsWithin = (waitMs: number) => settlesWithin(ended, waitMs);
    if (!(await shutDown((signal) => child.kill(signal), endsWithin))) {
      throw new EmbeddedPostgresError(`PostgreSQL (process ${child.pid}) cannot be ended.`);
    }
  };

  const fail = (reason: string) =>
    reject(new EmbeddedPostgresError(`The embedded PostgreSQL ${reason} (${log.lastLines()}).`));
  ended.then((how) => fail(`ended with ${how} before it was ready`));
  settlesWithin(ready, readyTimeoutMs).then((isSettled) => {
    if (isSettled) return;
    fail(`was not ready within ${readyTimeoutMs / 1_000} seconds`);
    stop().catch((err) => logger.error({ err }, 'unready PostgreSQL server not stopped'));
  });
  // Code that awaits `ready` handles a failure. If no code awaits it, the rejection must not crash this process.
  ready.catch(() => {});
  return { pid: child.pid, ready, ended, stop };
}

/** The server's child processes notice within milliseconds that it was killed, and then stop writing to its log. */
const drainTimeoutMs = 2_000;

/**
 * The server has ended once its log is closed, because all of its processes share it. If one of them lingers, a new
 * server detects that and refuses to start, so this wait has a limit.
 */
async function endOf(child: ChildProcess): Promise<string> {
  const closed = once(child, 'close').catch(() => {});
  const how = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  await settlesWithin(closed, drainTimeoutMs);
  child.stderr?.destroy();
  return how;
}

function settlesWithin(promise: Promise<unknown>, waitMs: number): Promise<boolean> {
  return withDeadline(Promise.allSettled([promise]), waitMs, 'the wait').then(
    () => true,
    () => false,
  );
}
