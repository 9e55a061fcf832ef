import { access, mkdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { unusableDataDir } from '#core/platform/data-dir.ts';
import type { Logger } from '#core/platform/logger.ts';
import { findBinaries, linkLibraries } from './embedded-postgres/binaries.ts';
import {
  clusterDataPath,
  giveDataTo,
  openCluster,
  readPassword,
  superuser,
} from './embedded-postgres/cluster.ts';
import { lockDataDir } from './embedded-postgres/data-dir-lock.ts';
import { completeMoves, exists } from './embedded-postgres/pending-moves.ts';
import { makePrivateDir } from './embedded-postgres/private-files.ts';
import { launchServer } from './embedded-postgres/server.ts';
import { findServerCommand, libraryDirName } from './embedded-postgres/server-command.ts';
import { refuseRoot } from './embedded-postgres/server-user.ts';
import { serverArguments, socketPort } from './embedded-postgres/settings.ts';
import { openSocketDir } from './embedded-postgres/socket-path.ts';
import { clearStaleServer } from './embedded-postgres/stale-server.ts';
import { EmbeddedPostgresError } from './embedded-postgres/start-error.ts';
import { superviseServer } from './embedded-postgres/supervisor.ts';
import { endWithThisProcess } from './embedded-postgres/watchdog.ts';

export interface EmbeddedPostgres {
  /** For `pg`. It contains the password, so it must not be logged. It is valid as long as this process lives. */
  readonly url: string;
  /** Shuts down the server and releases the data directory. Close the pools first. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  readonly logger: Logger;
  /** Extra server settings, such as `fsync: 'off'` for tests. */
  readonly settings?: Readonly<Record<string, string>>;
  /**
   * Called whenever a program of PostgreSQL has just been started, so that this process can do other work meanwhile.
   */
  readonly whileWaiting?: () => void;
}

/**
 * Runs a private PostgreSQL server in `dataDir/postgres`. It lives as long as this service, which is its only user:
 *
 *     postgres/lock               locked while a service lives
 *     postgres/lib/               links to the libraries, created at each start (on macOS they are in the package)
 *     postgres/cluster/data/      PostgreSQL's data directory
 *     postgres/cluster/password   of the only database user
 *     postgres/run/               the socket; the server accepts no other connections
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const logger = options.logger.child({ part: 'embedded-postgres' });
  const settings = options.settings ?? {};
  // Resources are released in reverse order: here if the start fails, by `stop` if it succeeds.
  await using resources = new AsyncDisposableStack();
  const { home, binaries, command, socketPath } = await openDataDir(options.dataDir, resources);
  const isDurable = settings['fsync'] !== 'off';
  const { whileWaiting } = options;
  const cluster = { home, binaries, command, isDurable, logger, whileWaiting };
  const { dataPath, password } = await openCluster(cluster);

  const socketDir = openSocketDir(socketPath);
  resources.defer(() => socketDir.close());

  const launch = async () => {
    await clearStaleServer(dataPath, socketPath, logger);
    await giveDataTo(command.user, dataPath);
    const args = serverArguments(dataPath, settings);
    const server = launchServer({ command, postgres: binaries.postgres, args, logger });
    endWithThisProcess(server, command, logger);
    whileWaiting?.();
    return server;
  };
  const supervisor = await superviseServer(launch, logger);
  resources.defer(() => supervisor.stop());
  logger.info({ dataPath, user: command.user.uid }, 'embedded PostgreSQL ready');

  const owned = resources.move();
  let stopped: Promise<void> | undefined;
  return {
    url: urlOf(password, socketDir.path),
    stop: () => {
      stopped ??= owned.disposeAsync();
      return stopped;
    },
  };
}

/** The URL of a running service's embedded PostgreSQL, for commands that run next to it. */
export async function findRunningPostgres(dataDir: string): Promise<EmbeddedPostgres> {
  try {
    const home = join(await realpath(dataDir), 'postgres');
    await access(join(home, 'run', `.s.PGSQL.${socketPort}`));
    const socketDir = openSocketDir(join(home, 'run'));
    return { url: urlOf(await readPassword(home), socketDir.path), stop: async () => socketDir.close() };
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `No embedded PostgreSQL runs in ${dataDir}; start the service first, or set DATABASE_URL.`,
      { cause },
    );
  }
}

interface HeldDataDir extends AsyncDisposable {
  /** The real path of `dataDir`. */
  readonly path: string;
}

/** Locks the data directory of a stopped service, for commands that replace its files. */
export async function holdDataDir({
  dataDir,
  logger,
}: Pick<EmbeddedPostgresOptions, 'dataDir' | 'logger'>): Promise<HeldDataDir> {
  await using resources = new AsyncDisposableStack();
  const { home, socketPath } = await openDataDir(dataDir, resources);
  const dataPath = clusterDataPath(home);
  if (await exists(dataPath)) await clearStaleServer(dataPath, socketPath, logger);
  const owned = resources.move();
  return {
    path: dirname(home),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Locks the data directory until `resources` are released, and prepares it for PostgreSQL's programs. */
async function openDataDir(dataDir: string, resources: AsyncDisposableStack) {
  const binaries = findBinaries();
  refuseRoot(process.getuid?.(), process.platform);
  const home = await openHome(dataDir);
  resources.use(await lockDataDir(dataDir, join(home, 'lock')));
  await completeMoves(dirname(home));
  await linkLibraries(binaries, join(home, libraryDirName));
  const command = await findServerCommand(binaries, home, clusterDataPath(home));
  const socketPath = join(home, 'run');
  await makePrivateDir(socketPath);
  return { home, binaries, command, socketPath };
}

function urlOf(password: string, socketDir: string): string {
  return `postgresql://${superuser}:${password}@/postgres?host=${encodeURIComponent(socketDir)}`;
}

/** Returns the real path, so that a server from an earlier start is recognised whatever path leads to the folder. */
async function openHome(dataDir: string): Promise<string> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const home = join(await realpath(dataDir), 'postgres');
    await makePrivateDir(home);
    return home;
  } catch (cause) {
    throw new EmbeddedPostgresError(unusableDataDir(dataDir, cause), { cause });
  }
}
