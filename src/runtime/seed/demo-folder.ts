import { createReadStream, createWriteStream } from 'node:fs';
import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { inLanes } from '#core/platform/lanes.ts';
import type { Logger } from '#core/platform/logger.ts';
import { unfinishedPrefix } from '../embedded-postgres/cluster.ts';
import { exists, type FolderMove, moveTogether } from '../embedded-postgres/pending-moves.ts';
import { syncPath } from '../embedded-postgres/private-files.ts';
import { holdDataDir } from '../embedded-postgres.ts';

const cluster = join('postgres', 'cluster');
const journal = join('sandbox', 'journal.jsonl');
/** The next start removes unfinished folders with this prefix. */
const name = join('postgres', `${unfinishedPrefix}demo`);

/** A database has about a thousand small files. A higher number does not make a disk faster. */
const syncsAtOnce = 8;

interface FolderOptions {
  /** The data directory. The caller holds its lock. */
  readonly dataDir: string;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * A data directory inside another one, in which the demo data is created. It starts as a copy of the database, and
 * replaces it in one step when it is complete. Until then nothing changes, so an interrupted run can be repeated.
 */
export class DemoFolder {
  readonly path: string;
  readonly #options: FolderOptions;

  private constructor(options: FolderOptions) {
    this.#options = options;
    this.path = join(options.dataDir, name);
  }

  static async create(options: FolderOptions): Promise<DemoFolder> {
    const folder = new DemoFolder(options);
    await folder.remove();
    await mkdir(join(folder.path, 'postgres'), { recursive: true, mode: 0o700 });
    await folder.#copyCluster();
    return folder;
  }

  /**
   * Puts the database and the sandbox's data in place. Returns where the previous database is now, if there was one.
   */
  async finish(): Promise<string | undefined> {
    const { dataDir } = this.#options;
    await this.#addJournal();
    await this.#sync();
    await mkdir(join(dataDir, 'sandbox'), { recursive: true });
    const suffix = `replaced-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`;
    const move = (path: string): FolderMove => ({
      from: join(name, path),
      to: path,
      aside: `${path}.${suffix}`,
    });
    const hadCluster = await exists(join(dataDir, cluster));
    await moveTogether(dataDir, [move(journal), move(cluster)]);
    // The new journal contains the old one.
    await rm(join(dataDir, `${journal}.${suffix}`), { force: true });
    await this.remove();
    return hadCluster ? join(dataDir, `${cluster}.${suffix}`) : undefined;
  }

  /** Also stops a server that outlived an earlier run. */
  async remove(): Promise<void> {
    if (!(await exists(this.path))) return;
    await using held = await holdDataDir({ dataDir: this.path, logger: this.#options.logger });
    await rm(held.path, { recursive: true, force: true, maxRetries: 3 });
  }

  /** No server runs on the data, so its files can be copied as they are. */
  async #copyCluster(): Promise<void> {
    const { dataDir, signal } = this.#options;
    const [from, to] = [join(dataDir, cluster), join(this.path, cluster)];
    if (!(await exists(from))) return;
    const filter = () => {
      signal.throwIfAborted();
      return true;
    };
    await cp(from, to, { recursive: true, filter });
  }

  /** Demo objects are older than the existing ones, so they come first. */
  async #addJournal(): Promise<void> {
    const existing = join(this.#options.dataDir, journal);
    if (!(await exists(existing))) return;
    await pipeline(createReadStream(existing), createWriteStream(join(this.path, journal), { flags: 'a' }));
  }

  /** The server wrote without syncing, because a killed run starts over. */
  async #sync(): Promise<void> {
    const entries = await readdir(this.path, { recursive: true, withFileTypes: true });
    const synced = entries.filter((entry) => entry.isFile() || entry.isDirectory());
    await inLanes(synced, syncsAtOnce, async ({ parentPath, name: entry }) => {
      this.#options.signal.throwIfAborted();
      await syncPath(join(parentPath, entry));
    });
  }
}
