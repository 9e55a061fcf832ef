import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/** A first start creates a database, which takes seconds on a busy machine. */
const readyTimeoutMs = 60_000;
const pollDelayMs = 10;
/** A service waits 20 s for requests in progress. Nothing here takes longer. */
const stopTimeoutMs = 30_000;
const quotedLengthMax = 2_000;

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** The line that the server prints when it is ready, with its URL as the first group. */
  readonly ready: RegExp;
  /**
   * The path of its output. A file, because every write to it is real and, unlike with a pipe, no other process uses
   * CPU time to read it.
   */
  readonly logPath: string;
}

/** The line that the programs of this folder print when they are ready. The service writes it to its log. */
export const readyLine = /"url":"(http[^"]+)".*"msg":"ready"/;

/** Starts a server in its own process and waits until it is ready. */
export async function startServerProcess(server: ServerCommand): Promise<ServerProcess> {
  const log = openSync(server.logPath, 'a');
  const child = spawn(server.command, server.args, {
    cwd: server.cwd,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      NODE_ENV: 'production',
      ...server.environment,
    },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const url = await waitUntilReady(child, server);
  if (child.pid === undefined) throw new Error(`${server.command} did not start`);
  return { url, pid: child.pid, [Symbol.asyncDispose]: () => stop(child) };
}

async function waitUntilReady(child: ChildProcess, { ready, logPath }: ServerCommand): Promise<string> {
  const deadlineMs = performance.now() + readyTimeoutMs;
  child.once('error', () => {});
  while (performance.now() < deadlineMs) {
    const output = readFileSync(logPath, 'utf8');
    const url = ready.exec(output)?.[1];
    if (url !== undefined) return url;
    if (hasEnded(child))
      throw new Error(`a server ended before it was ready:\n${output.slice(-quotedLengthMax)}`);
    await delay(pollDelayMs);
  }
  await stop(child);
  throw new Error(`a server was not ready in time; see ${logPath}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = new AbortController();
  const tooLate = delay(stopTimeoutMs, 'late', { signal: timer.signal }).catch(() => 'ended');
  if ((await Promise.race([ended, tooLate])) === 'late') child.kill('SIGKILL');
  timer.abort();
  await ended;
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}
