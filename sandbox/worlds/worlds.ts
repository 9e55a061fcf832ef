import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Journal } from '../state/journal.ts';
import { isWorldName } from '../wire/authenticate.ts';
import { refusal } from '../wire/wire-error.ts';
import { World, type WorldOptions } from './world.ts';

/** The account, the webhook and the listener are those of the default world. */
interface WorldsOptions extends Omit<WorldOptions, 'basePath' | 'clock'> {
  /** The folder for the journals. Without it, the state is only in memory. */
  readonly folder: string | null;
}

/** The journal of the default world. */
const defaultFile = 'journal.jsonl';

/** Far more than parallel test suites need. An empty world takes about 13 kB. */
const worldsMax = 10_000;

/**
 * The default world, and the worlds that API keys name. Each world has its own journal, so that removing a world
 * deletes one file, and a damaged file affects only one world.
 */
export class Worlds {
  readonly default: World;
  readonly #options: WorldsOptions;
  /** Open worlds, and worlds that are being opened or removed. */
  readonly #named = new Map<string, World | Promise<World>>();
  readonly #removals = new Map<string, Promise<void>>();
  #restoring: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: WorldsOptions) {
    this.#options = options;
    this.default = new World({ ...options, basePath: '' });
  }

  /** Restores the default world. */
  async load(): Promise<void> {
    const { folder } = this.#options;
    if (folder === null) return;
    await this.default.keepIn((onLine) => Journal.open(join(folder, defaultFile), onLine));
  }

  /** Writes the default world to a journal in a folder. */
  async save(folder: string): Promise<void> {
    const journal = await Journal.open(join(folder, defaultFile), () => {});
    await journal.rewrite(() => this.default.store.snapshot());
    await journal.close();
  }

  /** Starts the scheduled work and the deliveries of the default world, and then of all other worlds. */
  async start(): Promise<void> {
    await this.default.start();
    const folder = this.#folder();
    if (folder === null) return;
    await mkdir(folder, { recursive: true });
    const names = (await readdir(folder)).flatMap((file) => nameOf(file) ?? []);
    this.#restoring = this.#restore(names);
  }

  /** The world with this name. The first call opens it. */
  open(name: string): World | Promise<World> {
    const known = this.#named.get(name);
    if (known !== undefined) return known;
    if (this.#named.size >= worldsMax)
      throw refusal(
        429,
        `The sandbox has ${worldsMax} worlds, which is the maximum. Remove some with DELETE /sandbox/world.`,
        'rate_limit',
      );
    const opening = this.#open(name).then(
      (world) => {
        this.#named.set(name, world);
        return world;
      },
      (error: unknown) => {
        this.#named.delete(name);
        throw error;
      },
    );
    this.#named.set(name, opening);
    return opening;
  }

  /** The world with this name, if there is one. */
  async find(name: string): Promise<World | undefined> {
    if (!this.#named.has(name)) await this.#restoring;
    return this.#named.get(name);
  }

  /** Removes the world and everything in it. Returns whether there was one. */
  async remove(name: string): Promise<boolean> {
    const world = await this.find(name);
    // Another request may have removed this world in the meantime, and a third one may have opened a new one.
    if (world === undefined || this.#named.get(name) !== world) return false;
    this.#named.delete(name);
    const removal = world.remove();
    this.#removals.set(name, removal);
    try {
      await removal;
    } finally {
      this.#removals.delete(name);
    }
    return true;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#restoring;
    await Promise.allSettled(this.#removals.values());
    const worlds = await Promise.allSettled([this.default, ...this.#named.values()]);
    await Promise.all(
      worlds.map((world) => (world.status === 'fulfilled' ? world.value.close() : undefined)),
    );
  }

  async #open(name: string): Promise<World> {
    // A world that is being removed under the same name still owns the file.
    await this.#removals.get(name);
    const world = new World({
      accountId: `acct_world_${name}`,
      url: this.#options.url,
      basePath: `/worlds/${name}`,
      log: (level, fields, message) => this.#options.log(level, { world: name, ...fields }, message),
      retention: this.#options.retention,
    });
    const folder = this.#folder();
    if (folder !== null) await world.keepIn((onLine) => Journal.open(join(folder, fileOf(name)), onLine));
    await world.start();
    return world;
  }

  /** Opens the worlds of an earlier process, one at a time, while requests are served. */
  async #restore(names: readonly string[]): Promise<void> {
    for (const name of names) {
      if (this.#closed) return;
      try {
        await this.open(name);
      } catch (error) {
        this.#options.log('error', { error, world: name }, 'failed to restore a world');
      }
    }
  }

  #folder(): string | null {
    return this.#options.folder === null ? null : join(this.#options.folder, 'worlds');
  }
}

/** Some file systems ignore case, so a capital letter is written as `+` and the small letter. */
function fileOf(name: string): string {
  return `${name.replaceAll(/[A-Z]/g, (letter) => `+${letter.toLowerCase()}`)}.jsonl`;
}

function nameOf(file: string): string | null {
  if (!file.endsWith('.jsonl')) return null;
  const name = file.slice(0, -'.jsonl'.length).replaceAll(/\+([a-z])/g, (_, letter) => letter.toUpperCase());
  return isWorldName(name) && fileOf(name) === file ? name : null;
}
