import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CopiedFile, isMissing } from '../platform/embedded-postgres/copy-files.ts';
import { BackupError } from './backup-error.ts';

/** What a backup contains. Written last. */
export interface Manifest {
  readonly format: typeof formatVersion;
  /** Tells two backups apart. */
  readonly id: string;
  readonly createdAt: string;
  /** The release of Till. */
  readonly tillVersion: string;
  readonly postgresMajorVersion: string;
  /** The newest migration. */
  readonly schemaVersion: string;
  /** Whether the data of the sandbox is included. */
  readonly hasSandbox: boolean;
  readonly folders: readonly string[];
  readonly files: readonly CopiedFile[];
}

export const formatVersion = 1;
export const manifestName = 'manifest.json';
/** The folders of a backup. */
export const clusterFolder = 'cluster';
export const sandboxFolder = 'sandbox';

/** Reads the manifest of a backup. Every path in it is inside the backup. */
export async function readManifest(backup: string): Promise<Manifest> {
  const text = await readFile(join(backup, manifestName), 'utf8').catch((cause: unknown) => {
    if (!isMissing(cause) && !isOtherKind(cause)) throw cause;
    throw new BackupError(`${backup} is not a backup of till: it has no ${manifestName}.`, { cause });
  });
  return parseManifest(text, backup);
}

/** A file where a folder was expected, or the reverse. */
function isOtherKind(error: unknown): boolean {
  return error instanceof Error && 'code' in error && ['ENOTDIR', 'EISDIR'].includes(String(error.code));
}

export function parseManifest(text: string, backup: string): Manifest {
  let manifest: unknown;
  try {
    manifest = JSON.parse(text);
  } catch (cause) {
    throw new BackupError(`The ${manifestName} of ${backup} is damaged.`, { cause });
  }
  if (isObject(manifest) && typeof manifest['format'] === 'number' && manifest['format'] > formatVersion)
    throw new BackupError(`${backup} was created by a newer release of till. Update till first.`);
  if (!isManifest(manifest)) throw new BackupError(`The ${manifestName} of ${backup} is damaged.`);
  return manifest;
}

function isManifest(value: unknown): value is Manifest {
  if (!isObject(value)) return false;
  const { format, hasSandbox, folders, files } = value;
  const texts = ['id', 'createdAt', 'tillVersion', 'postgresMajorVersion', 'schemaVersion'];
  return (
    format === formatVersion &&
    texts.every((name) => typeof value[name] === 'string') &&
    typeof hasSandbox === 'boolean' &&
    Array.isArray(folders) &&
    folders.every(isInside) &&
    Array.isArray(files) &&
    files.every(isFile)
  );
}

function isFile(value: unknown): value is CopiedFile {
  return (
    isObject(value) &&
    isInside(value['path']) &&
    Number.isSafeInteger(value['size']) &&
    typeof value['sha256'] === 'string'
  );
}

/** Whether a path is below one of the two folders. A restore writes to it, so it must not lead outside. */
function isInside(path: unknown): boolean {
  if (typeof path !== 'string') return false;
  const [first = '', ...rest] = path.split('/');
  return (
    [clusterFolder, sandboxFolder].includes(first) &&
    !rest.some((part) => ['', '.', '..'].includes(part) || part.includes('\\') || part.includes('\0'))
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
