import { spawn } from 'node:child_process';
import type { Logger } from '#core/platform/logger.ts';
import type { ServerCommand } from './server-command.ts';

/** The name of the shell in the output of `ps`. */
export const watchdogName = 'till-postgres-watchdog';

/**
 * The kernel closes the pipe when this process dies, for whatever reason. `read` then returns, and the shell shuts the
 * server down. Nothing else would do so. A signal that stops this process must not reach the server directly, because
 * requests may still need it.
 */
const script = 'read -r _; kill -INT "$1"';

/** Shuts the server down if this process dies before the server has ended. */
export function endWithThisProcess(
  server: { readonly pid: number | undefined; readonly ended: Promise<unknown> },
  command: ServerCommand,
  logger: Logger,
): void {
  // The server could not be started. Its own promises report that.
  if (server.pid === undefined) return;
  const args = ['-c', script, watchdogName, String(server.pid)];
  const watchdog = spawn(...command.line('/bin/sh', args), {
    ...command.options,
    // In its own session, like the server: what a terminal sends must not end it.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // The next start stops a server that is still running.
  watchdog.once('error', (err) => logger.warn({ err }, 'PostgreSQL runs without a watchdog'));
  // From here on, another process may get the process id of the server.
  server.ended.then(() => watchdog.kill('SIGKILL'));
}
