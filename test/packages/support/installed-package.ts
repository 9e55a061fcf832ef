import { mkdir, mkdtemp, readdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPackage, type PackageName } from '../../../packages/build-packages.ts';
import { runNpm } from '../../../packages/run-npm.ts';

/** A version that no release has. */
export const testVersion = '0.0.0-test';

/** The server brings 80 packages. This is for a busy machine and a slow network. */
const timeoutMs = 300_000;

export interface InstalledPackage {
  /** An otherwise empty project, in which the package is installed. */
  readonly project: string;
  /** The files of the package, without those that it depends on. */
  readonly files: readonly string[];
  /** How much room the package takes, with everything that npm installs for it. */
  readonly bytes: number;
}

/** Builds a package, packs it, and installs the packed file as a person does. The caller removes the project. */
export async function installPackage(name: PackageName): Promise<InstalledPackage> {
  const project = await mkdtemp(join(tmpdir(), `till-${name}-`));
  const folder = join(project, 'built');
  await mkdir(folder);
  const packed = await buildPackage(name, { folder, version: testVersion });
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  // What the checkout has installed is in npm's cache.
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  await runNpm(project, ['install', ...options, packed], timeoutMs);
  const modules = join(project, 'node_modules');
  return { project, files: await filesIn(join(modules, '@till', name)), bytes: await bytesIn(modules) };
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !path.startsWith('node_modules/'))
    .toSorted();
}

async function bytesIn(folder: string): Promise<number> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
