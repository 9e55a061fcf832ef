import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Debian has servers here, where only root looks for programs. */
const serverFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin'];

/** Where the first of these programs is that is installed. Undefined if none is. */
export function findProgram(...names: readonly string[]): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...serverFolders];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** For a test's options: why it is skipped where a program is not installed. In CI it fails instead. */
export function skipWithoutProgram(name: string, debianPackage = name): string | false {
  return skipWithout(findProgram(name) !== undefined, {
    what: name,
    install: `apt-get install ${debianPackage}`,
  });
}

/** The same for anything else that can be installed. The end of a run lists the reasons. */
export function skipWithout(
  isInstalled: boolean,
  { what, install }: { readonly what: string; readonly install: string },
): string | false {
  if (isInstalled) return false;
  const reason = `needs ${what}: ${install}`;
  // The file cannot be loaded, which fails at once. A test without its program might wait for it.
  if (process.env['CI']) throw new Error(`This must run in CI, and ${reason}`);
  return reason;
}
