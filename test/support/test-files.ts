import { globSync } from 'node:fs';
import { matchesGlob, relative, resolve } from 'node:path';
import { projectFolder } from './till-in-child.ts';

/** They need no servers. */
export const unitTests = [
  'src/**/*.test.ts',
  'client/src/**/*.test.ts',
  'console/src/**/*.test.ts',
  'sandbox/*.test.ts',
  'sandbox/!(test)/**/*.test.ts',
  'bench/{lab,load}/*.test.ts',
  'packages/*.test.ts',
  'test/*.test.ts',
];

/** The files that the patterns name, by name. A pattern that names none is a mistake. */
export function findTests(patterns: readonly string[], exclude: readonly string[] = []): readonly string[] {
  const filesOf = (pattern: string, without: readonly string[] = []) =>
    globSync(pattern, { cwd: projectFolder, exclude: ['**/node_modules/**', ...without] });
  const unknown = [...patterns, ...exclude].filter((pattern) => filesOf(pattern).length === 0);
  if (unknown.length > 0) throw new Error(`no such test file: ${unknown.join(', ')}`);
  const found = patterns.flatMap((pattern) => filesOf(pattern, exclude));
  return [...new Set(found.map((file) => relative(projectFolder, resolve(projectFolder, file))))].sort();
}

export function needsServers(file: string): boolean {
  return !unitTests.some((pattern) => matchesGlob(file, pattern));
}
