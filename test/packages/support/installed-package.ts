import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { buildPackages, type PackageName, packageNames } from '../../../packages/build-packages.ts';
import { runNpm } from '../../../packages/run-npm.ts';
import { effort } from '../../support/effort.ts';
import { atProcessEnd } from '../../support/process-end.ts';
import { projectFolder } from '../../support/till-in-child.ts';

/** A version that no release has. */
export const testVersion = '0.0.0-test';

/**
 * In the short form, what the server depends on is that of the checkout: npm needs 12 s of CPU time to install it
 * again.
 */
export const npmInstallsServer = effort({ short: false, long: true });

/** The server brings 80 packages. This is for a busy machine and a slow network. */
const timeoutMs = 300_000;
// What the checkout has installed is in npm's cache.
const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];

/** What the test files of this process share: building and installing packages takes seconds. */
const folder = mkdtempSync(join(tmpdir(), 'till-built-'));
atProcessEnd(async () => rmSync(folder, { recursive: true, force: true }));
let built: Promise<readonly string[]> | undefined;
let libraries: Promise<string> | undefined;

function packedFiles(): Promise<readonly string[]> {
  built ??= buildPackages(packageNames, { folder, version: testVersion });
  return built;
}

/** An otherwise empty project in which npm has installed the client and the sandbox. Both depend on nothing. */
export function installLibraries(): Promise<string> {
  const installOnce = async () => {
    const project = await createProject('libraries');
    const [, ...packed] = await packedFiles();
    await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }');
    await runNpm(project, [...install, ...packed], timeoutMs);
    return project;
  };
  libraries ??= installOnce();
  return libraries;
}

/** A project in which all packages are installed, as the README of the server says. */
export async function installServer(): Promise<{ readonly project: string; readonly installMs: number }> {
  const project = await createProject('everything');
  const packed = await packedFiles();
  const startedAtMs = performance.now();
  if (npmInstallsServer) {
    await runNpm(project, ['init', '-y'], timeoutMs);
    await runNpm(project, [...install, ...packed], timeoutMs);
  } else for (const [index, name] of packageNames.entries()) await unpack(project, name, packed[index] ?? '');
  return { project, installMs: performance.now() - startedAtMs };
}

async function createProject(name: string): Promise<string> {
  const project = join(folder, name);
  await mkdir(project, { recursive: true });
  return project;
}

/** Installs a packed file. Only what its manifest names is found beside it. */
async function unpack(project: string, name: PackageName, file: string): Promise<void> {
  const modules = join(project, 'node_modules');
  const target = join(modules, '@till', name);
  await mkdir(target, { recursive: true });
  await promisify(execFile)('tar', ['-xzf', file, '--strip-components=1', '-C', target]);
  const manifest = JSON.parse(await readFile(join(target, 'package.json'), 'utf8'));
  const links = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
    .map(
      (dependency) => [join(projectFolder, 'node_modules', dependency), join(modules, dependency)] as const,
    )
    .filter(([installed]) => existsSync(installed));
  for (const [command, path] of Object.entries<string>(manifest.bin ?? {})) {
    await chmod(join(target, path), 0o755);
    links.push([join(target, path), join(modules, '.bin', command)]);
  }
  for (const [from, to] of links) {
    await mkdir(dirname(to), { recursive: true });
    await symlink(from, to);
  }
}

/** The files of an installed package, without those that it depends on. */
export async function filesOf(project: string, name: PackageName): Promise<readonly string[]> {
  const home = join(project, 'node_modules/@till', name);
  return (await readdir(home, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(home.length + 1))
    .filter((path) => !path.startsWith('node_modules/'))
    .toSorted();
}

/** How much room the files in a folder take. */
export async function bytesIn(path: string): Promise<number> {
  const files = (await readdir(path, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
