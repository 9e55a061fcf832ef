import { readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncPath, writePrivateFile } from './private-files.ts';

/** A folder that takes the place of another. Paths are relative to the data directory. */
export interface FolderMove {
  readonly from: string;
  readonly to: string;
  /** Where an existing folder goes. */
  readonly aside: string;
}

const fileName = join('postgres', 'pending-moves.json');

/**
 * Puts folders in place, all of them or none. The list of moves is on disk before the first one, so if this process
 * dies, the next one that locks the data directory completes them. The caller holds that lock.
 */
export async function moveTogether(dataDir: string, moves: readonly FolderMove[]): Promise<void> {
  const path = join(dataDir, fileName);
  await rm(`${path}.next`, { force: true });
  await writePrivateFile(`${path}.next`, JSON.stringify(moves));
  await rename(`${path}.next`, path);
  await syncPath(dirname(path));
  await completeMoves(dataDir);
}

/** Completes the moves that a dead process left unfinished. The caller holds the lock of the data directory. */
export async function completeMoves(dataDir: string): Promise<void> {
  const path = join(dataDir, fileName);
  // Written by `moveTogether`, whole or not at all.
  const moves: readonly FolderMove[] = JSON.parse(
    await readFile(path, 'utf8').catch((error: unknown) => {
      if (isMissing(error)) return '[]';
      throw error;
    }),
  );
  if (moves.length === 0) return;
  for (const { from, to, aside } of moves) {
    // A folder that does not exist was already moved.
    if (!(await exists(join(dataDir, from)))) continue;
    if (await exists(join(dataDir, to))) await rename(join(dataDir, to), join(dataDir, aside));
    await rename(join(dataDir, from), join(dataDir, to));
    await syncPath(dirname(join(dataDir, to)));
    await syncPath(dirname(join(dataDir, from)));
  }
  await rm(path);
  await syncPath(dirname(path));
}

export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
