import { randomBytes } from 'node:crypto';
import { lchown, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from '#core/platform/logger.ts';
import type { Binaries } from './binaries.ts';
import { exists } from './pending-moves.ts';
import { syncPath, writePrivateFile } from './private-files.ts';
import { run, type ServerCommand } from './server-command.ts';
import type { Owner } from './server-user.ts';
import { EmbeddedPostgresError } from './start-error.ts';

interface Cluster {
  readonly dataPath: string;
  readonly password: string;
}

export const superuser = 'till';

const clusterDirName = 'cluster';
/** A folder with this prefix is a leftover if no process is working on it. */
export const unfinishedPrefix = 'cluster.unfinished-';

export function clusterDataPath(home: string): string {
  return join(home, clusterDirName, 'data');
}

interface ClusterOptions {
  readonly home: string;
  readonly binaries: Binaries;
  readonly command: ServerCommand;
  readonly isDurable: boolean;
  readonly logger: Logger;
  /** Called while `initdb` runs. */
  readonly whileWaiting?: (() => void) | undefined;
}

/** Opens the data of an earlier start, or creates it. The caller holds the lock of the data directory. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const { home, command, logger } = options;
  await removeUnfinished(home, logger);
  const dataPath = clusterDataPath(home);
  const version = await readVersion(dataPath);
  if (version === undefined) {
    if (await exists(dirname(dataPath))) {
      throw new EmbeddedPostgresError(`${dirname(dataPath)} holds no PostgreSQL database: move it away.`);
    }
    await createCluster(options);
    logger.info({ dataPath }, 'embedded PostgreSQL database created');
  } else if (version !== command.majorVersion) {
    throw new EmbeddedPostgresError(
      `The data in ${dataPath} was written by PostgreSQL ${version} and this is PostgreSQL ` +
        `${command.majorVersion}, which cannot read it: go back to the release that wrote it, or move the data ` +
        'over with pg_dump and pg_restore.',
    );
  }
  return { dataPath, password: await readPassword(home) };
}

/** initdb takes half a second; on a slow and busy disk up to a hundred times that. */
const initdbTimeoutMs = 120_000;

/**
 * Creates data and password in a temporary folder, and renames that folder once all of it is on disk. So the cluster
 * either exists completely or not at all, and leftovers of a killed start are recognisable.
 */
async function createCluster(options: ClusterOptions): Promise<void> {
  const { home, binaries, command, isDurable, whileWaiting } = options;
  const unfinished = await mkdtemp(join(home, unfinishedPrefix));
  const passwordPath = join(unfinished, 'password');
  await writePrivateFile(passwordPath, randomBytes(24).toString('base64url'));

  const args = [
    ...['-D', join(unfinished, 'data'), '--username', superuser, `--pwfile=${passwordPath}`],
    ...['--auth', 'scram-sha-256', '--encoding', 'UTF8', '--no-instructions'],
    // Compares by code point on every machine, independent of the version of any locale library.
    ...['--locale', 'C', '--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8'],
    // Syncing takes about 40 ms. With `fsync` off, it is pointless.
    ...(isDurable ? [] : ['--no-sync']),
  ];
  const running = run(command.line(binaries.initdb, args), command.options, initdbTimeoutMs);
  whileWaiting?.();
  const { isOk, output } = await running;
  if (!isOk) {
    await rm(unfinished, { recursive: true, force: true });
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL could not create its database in ${home} (${output}).`,
    );
  }
  await syncPath(unfinished);
  await rename(unfinished, join(home, clusterDirName));
  await syncPath(home);
  await syncPath(dirname(home));
}

/**
 * The `initdb` of a killed start may still be writing. It fails once its folder is gone. If it writes more before that,
 * the next start removes the new files. Until then they do no harm, because each attempt has its own folder.
 */
async function removeUnfinished(home: string, logger: Logger): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith(unfinishedPrefix)) continue;
    try {
      await rm(join(home, name), { recursive: true, force: true, maxRetries: 3, retryDelay: 50 });
    } catch (err) {
      logger.warn({ err }, 'leftovers of an interrupted start not removed');
    }
  }
}

async function readVersion(dataPath: string): Promise<string | undefined> {
  try {
    return (await readFile(join(dataPath, 'PG_VERSION'), 'utf8')).trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

export async function readPassword(home: string): Promise<string> {
  const path = join(home, clusterDirName, 'password');
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The password of the embedded PostgreSQL cannot be read from ${path}: restore that file from a backup.`,
      { cause },
    );
  }
}

/**
 * Gives all data to the user who runs the server, if that user has changed: the service now starts as root, or the
 * machine has become stricter. The folder itself changes owner last, so that the next start repeats an interrupted
 * change. No server may be running on the data.
 */
export async function giveDataTo(owner: Owner, dataPath: string): Promise<void> {
  if ((await stat(dataPath)).uid === owner.uid) return;
  for (const path of await readdir(dataPath, { recursive: true })) {
    await lchown(join(dataPath, path), owner.uid, owner.gid);
  }
  await lchown(dataPath, owner.uid, owner.gid);
}
