import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { LogLine } from './log-capture.ts';

export const projectFolder = fileURLToPath(new URL('../..', import.meta.url));
export const testKey = 'process-key-0123456789';

export interface TillProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly lines: readonly LogLine[];
  /** Everything on standard output and error, as it came. */
  readonly output: () => string;
  /** Resolves with the first line of the log that has this message, from the start. */
  readonly logged: (message: string) => Promise<LogLine>;
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>;
}

export interface TillExit {
  readonly code: number | null;
  readonly stderr: string;
}

/** The service as users run it, in a process of its own, ready to serve. */
export async function startTillProcess(
  environment: Readonly<Record<string, string>>,
  command: readonly [string, ...string[]] = [process.execPath, 'src/main.ts'],
): Promise<TillProcess> {
  const child = spawnTill(environment, command);
  const lines: LogLine[] = [];
  const waiting: { readonly message: string; readonly resolve: (line: LogLine) => void }[] = [];
  let output = '';
  child.stderr?.on('data', (chunk) => {
    output += String(chunk);
  });
  createInterface({ input: child.stdout ?? process.stdin }).on('line', (text) => {
    output += `${text}\n`;
    if (!text.startsWith('{')) return;
    const line: LogLine = JSON.parse(text);
    lines.push(line);
    for (const waiter of waiting.filter(({ message }) => message === line.msg)) waiter.resolve(line);
  });
  const exited = once(child, 'exit');
  const logged = async (message: string): Promise<LogLine> => {
    const { promise, resolve } = Promise.withResolvers<LogLine>();
    const earlier = lines.find((line) => line.msg === message);
    if (earlier !== undefined) return earlier;
    waiting.push({ message, resolve });
    const ended = exited.then(() => {
      throw new Error(`till ended before it logged "${message}":\n${output}`);
    });
    return Promise.race([promise, ended]);
  };
  const ready = await logged('ready');
  return {
    child,
    url: String(ready['url']),
    lines,
    output: () => output,
    logged,
    stop: async (signal = 'SIGTERM') => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signal);
        await exited;
      }
      return child.exitCode;
    },
  };
}

/** For a start that is expected to be refused. */
export async function runTillUntilExit(environment: Readonly<Record<string, string>>): Promise<TillExit> {
  const child = spawnTill(environment, [process.execPath, 'src/main.ts']);
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += String(chunk);
  });
  child.stdout?.resume();
  await once(child, 'close');
  return { code: child.exitCode, stderr };
}

function spawnTill(
  environment: Readonly<Record<string, string>>,
  [command, ...args]: readonly [string, ...string[]],
) {
  return spawn(command, args, {
    cwd: projectFolder,
    // Nothing of the tester's own environment reaches the service but what programs need to run at all.
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      // Only how long a start takes depends on it.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      PORT: '0',
      SANDBOX_PORT: '0',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
