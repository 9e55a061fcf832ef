import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import {
  BackupMode,
  controlFile,
  isCopied,
  isCopiedFolder,
  readControlFile,
} from '../platform/embedded-postgres/backup-mode.ts';
import { clusterDataPath } from '../platform/embedded-postgres/cluster.ts';
import { type CopiedFile, copyFile, forEach, listFolder } from '../platform/embedded-postgres/copy-files.ts';
import { exists } from '../platform/embedded-postgres/pending-moves.ts';
import { syncDir, writePrivateFile } from '../platform/embedded-postgres/private-files.ts';
import { findRunningPostgres, startEmbeddedPostgres } from '../platform/embedded-postgres.ts';
import type { Logger } from '../platform/logger.ts';
import { readSchemaVersion } from '../platform/migrate.ts';
import { version } from '../platform/version.ts';
import { BackupError } from './backup-error.ts';
import { requireSpace, sizeOf } from './disk-space.ts';
import { clusterFolder, formatVersion, type Manifest, manifestName, sandboxFolder } from './manifest.ts';

interface BackupOptions {
  readonly dataDir: string;
  /** The folder of the backup, which must not exist. */
  readonly target: string;
  /** Whether the sandbox is the processor, so that its data belongs to the backup. */
  readonly hasSandbox: boolean;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Copies the embedded database into a folder, even while the service runs. The folder gets its final name only when all
 * of it is on disk, so an interrupted backup is never mistaken for a complete one.
 */
export async function backUp(options: BackupOptions): Promise<Manifest> {
  const { target, signal } = options;
  const home = join(await realDataDir(options.dataDir), 'postgres');
  await requireFreshTarget(target, dirname(home));
  await using server = await openServer(options);
  await using mode = await BackupMode.connect(server.url);
  const dataPath = clusterDataPath(home);
  await requireSpace(dirname(target), await neededBytes(dirname(home), dataPath));

  const unfinished = `${target}.unfinished`;
  await mode.start();
  // Left by an interrupted backup: only one backup runs at a time.
  await rm(unfinished, { recursive: true, force: true });
  try {
    await mkdir(unfinished, { mode: 0o700 });
    const copy = new Copy(unfinished, signal);
    await copyCluster(copy, mode, dataPath);
    const schemaVersion = await readSchemaVersion(mode.client);
    if (options.hasSandbox) await copySandbox(copy, dirname(home));
    const manifest: Manifest = {
      format: formatVersion,
      id: randomUUID(),
      createdAt: new Date().toISOString(),
      tillVersion: version,
      postgresMajorVersion: (await readFile(join(dataPath, 'PG_VERSION'), 'utf8')).trim(),
      schemaVersion: schemaVersion ?? '',
      hasSandbox: copy.folders.includes(sandboxFolder),
      folders: copy.folders,
      files: copy.files,
    };
    await writePrivateFile(join(unfinished, manifestName), JSON.stringify(manifest, null, 1));
    await copy.sync();
    signal.throwIfAborted();
    await rename(unfinished, target);
    await syncDir(dirname(target));
    return manifest;
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

async function realDataDir(dataDir: string): Promise<string> {
  const path = await realpath(dataDir).catch(() => dataDir);
  if (await exists(clusterDataPath(join(path, 'postgres')))) return path;
  throw new BackupError(
    `There is no embedded database in ${dataDir}, or it belongs to another user. Check DATA_DIR.`,
  );
}

async function requireFreshTarget(target: string, dataDir: string): Promise<void> {
  const folder = await realpath(dirname(target)).catch((cause: unknown) => {
    throw new BackupError(`The folder ${dirname(target)} does not exist.`, { cause });
  });
  if (!(await stat(folder)).isDirectory()) throw new BackupError(`${dirname(target)} is not a folder.`);
  if (await exists(target)) throw new BackupError(`${target} exists already. Choose another name.`);
  const place = relative(dataDir, resolve(folder, basename(target)));
  if (!place.startsWith('..'))
    throw new BackupError(`Choose a folder outside the data directory ${dataDir} for the backup.`);
}

/** The server of the running service. Without one, a server that runs only during the backup. */
async function openServer({ dataDir, logger }: BackupOptions) {
  const own = async () => {
    const server = await startEmbeddedPostgres({ dataDir, logger });
    return { url: server.url, [Symbol.asyncDispose]: () => server.stop() };
  };
  const running = await findRunningPostgres(dataDir).catch(() => undefined);
  if (running === undefined) return own();
  // A server that was killed leaves its socket behind.
  const isAlive = await BackupMode.connect(running.url).then(
    (mode) => mode[Symbol.asyncDispose]().then(() => true),
    () => false,
  );
  if (isAlive) return { url: running.url, [Symbol.asyncDispose]: () => running.stop() };
  await running.stop();
  return own();
}

async function neededBytes(dataDir: string, dataPath: string): Promise<number> {
  const [database, sandbox] = await Promise.all(
    [dataPath, join(dataDir, sandboxFolder)].map(async (path) =>
      sizeOf(path, (await listFolder(path)).files),
    ),
  );
  return (database ?? 0) + (sandbox ?? 0);
}

/** Copies files into a folder, and lists them for the manifest. */
class Copy {
  readonly folders: string[] = [];
  readonly files: CopiedFile[] = [];
  readonly #root: string;
  readonly #signal: AbortSignal;

  constructor(root: string, signal: AbortSignal) {
    this.#root = root;
    this.#signal = signal;
  }

  async createFolder(path: string): Promise<void> {
    await mkdir(join(this.#root, path), { mode: 0o700 });
    this.folders.push(path);
  }

  /**
   * Copies files of the folder `from` to the folder `to`. Skips a file that was removed meanwhile: its rows are in the
   * log.
   */
  async copy(from: string, paths: readonly string[], to: string): Promise<void> {
    await forEach(paths, this.#signal, async (path) => {
      const copied = await copyFile(join(from, path), join(this.#root, to, path));
      if (copied !== undefined) this.files.push({ path: `${to}/${path}`, ...copied });
    });
  }

  async write(path: string, content: string | Buffer): Promise<void> {
    await writePrivateFile(join(this.#root, path), content);
    const sha256 = createHash('sha256').update(content).digest('hex');
    this.files.push({ path, size: Buffer.byteLength(content), sha256 });
  }

  /** Syncs the folders. The files are synced already. */
  async sync(): Promise<void> {
    for (const folder of ['', ...this.folders]) await syncDir(join(this.#root, folder));
  }
}

async function copyCluster(copy: Copy, mode: BackupMode, dataPath: string): Promise<void> {
  const to = `${clusterFolder}/data`;
  const { folders, files } = await listFolder(dataPath);
  await copy.createFolder(clusterFolder);
  await copy.copy(dirname(dataPath), ['password'], clusterFolder);
  await copy.createFolder(to);
  for (const folder of folders.filter(isCopiedFolder)) await copy.createFolder(`${to}/${folder}`);
  await copy.copy(dataPath, files.filter(isCopied), to);
  await copy.write(`${to}/${controlFile()}`, await readControlFile(dataPath));
  const { label, walFiles } = await mode.end(dataPath);
  await copy.write(`${to}/backup_label`, label);
  await copy.copy(
    dataPath,
    walFiles.map((name) => `pg_wal/${name}`),
    to,
  );
}

/**
 * Copies the journals of the sandbox as they are now. They are newer than the copied database, so after a restore Till
 * reads the events that it missed, as from any processor.
 */
async function copySandbox(copy: Copy, dataDir: string): Promise<void> {
  const from = join(dataDir, sandboxFolder);
  if (!(await exists(from))) return;
  const { folders, files } = await listFolder(from);
  await copy.createFolder(sandboxFolder);
  for (const folder of folders) await copy.createFolder(`${sandboxFolder}/${folder}`);
  // A journal that is being rewritten replaces the old one when it is complete.
  await copy.copy(
    from,
    files.filter((path) => path.endsWith('.jsonl')),
    sandboxFolder,
  );
}
