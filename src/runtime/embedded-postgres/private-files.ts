import { chmod, mkdir, open } from 'node:fs/promises';

/** Creates a folder that only its owner can enter, whatever the umask. Resets the permissions of an existing folder. */
export async function makePrivateDir(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
}

/** Writes a new file that only its owner can read, whatever the umask, and syncs it to disk. */
export async function writePrivateFile(path: string, content: string | Buffer): Promise<void> {
  await using file = await open(path, 'wx', 0o600);
  await file.chmod(0o600);
  await file.writeFile(content);
  await file.sync();
}

/** Syncs a file or a folder: a new or renamed entry survives a power failure only once its folder is synced too. */
export async function syncPath(path: string): Promise<void> {
  await using entry = await open(path, 'r');
  await entry.sync();
}
