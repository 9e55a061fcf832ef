import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { socketPort } from './settings.ts';

interface SocketDir {
  /** A path to the folder that is short enough for a socket address. */
  readonly path: string;
  close(): void;
}

/** The kernel's `sun_path` holds 108 bytes, including the terminating zero. */
const socketPathBytesMax = 107;

/**
 * Opens a path through which clients reach the server's socket. If the folder's own path is too long for the kernel,
 * the path goes through a file descriptor that this process keeps open: `/proc` shows it under a short name, to every
 * process of this user.
 */
export function openSocketDir(dir: string): SocketDir {
  if (Buffer.byteLength(join(dir, `.s.PGSQL.${socketPort}`)) <= socketPathBytesMax) {
    return { path: dir, close: () => {} };
  }
  const descriptor = openSync(dir, 'r');
  return { path: `/proc/${process.pid}/fd/${descriptor}`, close: () => closeSync(descriptor) };
}
