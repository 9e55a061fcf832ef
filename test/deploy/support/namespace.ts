import { spawnSync } from 'node:child_process';

/** The programs with which these tests imitate a container engine. */
const needed = ['unshare', 'nsenter', 'setpriv', 'mount', 'ldd', 'dpkg', 'cp'];

/** For a test's options: why it is skipped where namespaces are not available. */
export function skipWithoutNamespaces(): string | false {
  const reason = findObstacle();
  if (reason !== false && process.env['CI'])
    throw new Error(`The tests of the image must run in CI: ${reason}`);
  return reason;
}

function findObstacle(): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'needs root on Linux: run the tests as root';
  const missing = needed.filter((name) => pathOf(name) === '');
  if (missing.length > 0) return `needs ${missing.join(', ')}: apt-get install util-linux`;
  const { status } = spawnSync('unshare', ['--mount', '--pid', '--fork', 'true']);
  return status === 0 ? false : 'needs namespaces: allow them on this machine';
}

/** Where a program of this machine is: the PATH of a container does not lead there. */
export function pathOf(program: string): string {
  return spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim();
}

/** A word for a shell. */
export function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Makes a folder a mount of its own, on which programs may run whatever the rest of its file system allows. */
export function mountItself(folder: string, options = ''): readonly string[] {
  return [
    `mount --bind ${quote(folder)} ${quote(folder)}`,
    `mount -o remount,bind,exec,nosuid${options} ${quote(folder)}`,
  ];
}

export function mountReadOnly(from: string, to: string): string {
  return `mount --rbind -o ro ${quote(from)} ${quote(to)}`;
}
