import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { watchdogName } from '#runtime/embedded-postgres/watchdog.ts';
import { programFile } from './bundle.ts';

export interface ServiceProcess {
  readonly child: ChildProcess;
  /** The url it printed; rejected with the error it printed. */
  readonly url: Promise<string>;
  /** Everything it logged, once it has ended. */
  readonly log: Promise<string>;
  /** Its last output, after it was asked to stop. */
  lastWords(): Promise<unknown>;
}

/** An error that the service reported, with the name and the message it had there. */
export class ReportedError extends Error {
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

const projectDir = resolve(import.meta.dirname, '../..');

/** Starts a service in a process, and a process group, of its own. */
export function spawnService(
  dataDir: string,
  options: {
    readonly uid?: number;
    readonly env?: NodeJS.ProcessEnv;
    readonly umask?: string;
    readonly projectDir?: string;
  } = {},
): ServiceProcess {
  const program = 'test/support/embedded-postgres-service.ts';
  // Other users cannot read the bundle, and another folder has its own source.
  const isOwn = options.projectDir === undefined && options.uid === undefined;
  const script = resolve(options.projectDir ?? projectDir, isOwn ? programFile(program) : program);
  const child = spawn(
    '/bin/sh',
    ['-c', `umask ${options.umask ?? '022'}; exec "$@"`, 'sh', process.execPath, script, dataDir],
    {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: options.env ?? process.env,
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    },
  );
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const log = text(child.stderr);
  const readUrl = async () => {
    const line = await lines.next();
    if (line.done) throw new Error(`the service said nothing: ${await log}`);
    const said: { url?: string; errorName?: string; errorMessage?: string } = JSON.parse(line.value);
    if (said.url !== undefined) return said.url;
    throw new ReportedError(said.errorName ?? '', said.errorMessage ?? '');
  };
  const url = readUrl();
  url.catch(() => {});
  const lastWords = async () => {
    const line = await lines.next();
    return line.done ? undefined : JSON.parse(line.value);
  };
  return { child, url, log, lastWords };
}

/** As the kernel does it when memory runs out, and as an impatient operator does. */
export async function killService({ child }: ServiceProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** As the kernel does it with all processes of a container, while those of the server live on. */
export async function killServiceAndWatchdog(service: ServiceProcess, dataDir: string): Promise<void> {
  const lastArguments = `\0${watchdogName}\0${mainServerPid(dataDir)}\0`;
  const watchdogs = readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && commandLineOf(Number(name)).endsWith(lastArguments),
  );
  assert.equal(watchdogs.length, 1);
  for (const pid of watchdogs) process.kill(Number(pid), 'SIGKILL');
  await killService(service);
}

/**
 * Every living process of a server on this data directory, by what any user may read: the main process names the folder
 * in its command line, and all the others carry the cluster's name as their title.
 */
export function serverPids(dataDir: string): number[] {
  const dataPath = join(dataDir, 'postgres/cluster/data');
  const title = `postgres: ${clusterNameFor(dataDir)}: `;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      const commandLine = commandLineOf(Number(pid));
      return commandLine.startsWith(title) || commandLine.split('\0').includes(dataPath);
    })
    .map(Number);
}

/** Sends a signal to every process of a server. */
export function signalServers(dataDir: string, signal: NodeJS.Signals): void {
  for (const pid of serverPids(dataDir)) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended since the list was read.
    }
  }
}

export function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // It has ended meanwhile.
  }
}

/** The name that a test's server gets, so that its processes can be told from those of any other. */
export function clusterNameFor(dataDir: string): string {
  return createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
}

/** The server's main process, by the file in which PostgreSQL itself keeps it. */
export function mainServerPid(dataDir: string): number {
  return Number.parseInt(readFileSync(join(dataDir, 'postgres/cluster/data/postmaster.pid'), 'utf8'), 10);
}
