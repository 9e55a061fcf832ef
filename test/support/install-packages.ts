import { statSync } from 'node:fs';
import { join } from 'node:path';
import { runNpm } from '../../packages/run-npm.ts';
import { projectFolder } from './till-in-child.ts';

/** Older versions of Node, and the official browser packages. */
const folders = ['test/node-versions', 'test/stripe-packages/newest', 'test/stripe-packages/oldest'];
/** Ten times what a slow network needs. A registry that does not respond must not hang the run. */
const installTimeoutMs = 300_000;

/**
 * Installs the packages that only some tests need, apart from those of the workspaces. Where that fails, these tests
 * are skipped, or fail in CI.
 */
export async function installPackages(): Promise<void> {
  for (const folder of folders.filter((name) => !isInstalled(join(projectFolder, name)))) {
    const args = ['ci', '--ignore-scripts'];
    await runNpm(join(projectFolder, folder), args, installTimeoutMs).catch(({ message }: Error) =>
      process.stderr.write(`The packages of ${folder} are not installed: ${message}\n`),
    );
  }
}

/** npm leaves a copy of the lock file with what it has installed. */
function isInstalled(folder: string): boolean {
  const writtenAtMs = (path: string) => statSync(join(folder, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return writtenAtMs('node_modules/.package-lock.json') >= writtenAtMs('package-lock.json');
}
