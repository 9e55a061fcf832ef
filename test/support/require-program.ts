import { spawnSync } from 'node:child_process';

/** For a test's options: why it is skipped where a program is not installed. In CI it fails instead. */
export function skipWithoutProgram(name: string, debianPackage = name): string | false {
  if (spawnSync('sh', ['-c', `command -v ${name}`]).status === 0) return false;
  if (process.env['CI'])
    throw new Error(`The tests of ${name} must run in CI: apt-get install ${debianPackage}`);
  return `no ${name} on this machine`;
}
