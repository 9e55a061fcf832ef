import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { skipWithout } from './require-program.ts';
import { projectFolder } from './till-in-child.ts';

const folder = 'test/node-versions';

/** Where an older version of Node is, if the packages of test/node-versions are installed. */
export function olderNode(major: 20 | 22): string {
  return join(projectFolder, folder, `node_modules/node-${major}-linux-${process.arch}/bin/node`);
}

/** For a test's options: why it is skipped where one of them is not installed. */
export function skipWithoutOlderNodes(paths: readonly string[]): string | false {
  const install = `npm ci --prefix ${folder}`;
  return skipWithout(
    paths.every((path) => existsSync(path)),
    { what: 'older versions of Node', install },
  );
}
