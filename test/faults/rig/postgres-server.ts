import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { findBinaries, linkLibraries } from '#runtime/embedded-postgres/binaries.ts';
import { clusterDataPath, giveDataTo, openCluster, superuser } from '#runtime/embedded-postgres/cluster.ts';
import { makePrivateDir } from '#runtime/embedded-postgres/private-files.ts';
import { launchServer, type Server } from '#runtime/embedded-postgres/server.ts';
import {
  findServerCommand,
  libraryDirName,
  type ServerCommand,
} from '#runtime/embedded-postgres/server-command.ts';
import { serverArguments, socketPort } from '#runtime/embedded-postgres/settings.ts';
import { copyCluster } from '../../support/cluster-template.ts';
import { clusterNameFor, serverPids, signalServers } from '../../support/embedded-postgres-processes.ts';
import { silentLogger } from '../../support/log-capture.ts';

/** PostgreSQL's own signals for its ways to stop, and the kernel's. */
const stopSignals = { fast: 'SIGINT', immediate: 'SIGQUIT', 'kill -9': 'SIGKILL' } as const;

export type StopMode = keyof typeof stopSignals;
export const stopModes = Object.keys(stopSignals) as readonly StopMode[];

/** How often a starting server is checked for connections, for up to a minute. */
const lookDelayMs = 50;
const looksMax = 1_200;

const logger = silentLogger;

/** A PostgreSQL without supervision: it stays down until the test starts it again. */
export class PostgresServer {
  readonly #dataDir: string;
  readonly #dataPath: string;
  readonly #password: string;
  readonly #command: ServerCommand;
  readonly #settings: Readonly<Record<string, string>>;
  #server: Server | undefined;

  private constructor(
    dataDir: string,
    cluster: { readonly dataPath: string; readonly password: string },
    command: ServerCommand,
    settings: Readonly<Record<string, string>>,
  ) {
    this.#dataDir = dataDir;
    this.#dataPath = cluster.dataPath;
    this.#password = cluster.password;
    this.#command = command;
    this.#settings = { ...settings, cluster_name: clusterNameFor(dataDir) };
  }

  /** On data of its own, or on what lies in `dataDir` already. */
  static async start(
    settings: Readonly<Record<string, string>> = {},
    dataDir?: string,
  ): Promise<PostgresServer> {
    const folder = dataDir ?? (await mkdtemp(join(tmpdir(), 'till-faults-')));
    const binaries = findBinaries();
    await mkdir(folder, { recursive: true });
    if (!existsSync(join(folder, 'postgres'))) copyCluster(folder);
    const home = join(await realpath(folder), 'postgres');
    await makePrivateDir(home);
    await linkLibraries(binaries, join(home, libraryDirName));
    const command = await findServerCommand(binaries, home, clusterDataPath(home));
    const cluster = await openCluster({ home, binaries, command, isDurable: false, logger });
    await makePrivateDir(join(home, 'run'));
    await giveDataTo(command.user, cluster.dataPath);
    const server = new PostgresServer(folder, cluster, command, settings);
    await server.start();
    return server;
  }

  /** Through its socket: when it is down, connecting fails as it does when a port is closed. */
  get url(): string {
    const socketDir = join(this.#dataDir, 'postgres/run');
    return `postgresql://${superuser}:${this.#password}@/postgres?host=${encodeURIComponent(socketDir)}`;
  }

  /** The same by way of a port, for a line that leads to its socket. */
  urlBy(port: number): string {
    return `postgresql://${superuser}:${this.#password}@127.0.0.1:${port}/postgres`;
  }

  get socketPath(): string {
    return join(this.#dataDir, 'postgres/run', `.s.PGSQL.${socketPort}`);
  }

  get dataDir(): string {
    return this.#dataDir;
  }

  get dataPath(): string {
    return this.#dataPath;
  }

  async start(): Promise<void> {
    const args = serverArguments(this.#dataPath, this.#settings);
    const { postgres } = findBinaries();
    this.#server = launchServer({ command: this.#command, postgres, args, logger });
    // A standby never says that it is ready for everything.
    await Promise.race([this.#server.ready, this.#answers()]);
  }

  async stop(mode: StopMode): Promise<void> {
    const { pid, ended } = this.#server ?? {};
    if (pid === undefined) return;
    process.kill(pid, stopSignals[mode]);
    await ended;
  }

  /** Resolves when it has ended, for whatever reason. */
  async ended(): Promise<void> {
    await this.#server?.ended;
  }

  /**
   * Stops all of its processes. Connections stay open. A process that is forked while the others are being stopped is
   * stopped in the next pass.
   */
  freeze(): void {
    const frozen = new Set<number>();
    for (;;) {
      const running = serverPids(this.#dataDir).filter((pid) => !frozen.has(pid));
      if (running.length === 0) return;
      signalServers(this.#dataDir, 'SIGSTOP');
      for (const pid of running) frozen.add(pid);
    }
  }

  thaw(): void {
    signalServers(this.#dataDir, 'SIGCONT');
  }

  /** Whatever state it is in, it executes no further statement. */
  async remove(): Promise<void> {
    signalServers(this.#dataDir, 'SIGKILL');
    await this.ended();
    await rm(this.#dataDir, { recursive: true, force: true, maxRetries: 5 });
  }

  async #answers(): Promise<void> {
    for (let looks = 0; looks < looksMax; looks += 1) {
      const client = new pg.Client({ connectionString: this.url });
      const isThere = await client.connect().then(
        () => true,
        () => false,
      );
      await client.end();
      if (isThere) return;
      await setTimeout(lookDelayMs);
    }
    throw new Error('PostgreSQL does not respond');
  }
}
