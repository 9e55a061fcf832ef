import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type BuildOptions, buildPackages, packageNames } from './build-packages.ts';
import { notesOf } from './release-edits.ts';
import { runNpm } from './run-npm.ts';

/** It reads two files. This is for a busy machine. */
const timeoutMs = 120_000;

/** The files of the checkout from which a release is described. */
export interface ReleaseSource {
  readonly manifest: string;
  readonly lock: string;
  readonly changelog: string;
}

/**
 * Builds everything of a release that needs no credentials: the packages, the bill of materials, the checksums of both,
 * and the notes. Returns the names of the files with checksums.
 */
export async function buildRelease(options: BuildOptions, source: ReleaseSource): Promise<readonly string[]> {
  const { folder, version } = options;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const packed = await buildPackages(packageNames, options);
  const bill = join(folder, `till-${version}.cdx.json`);
  await writeFile(bill, await billOfMaterials(source));
  const files = [...packed, bill];
  const sums = await Promise.all(files.map(async (path) => `${await digestOf(path)}  ${basename(path)}\n`));
  await writeFile(join(folder, 'SHA256SUMS'), sums.join(''));
  await writeFile(join(folder, 'release-notes.md'), `${notesOf(source.changelog, version)}\n`);
  return files.map((path) => basename(path));
}

/** What runs with Till, as CycloneDX: the packages that the lock file pins, without those of development. */
async function billOfMaterials({ manifest, lock }: ReleaseSource): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'till-sbom-'));
  // npm names the bill after the folder.
  const folder = join(parent, 'till');
  try {
    await mkdir(folder);
    await writeFile(join(folder, 'package.json'), manifest);
    await writeFile(join(folder, 'package-lock.json'), lock);
    const args = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only'];
    const { stdout } = await runNpm(folder, args, timeoutMs);
    return stdout;
  } finally {
    await rm(parent, { recursive: true, force: true });
  }
}

async function digestOf(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}
