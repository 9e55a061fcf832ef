import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Backend, type Lifetime, webhookSecrets } from './backend.ts';
import { programFile } from './bundle.ts';
import { type Client, createClient, testKey } from './client.ts';
import type { LogLine } from './log-capture.ts';

export const projectFolder = fileURLToPath(new URL('../..', import.meta.url));

type Command = readonly [string, ...string[]];
const tillCommand: Command = [process.execPath, 'src/main.ts'];
/** The same, but perhaps from a bundle, for tests that are not about the start. */
export const quickCommand: Command = [process.execPath, programFile('src/main.ts')];

export interface ChildOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Another way to start it than `node src/main.ts`. */
  readonly command?: Command;
}

export interface TillInChild extends Client {
  readonly child: ChildProcess;
  readonly url: string;
  readonly lines: readonly LogLine[];
  /** Everything on standard output and error, as it came. */
  output(): string;
  /** Resolves with a line of the log that has this message, since the start: the first one, or a later one. */
  logged(message: string, count?: number): Promise<LogLine>;
  /** Sends a signal, and resolves with the exit status. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

type Place = { readonly on?: Backend; readonly for?: Lifetime };

/** The service as users run it, ready to serve; see `startTill`. */
export async function startInChild(options: Place & ChildOptions): Promise<TillInChild> {
  const { on: backend, for: life } = options;
  const { command = backend === undefined ? tillCommand : quickCommand } = options;
  const own = backend === undefined ? {} : backendEnvironment(backend);
  const till = await spawnUntilReady({ ...own, ...options.environment }, command);
  backend?.deliverTo(() => till.url);
  // Its orderly end is tested elsewhere. Here it would wait for connections that the test has given up.
  backend?.atEnd(() => till.stop('SIGKILL'));
  life?.after(() => till.stop());
  return till;
}

/** The variables with which a Till uses this backend. */
export function backendEnvironment({
  databaseUrl,
  processorUrl,
}: Pick<Backend, 'databaseUrl' | 'processorUrl'>): Record<string, string> {
  return {
    // The name that the API key has in a Till in the test's process: idempotency keys belong to the name.
    API_KEYS: `tests:${testKey}`,
    DATABASE_URL: databaseUrl,
    REDIS_URL: 'memory://',
    PROCESSOR_SECRET_KEY: 'sk_test_till',
    PROCESSOR_API_BASE: processorUrl,
    PROCESSOR_WEBHOOK_SECRET: webhookSecrets[0],
    RATE_LIMIT_PER_MINUTE: '0',
  };
}

/** For a start that must be refused. */
export async function runTillUntilExit(
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly stderr: string }> {
  const child = spawnTill(environment, tillCommand);
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += String(chunk);
  });
  child.stdout?.resume();
  await once(child, 'close');
  return { code: child.exitCode, stderr };
}

async function spawnUntilReady(
  environment: Readonly<Record<string, string>>,
  command: Command,
): Promise<TillInChild> {
  const child = spawnTill(environment, command);
  const lines: LogLine[] = [];
  const waiting: (() => void)[] = [];
  let output = '';
  child.stderr?.on('data', (chunk) => {
    output += String(chunk);
  });
  createInterface({ input: child.stdout ?? process.stdin }).on('line', (text) => {
    output += `${text}\n`;
    if (!text.startsWith('{')) return;
    const line: LogLine = JSON.parse(text);
    lines.push(line);
    for (const look of waiting) look();
  });
  const exited = once(child, 'exit');
  const logged = async (message: string, count = 1): Promise<LogLine> => {
    const { promise, resolve } = Promise.withResolvers<LogLine>();
    const look = () => {
      const found = lines.filter((line) => line.msg === message)[count - 1];
      if (found !== undefined) resolve(found);
    };
    waiting.push(look);
    look();
    const ended = exited.then(() => {
      throw new Error(`till ended before it logged "${message}":\n${output}`);
    });
    return Promise.race([promise, ended]);
  };
  const url = String((await logged('ready'))['url']);
  return {
    ...createClient({ url }),
    child,
    url,
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

function spawnTill(environment: Readonly<Record<string, string>>, [command, ...args]: Command): ChildProcess {
  return spawn(command, args, {
    cwd: projectFolder,
    // Of the tester's own environment, the service gets only what programs need to run at all.
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      // Makes a start faster, and changes nothing else.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      PORT: '0',
      SANDBOX_PORT: '0',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
