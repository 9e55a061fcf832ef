import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { skipWithout } from '../../support/require-program.ts';
import { runOnServer } from '../../support/test-database.ts';
import { until } from '../../support/until.ts';

/** Where Debian has the servers of PostgreSQL, the oldest version first. */
export const debianServers = globSync('/usr/lib/postgresql/*/bin').sort();

/** For a test's options: why it is skipped where Debian's PostgreSQL is not installed. */
export function skipWithoutDebianPostgres(): string | false {
  return skipWithout(debianServers.length > 0, { what: 'PostgreSQL', install: 'apt-get install postgresql' });
}

/** A server of the oldest version. */
export class DebianPostgres {
  readonly #folder: string;
  readonly #url: string;
  readonly #server: ChildProcess;

  private constructor(folder: string, url: string, server: ChildProcess) {
    this.#folder = folder;
    this.#url = url;
    this.#server = server;
  }

  static async start(): Promise<DebianPostgres> {
    const folder = await mkdtemp(join(tmpdir(), 'till-debian-'));
    const data = join(folder, 'data');
    const port = await freePort();
    const [prefix, owner] = serverUser();
    await mkdir(data);
    if (owner !== undefined) await command(['chown', '-R', owner, folder]);
    const bin = debianServers[0] ?? '';
    await command(
      [...prefix, join(bin, 'initdb'), '--auth=trust', '--username=postgres', '-D', data],
      'ignore',
    );
    const settings = { port, listen_addresses: '127.0.0.1', unix_socket_directories: folder, fsync: 'off' };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = await run([...prefix, join(bin, 'postgres'), '-D', data, ...args], join(folder, 'log'));
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
    await until(
      () =>
        runOnServer(url, 'select 1').then(
          () => true,
          () => false,
        ),
      'PostgreSQL does not start',
    );
    return new DebianPostgres(folder, url, server);
  }

  /** Creates a database, and returns its address. */
  async create(name: string): Promise<string> {
    await runOnServer(this.#url, `create database ${name}`);
    return this.#url.replace(/postgres$/, name);
  }

  async remove(): Promise<void> {
    await end(this.#server, 'SIGQUIT');
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** PostgreSQL refuses to run as root. Debian's package has a user for it. */
export function serverUser(): readonly [prefix: readonly string[], owner: string | undefined] {
  if (process.getuid?.() !== 0) return [[], undefined];
  const user = 'postgres';
  return [['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups'], `${user}:${user}`];
}

/** Starts a server whose output goes to a file. */
export async function run(words: readonly string[], logPath: string): Promise<ChildProcess> {
  const [program = '', ...args] = words;
  const log = await open(logPath, 'a');
  const child = spawn(program, args, { stdio: ['ignore', log.fd, log.fd] });
  await once(child, 'spawn');
  await log.close();
  return child;
}

export async function command(
  words: readonly string[],
  output: 'inherit' | 'ignore' = 'inherit',
): Promise<void> {
  const [program = '', ...args] = words;
  const [code] = await once(spawn(program, args, { stdio: output }), 'exit');
  assert.equal(code, 0, words.join(' '));
}

export async function end(
  child: ChildProcess | undefined,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
