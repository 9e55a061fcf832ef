import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Backend } from '../../support/backend.ts';
import { startTill } from '../../support/till.ts';
import type { TillInChild } from '../../support/till-in-child.ts';
import type { Image } from './image.ts';
import { mountItself, pathOf, quote } from './namespace.ts';

const devices = ['null', 'zero', 'full', 'random', 'urandom'];

export interface Container {
  readonly till: TillInChild;
  /** Runs a program of the image inside, as its user. */
  exec(command: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string }>;
  /** Sends the image's stop signal to its first process, and resolves with the exit code. */
  stop(): Promise<number | null>;
}

/**
 * Runs an image as an engine does with a read-only root and without privileges: its command is process 1, as the
 * image's user, on a file system that cannot be written to, and the kernel shows it no process and no value of others.
 */
export async function startContainer(
  image: Image,
  on: Backend,
  settings: Readonly<Record<string, string>>,
): Promise<Container> {
  const environment = { ...image.environment, ...settings };
  const [uid = '', gid = ''] = image.user.split(':');
  const user = [`--setgid=${gid}`, `--setuid=${uid}`];
  const isolated = [
    ...['setpriv', '--no-new-privs', 'env', '-i'],
    ...Object.entries(environment).map(([key, value]) => `${key}=${value}`),
    ...[pathOf('unshare'), `--root=${image.root}`, `--wd=${image.workDir}`, ...user, '--'],
    ...[...image.entrypoint, ...image.command],
  ];
  const script = [...mounts(image.root), `exec ${isolated.map(quote).join(' ')}`].join('\n');
  const till = await startTill({
    ...{ in: 'child', on },
    command: ['unshare', '--mount', '--pid', '--fork', '--', 'sh', '-euc', script],
  });
  const exited = once(till.child, 'exit');
  const firstProcess = childOf(till.child.pid);
  on.atEnd(() => {
    // Its end is that of all processes in the namespace. Without it, a failed test would leave them running.
    if (till.child.exitCode === null) process.kill(firstProcess, 'SIGKILL');
  });
  const enter = [`--target=${firstProcess}`, '--mount', '--pid', '--root', '--wd', ...user, '--'];
  return {
    till,
    exec: (command) => promisify(execFile)(pathOf('nsenter'), [...enter, ...command], { env: environment }),
    stop: async () => {
      process.kill(firstProcess, image.stopSignal);
      await exited;
      return till.child.exitCode;
    },
  };
}

function mounts(root: string): readonly string[] {
  for (const folder of ['dev', 'proc']) mkdirSync(join(root, folder), { recursive: true });
  for (const device of devices) closeSync(openSync(join(root, 'dev', device), 'a'));
  return [
    ...mountItself(root),
    ...devices.map((name) => `mount --bind /dev/${name} ${quote(join(root, 'dev', name))}`),
    // As restricted as deploy/till.service asks for.
    `mount -t proc -o nosuid,nodev,noexec,hidepid=invisible,subset=pid proc ${quote(join(root, 'proc'))}`,
    `mount -o remount,bind,ro,exec,nosuid ${quote(root)}`,
  ];
}

/** The process in the namespace. The one that created the namespace waits for it, and ends with its exit code. */
function childOf(pid: number | undefined): number {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return Number(child);
}
