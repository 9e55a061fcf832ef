import { cp, mkdtemp, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectFolder } from './till-in-child.ts';

/** A copy of what a service needs to run, which a test may change. The rest stays where it is. */
export async function copyProject(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'till-made-up-'));
  for (const name of ['src', 'migrations', 'package.json'])
    await cp(join(projectFolder, name), join(folder, name), { recursive: true });
  for (const name of ['node_modules', 'sandbox', 'console'])
    await symlink(join(projectFolder, name), join(folder, name));
  return folder;
}
