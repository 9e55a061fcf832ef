import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { effortVariable } from './effort.ts';
import { type Failure, failureOf } from './failures.ts';
import { skipsOf } from './skips.ts';
import { projectFolder } from './till-in-child.ts';

/** Several times what the slowest group takes on a busy machine: a process that never ends must not hang the run. */
const groupTimeoutMs = { short: 900_000, long: 10_800_000 };
/** Enough to see where the time goes. */
const slowestMax = 15;

/** Runs the test files that a variable of the environment lists in one process. */
export const filesVariable = 'TEST_FILES';
export const testArgs = [
  '--test',
  '--test-isolation=none',
  '--test-reporter=spec',
  'test/support/load-files.ts',
];

/** Test files that share a process. */
export interface FileGroup {
  readonly name: string;
  /** Paths in the project. */
  readonly files: readonly string[];
}

/**
 * Runs groups of test files, each group in a process of its own, in the order given. Prints what a group has to say
 * when it ends. Resolves with what failed, and with the reasons for what was skipped.
 */
export async function runFiles(
  groups: readonly FileGroup[],
  concurrency: number,
): Promise<{ readonly failures: readonly Failure[]; readonly skips: readonly string[] }> {
  const took: { readonly name: string; readonly ms: number }[] = [];
  const waiting = groups.values();
  const failures: Failure[] = [];
  const skips: string[] = [];
  const lane = async () => {
    // The lanes share the iterator, so that each group runs once.
    for (const { name, files } of waiting) {
      const startedAtMs = performance.now();
      const { output, failure } = await runGroup(name, files);
      if (failure !== undefined) failures.push(failure);
      skips.push(...skipsOf(output));
      took.push({ name, ms: performance.now() - startedAtMs });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  const slowest = took.toSorted((a, b) => b.ms - a.ms).slice(0, slowestMax);
  for (const { name, ms } of slowest)
    process.stdout.write(`   ${(ms / 1_000).toFixed(1).padStart(6)} s  ${name}\n`);
  return { failures, skips };
}

async function runGroup(
  name: string,
  files: readonly string[],
): Promise<{ readonly output: string; readonly failure: Failure | undefined }> {
  const child = spawn(process.execPath, testArgs, {
    cwd: projectFolder,
    env: { ...process.env, [filesVariable]: JSON.stringify(files) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Read here, because `npm run test:faults` sets the variable after this file is loaded.
  const timeoutMs = groupTimeoutMs[process.env[effortVariable] === 'long' ? 'long' : 'short'];
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  const [[code, signal], output, errors] = await Promise.all([
    once(child, 'exit'),
    text(child.stdout),
    text(child.stderr),
  ]);
  clearTimeout(timer);
  process.stdout.write(`\n▶ ${name}\n${output}`);
  const end = signal === null ? '' : `✖ ${name} was ended by ${signal}\n`;
  process.stdout.write(end);
  process.stderr.write(errors);
  return { output, failure: code === 0 ? undefined : failureOf(name, output, errors + end) };
}
