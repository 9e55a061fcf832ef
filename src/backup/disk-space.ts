import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../platform/embedded-postgres/copy-files.ts';
import { BackupError } from './backup-error.ts';

/** What a server writes while it is copied, and what the file system needs for many small files. */
const spareBytes = 64 * 1_024 * 1_024;

const inMegabytes = (bytes: number) => `${Math.ceil(bytes / 1_000_000)} MB`;

/** Fails if the disk of a folder has no room for this many bytes and some spare. */
export async function requireSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (free >= bytes + spareBytes) return;
  throw new BackupError(
    `${folder} has ${inMegabytes(free)} of free space, and ${inMegabytes(bytes + spareBytes)} are needed.`,
  );
}

/** The size of the files together. Files that are gone count as nothing. */
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
