import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { serverUserCandidates } from '#runtime/embedded-postgres/server-user.ts';
import { freePort } from './free-port.ts';
import { findProgram, skipWithoutProgram } from './require-program.ts';

const program = findProgram('pgbouncer') ?? 'pgbouncer';

/** For a test's options: why it is skipped where there is no PgBouncer. */
export function skipWithoutPgBouncer(): string | false {
  return skipWithoutProgram('pgbouncer');
}

export interface PgBouncerOptions {
  /** A database of the test server, reached by its socket. */
  readonly databaseUrl: string;
  readonly mode: 'transaction' | 'session' | 'statement';
  /** More settings of PgBouncer's configuration file. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

/** The real program in front of a test database, with its defaults wherever a test does not say otherwise. */
export class PgBouncer {
  readonly url: string;
  readonly #folder: string;
  readonly #adminUrl: string;
  #process: ChildProcess | undefined;

  private constructor(folder: string, credentials: string, name: string, port: number) {
    this.#folder = folder;
    this.url = `postgresql://${credentials}@127.0.0.1:${port}/${name}`;
    this.#adminUrl = `postgresql://${credentials}@127.0.0.1:${port}/pgbouncer`;
  }

  static async start({ databaseUrl, mode, settings = {} }: PgBouncerOptions): Promise<PgBouncer> {
    // The test server listens on a socket file only. Its address names the folder as the host.
    const parts = /^postgresql:\/\/([^:]+):([^@]+)@\/([^?]+)\?host=(.+)$/.exec(databaseUrl);
    if (parts === null) throw new Error('the address of the test database has an unexpected form');
    const [, user = '', password = '', name = '', host = ''] = parts;
    const port = await freePort();
    const folder = await mkdtemp(join(tmpdir(), 'till-pgbouncer-'));
    const userFile = join(folder, 'users.txt');
    await writeFile(userFile, `"${user}" "${decodeURIComponent(password)}"\n`);
    const lines = Object.entries({
      listen_addr: '127.0.0.1',
      listen_port: port,
      unix_socket_dir: '',
      auth_type: 'scram-sha-256',
      auth_file: userFile,
      admin_users: user,
      pool_mode: mode,
      ...settings,
    }).map(([setting, value]) => `${setting} = ${value}`);
    const target = `host=${decodeURIComponent(host)} port=5432`;
    const text = ['[databases]', `${name} = ${target}`, '[pgbouncer]', ...lines, ''].join('\n');
    await writeFile(join(folder, 'pgbouncer.ini'), text);
    const bouncer = new PgBouncer(folder, `${user}:${password}`, name, port);
    await bouncer.start();
    return bouncer;
  }

  /** Starts it again after `kill`, on the same port. */
  async start(): Promise<void> {
    const [command = program, ...args] = [...userPrefix(), program, join(this.#folder, 'pgbouncer.ini')];
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#process = child;
    const said: string[] = [];
    for await (const line of createInterface({ input: child.stderr })) {
      said.push(line);
      if (!line.includes('process up')) continue;
      child.stderr.resume();
      return;
    }
    throw new Error(`PgBouncer did not start: ${said.join(' | ')}`);
  }

  /** Runs a command of its console, such as PAUSE. */
  async command(text: string): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.#adminUrl });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** Ends it at once, with every connection. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** Ends it for good. */
  async remove(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** PgBouncer refuses to run as root, and must reach the socket of a server that runs as another user. */
function userPrefix(): readonly string[] {
  const user = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, isNamed: true };
  const prefixes = serverUserCandidates(user, undefined, process.platform).map(({ prefix }) => prefix);
  const works = ([command = program, ...args]: readonly string[]) =>
    spawnSync(command, [...args, ...(command === program ? [] : [program]), '--version']).status === 0;
  return prefixes.find(works) ?? [];
}
