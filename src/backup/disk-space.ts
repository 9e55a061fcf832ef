import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../platform/embedded-postgres/copy-files.ts';
import { BackupError } from './backup-error.ts';

/** Room for what the server writes during the copy, and for the file system's overhead of many small files. */
const spareBytes = 64 * 1_024 * 1_024;

const inMegabytes = (bytes: number) => `${Math.ceil(bytes / 1_000_000)} MB`;

/** Fails if the disk of a folder has no room for this many bytes plus `spareBytes`. */
export async function requireSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (free >= bytes + spareBytes) return;
  throw new BackupError(
    `${folder} has ${inMegabytes(free)} of free space, and ${inMegabytes(bytes + spareBytes)} are needed.`,
  );
}

/** The total size of the files. Files that no longer exist count as 0. */
export async function sizeOf(root: string, paths: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const path of paths) {
    try {
      bytes += (await stat(join(root, path))).size;
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }
  return bytes;
}
