import { closeSync, mkdtempSync, openSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { socketPort } from './settings.ts';

interface SocketDir {
  /** A path to the folder that is short enough for a socket address. */
  readonly path: string;
  close(): void;
}

/** The kernel's `sun_path` holds 108 bytes on Linux and 104 on macOS, including the terminating zero. */
const socketPathBytesMax = { linux: 107, darwin: 103 };

/** Short, unlike the folder for temporary files of a user of macOS. */
const shortFolder = '/tmp';

/**
 * Opens a path through which clients reach the server's socket. If the folder's own path is too long for the kernel, it
 * is a short one that leads there. On Linux that is a file descriptor that this process keeps open: `/proc` shows it to
 * every process of this user. On macOS it is a link in a private folder.
 */
export function openSocketDir(dir: string, platform: string = process.platform): SocketDir {
  const bytesMax = socketPathBytesMax[platform === 'darwin' ? 'darwin' : 'linux'];
  if (Buffer.byteLength(join(dir, `.s.PGSQL.${socketPort}`)) <= bytesMax) {
    return { path: dir, close: () => {} };
  }
  return platform === 'darwin' ? openLink(dir) : openDescriptor(dir);
}

function openDescriptor(dir: string): SocketDir {
  const descriptor = openSync(dir, 'r');
  return { path: `/proc/${process.pid}/fd/${descriptor}`, close: () => closeSync(descriptor) };
}

/** A killed process leaves its folder behind, with nothing but a link in it. The system removes it after some days. */
function openLink(dir: string): SocketDir {
  const folder = mkdtempSync(join(shortFolder, 'till-'));
  const path = join(folder, 'run');
  symlinkSync(dir, path);
  return { path, close: () => rmSync(folder, { recursive: true, force: true }) };
}
