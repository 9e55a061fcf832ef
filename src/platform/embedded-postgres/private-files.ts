import { chmod, mkdir, open } from 'node:fs/promises';

/** Makes a folder that its owner alone may enter, whatever the umask. One that exists is closed to others again. */
export async function makePrivateDir(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
}

/** Writes a new file that its owner alone may read, whatever the umask, and sees it on the disk. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.chmod(0o600);
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A new or renamed entry survives a power cut only once its folder has been synced too. */
export async function syncDir(path: string): Promise<void> {
  const dir = await open(path, 'r');
  try {
    await dir.sync();
  } finally {
    await dir.close();
  }
}
