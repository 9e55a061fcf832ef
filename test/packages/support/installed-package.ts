import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, readdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPackage, type PackageName } from '../../../packages/build-packages.ts';
import { runNpm } from '../../../packages/run-npm.ts';
import { atProcessEnd } from '../../support/process-end.ts';

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
  /** How long npm took for an empty folder. */
  readonly installMs: number;
}

/** The packed files of this process. Building a package takes seconds, and several test files need the same ones. */
const built = new Map<PackageName, Promise<string>>();
const folder = mkdtempSync(join(tmpdir(), 'till-built-'));
atProcessEnd(async () => rmSync(folder, { recursive: true, force: true }));

function packedFile(name: PackageName): Promise<string> {
  const known = built.get(name) ?? buildPackage(name, { folder, version: testVersion });
  built.set(name, known);
  return known;
}

/**
 * Builds a package and others, packs them, and installs the packed files as a person does. The caller removes the
 * project.
 */
export async function installPackage(
  name: PackageName,
  {
    others = [],
    isModule = true,
  }: {
    readonly others?: readonly PackageName[];
    /** False: the manifest is the one that `npm init` writes. */
    readonly isModule?: boolean;
  } = {},
): Promise<InstalledPackage> {
  const project = await mkdtemp(join(tmpdir(), `till-${name}-`));
  const packed: string[] = [];
  for (const one of [name, ...others]) packed.push(await packedFile(one));
  const startedAtMs = performance.now();
  if (isModule) await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  else await runNpm(project, ['init', '-y'], timeoutMs);
  // What the checkout has installed is in npm's cache.
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  await runNpm(project, ['install', ...options, ...packed], timeoutMs);
  const installMs = performance.now() - startedAtMs;
  const modules = join(project, 'node_modules');
  const files = await filesIn(join(modules, '@till', name));
  return { project, files, bytes: await bytesIn(modules), installMs };
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
