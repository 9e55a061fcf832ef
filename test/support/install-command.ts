import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { programFile } from './bundle.ts';
import { projectFolder } from './till-in-child.ts';

/** Makes `npx till` run the command line of this checkout in a folder, as if Till were installed there. */
export async function installCommand(folder: string): Promise<void> {
  const bin = join(folder, 'node_modules/.bin');
  await mkdir(bin, { recursive: true });
  const program = resolve(projectFolder, programFile('src/cli/cli.ts'));
  await writeFile(join(bin, 'till'), `#!/bin/sh\nexec node '${program}' "$@"\n`, { mode: 0o755 });
}
