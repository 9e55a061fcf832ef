import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { skipWithout } from './require-program.ts';
import { projectFolder } from './till-in-child.ts';

const folder = 'test/node-versions';

/** The versions of Node under which the packages run. The last one runs the tests. */
export const nodes = [
  { major: 20, path: olderNode(20) },
  { major: 22, path: olderNode(22) },
  { major: 24, path: process.execPath },
] as const;

/** Where an older version of Node is, if the packages of test/node-versions are installed. */
function olderNode(major: 20 | 22): string {
  return join(projectFolder, folder, `node_modules/node-${major}-linux-${process.arch}/bin/node`);
}

/** What the manifests of the client and the sandbox promise: the oldest of these versions. */
export async function oldestRange(): Promise<string> {
  const manifest = JSON.parse(await readFile(join(projectFolder, folder, 'package.json'), 'utf8'));
  const oldest: string = manifest.optionalDependencies['node-20-linux-x64'];
  return `>=${oldest.slice(oldest.lastIndexOf('@') + 1)}`;
}

/** A folder with the types of the oldest version, as the compiler's `typeRoots`. */
export function oldestNodeTypes(): string {
  return join(projectFolder, folder, 'node_modules/@types');
}

/** For a test's options: why it is skipped where one of them is not installed. */
export function skipWithoutOlderNodes(): string | false {
  const install = `npm ci --prefix ${folder}`;
  const paths = [...nodes.map(({ path }) => path), oldestNodeTypes()];
  return skipWithout(
    paths.every((path) => existsSync(path)),
    { what: 'older versions of Node', install },
  );
}
