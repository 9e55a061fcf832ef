import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { inLanes } from '../lanes.ts';

/** A file of a copy: its path below the folder, with `/`, and what it contains. */
export interface CopiedFile {
  readonly path: string;
  readonly size: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** A database has about a thousand small files. A higher number does not make a disk faster. */
const copiesAtOnce = 8;
const chunkBytes = 1_048_576;

/** Calls `work` for each item, a few at a time. The first error ends it, and so does the signal. */
export function forEach<Item>(
  items: readonly Item[],
  signal: AbortSignal,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  return inLanes(items, copiesAtOnce, async (item) => {
    signal.throwIfAborted();
    await work(item);
  });
}

/**
 * Copies a file to a new one that only its owner can read, syncs it to disk, and returns its size and checksum. Copies
 * as many bytes as the file has now, so that a file which grows at the same time does not keep it busy. Undefined if
 * the file no longer exists.
 */
export async function copyFile(
  from: string,
  to: string,
): Promise<Pick<CopiedFile, 'size' | 'sha256'> | undefined> {
  await using source = await openIfThere(from);
  if (source === undefined) return undefined;
  await using target = await open(to, 'wx', 0o600);
  await target.chmod(0o600);
  const copied = await copyBytes(source, target);
  await target.sync();
  return copied;
}

async function copyBytes(
  source: FileHandle,
  target: FileHandle,
): Promise<Pick<CopiedFile, 'size' | 'sha256'>> {
  const { size } = await source.stat();
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(chunkBytes, size)));
  let done = 0;
  while (done < size) {
    const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, size - done), done);
    // PostgreSQL has shortened the file meanwhile.
    if (bytesRead === 0) break;
    const bytes = buffer.subarray(0, bytesRead);
    hash.update(bytes);
    await target.writeFile(bytes);
    done += bytesRead;
  }
  return { size: done, sha256: hash.digest('hex') };
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

interface FolderListing {
  /** Folders and files, with `/`, parents before what they contain. */
  readonly folders: readonly string[];
  readonly files: readonly string[];
}

/** Lists a folder that others may be changing. A folder that no longer exists counts as empty. */
export async function listFolder(root: string, path = ''): Promise<FolderListing> {
  const folders: string[] = [];
  const files: string[] = [];
  const entries = await readdir(join(root, path), { withFileTypes: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  for (const entry of entries) {
    const below = path === '' ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) {
      const inside = await listFolder(root, below);
      folders.push(below, ...inside.folders);
      files.push(...inside.files);
    } else if (entry.isFile()) files.push(below);
  }
  return { folders, files };
}
