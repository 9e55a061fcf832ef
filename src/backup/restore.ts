import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clusterDataPath, unfinishedPrefix } from '../platform/embedded-postgres/cluster.ts';
import { copyFile, forEach } from '../platform/embedded-postgres/copy-files.ts';
import { exists, type FolderMove, moveTogether } from '../platform/embedded-postgres/pending-moves.ts';
import { syncDir, writePrivateFile } from '../platform/embedded-postgres/private-files.ts';
import { holdDataDir } from '../platform/embedded-postgres.ts';
import type { Logger } from '../platform/logger.ts';
import { listMigrations } from '../platform/migrate.ts';
import { BackupError } from './backup-error.ts';
import { requireSpace } from './disk-space.ts';
import { clusterFolder, type Manifest, readManifest, sandboxFolder } from './manifest.ts';

export interface RestoreOptions {
  readonly dataDir: string;
  readonly backup: string;
  /** Whether an existing database may be moved aside. */
  readonly replace: boolean;
  /** `missing`: restore the sandbox's data only if there is none. `replace`: replace existing data. */
  readonly sandbox: 'never' | 'missing' | 'replace';
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface Restored {
  readonly manifest: Manifest;
  /** False if an earlier run, interrupted at its end, already restored this backup. */
  readonly isNew: boolean;
  readonly hasSandbox: boolean;
  /** Where the previous data is now. */
  readonly aside: readonly string[];
}

const migrationsFolder = fileURLToPath(new URL('../../migrations', import.meta.url));

/** The file in a restored cluster that names its backup, and says whether the sandbox's data was restored too. */
const originName = 'restored-from';

const originOf = (id: string, hasSandbox: boolean) => (hasSandbox ? `${id} with the sandbox` : id);

/**
 * Puts the database of a backup in place. Existing data changes only after the whole backup is copied and its checksums
 * are verified. It is moved aside, never deleted.
 */
export async function restore(options: RestoreOptions): Promise<Restored> {
  const { dataDir, backup, logger, signal } = options;
  const manifest = await readManifest(backup);
  await requireKnownSchema(manifest);
  await using held = await holdDataDir({ dataDir, logger });
  if (manifest.postgresMajorVersion !== held.majorVersion) {
    throw new BackupError(
      `The backup is of PostgreSQL ${manifest.postgresMajorVersion}, and this is PostgreSQL ${held.majorVersion}, ` +
        `which cannot read it. Restore it with the release that created it (${manifest.tillVersion}).`,
    );
  }
  const home = join(held.path, 'postgres');
  if (await isRestored(home, manifest, options))
    return { manifest, isNew: false, hasSandbox: false, aside: [] };
  if (!options.replace && (await exists(join(home, clusterFolder)))) {
    throw new BackupError(
      `${dataDir} has a database already. With --replace it moves aside, and the backup takes its place.`,
    );
  }
  const hasSandbox = await takesSandbox(manifest, options, held.path);
  const files = manifest.files.filter(({ path }) => hasSandbox || isOfCluster(path));
  await requireSpace(
    home,
    files.reduce((sum, { size }) => sum + size, 0),
  );
  const moves = await copyBackup({ ...manifest, files, hasSandbox }, { backup, dataDir: held.path, signal });
  const aside = await asidesOf(held.path, moves);
  await moveTogether(held.path, moves);
  return { manifest, isNew: true, hasSandbox, aside };
}

async function requireKnownSchema({ schemaVersion, tillVersion }: Manifest): Promise<void> {
  if ((await listMigrations(migrationsFolder)).includes(schemaVersion)) return;
  throw new BackupError(
    `The backup has the schema ${schemaVersion} of a newer release (${tillVersion}), which this ` +
      'release does not know. Update till first.',
  );
}

/** The first start after a restore removes the label. From then on the database has newer data than the backup. */
async function isRestored(
  home: string,
  { id, hasSandbox }: Manifest,
  { sandbox }: RestoreOptions,
): Promise<boolean> {
  if (!(await exists(join(clusterDataPath(home), 'backup_label')))) return false;
  const origin = await readFile(join(home, clusterFolder, originName), 'utf8').catch(() => '');
  if (origin === originOf(id, true)) return true;
  return origin === originOf(id, false) && !(hasSandbox && sandbox === 'replace');
}

async function takesSandbox(
  { hasSandbox }: Manifest,
  { sandbox }: RestoreOptions,
  dataDir: string,
): Promise<boolean> {
  if (!hasSandbox || sandbox === 'never') return false;
  return sandbox === 'replace' || !(await exists(join(dataDir, sandboxFolder)));
}

function isOfCluster(path: string): boolean {
  return path.split('/')[0] === clusterFolder;
}

/** The number of random characters that `mkdtemp` adds. */
const suffixLength = 6;

interface CopyOptions {
  readonly backup: string;
  readonly dataDir: string;
  readonly signal: AbortSignal;
}

/**
 * Copies the backup next to the existing data, and returns the moves that put it in place. The copy is one folder,
 * which contains the sandbox's. If this process dies, the next start removes it.
 */
async function copyBackup(
  { id, folders, files, hasSandbox }: Manifest,
  { backup, dataDir, signal }: CopyOptions,
): Promise<readonly FolderMove[]> {
  const unfinished = await mkdtemp(join(dataDir, 'postgres', unfinishedPrefix));
  const placeOf = (path: string) =>
    join(unfinished, isOfCluster(path) ? relative(clusterFolder, path) : path);
  const wanted = folders.filter((path) => path !== clusterFolder && (hasSandbox || isOfCluster(path)));
  try {
    for (const folder of wanted) await mkdir(placeOf(folder), { mode: 0o700 });
    await forEach(files, signal, async ({ path, size, sha256 }) => {
      const copied = await copyFile(join(backup, path), placeOf(path));
      if (copied?.size !== size || copied.sha256 !== sha256)
        throw new BackupError(`The backup is damaged: ${path} has changed since the backup was created.`);
    });
    await writePrivateFile(join(unfinished, originName), originOf(id, hasSandbox));
    for (const folder of wanted) await syncDir(placeOf(folder));
    await syncDir(unfinished);
    await syncDir(join(dataDir, 'postgres'));
    signal.throwIfAborted();
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
  const from = relative(dataDir, unfinished);
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  // The suffix keeps two restores within one second apart.
  const name = `${time}-${from.slice(-suffixLength)}`;
  const move = (path: string, to: string): FolderMove => ({
    from: path,
    to,
    aside: `${to}.replaced-${name}`,
  });
  return [
    ...(hasSandbox ? [move(join(from, sandboxFolder), sandboxFolder)] : []),
    move(from, join('postgres', clusterFolder)),
  ];
}

async function asidesOf(dataDir: string, moves: readonly FolderMove[]): Promise<readonly string[]> {
  const replaced = await Promise.all(moves.map(({ to }) => exists(join(dataDir, to))));
  return moves.flatMap(({ aside }, index) => (replaced[index] ? [join(dataDir, aside)] : []));
}
