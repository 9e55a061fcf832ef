import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setImmediate } from 'node:timers/promises';
import { effortVariable } from './effort.ts';
import { type Failure, failureOf } from './run-report.ts';
import { projectFolder } from './till-in-child.ts';

/** Several times what the slowest file takes on a busy machine: a test that never ends must not hang the run. */
const fileTimeoutMs = { short: 900_000, long: 10_800_000 };
const workerArgs = ['--test-reporter=spec', 'test/support/test-worker.ts'];
/** The files of each share what one process starts or builds once: a browser, a Till with its objects, packages. */
const sharing = [
  /^test\/browser\//,
  /^(sandbox\/test\/browser-|test\/examples\/)/,
  /^test\/(packages\/s|client\/package)/,
];

export interface FilesRun {
  readonly failures: readonly Failure[];
  /** All that the processes printed. */
  readonly output: string;
}

/**
 * Runs test files in a few processes: a process that has finished a file takes the next one, because loading and
 * warming up the code takes as long as most files. Prints what a file has to say when it ends.
 */
export async function runFiles(
  files: readonly string[],
  concurrency: number,
  print: (text: string) => void = (text) => void process.stdout.write(text),
): Promise<FilesRun> {
  const groups = Map.groupBy(files, (file) => sharing.find((pattern) => pattern.test(file)) ?? file);
  const waiting = [...groups.values()];
  const failures: Failure[] = [];
  let output = '';
  const lane = async () => {
    // A process that ends early takes only its current file with it.
    while (waiting.length > 0) {
      const ran = await runWorker(waiting, print);
      output += ran.output;
      failures.push(...ran.failures);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
  return { failures, output };
}

/** Runs files in one process, group by group, until none is waiting or the process ends. */
async function runWorker(waiting: string[][], print: (text: string) => void): Promise<FilesRun> {
  const child = spawn(process.execPath, workerArgs, { cwd: projectFolder, stdio: ['pipe', 'pipe', 'pipe'] });
  // Writing to a process that has ended fails. Its end is what counts.
  child.stdin.on('error', () => {});
  // Read here, because `npm run test:faults` sets the variable after this file is loaded.
  const timeoutMs = fileTimeoutMs[process.env[effortVariable] === 'long' ? 'long' : 'short'];
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  let group: string[] = [];
  let file = '';
  const next = () => {
    timer.refresh();
    if (group.length === 0) group = waiting.shift() ?? [];
    file = group.shift() ?? '';
    if (file === '') child.stdin.end();
    else child.stdin.write(`${file}\n`);
  };
  let output = '';
  let said = '';
  const exited = once(child, 'exit');
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text;
  });
  next();
  for await (const line of createInterface({ input: child.stdout })) {
    said += `${line}\n`;
    // The reporter prints this when the suite of the file has ended.
    const hasEnded = file !== '' && /^[✔✖﹣] /.test(line) && line.startsWith(`${file} (`, 2);
    if (!hasEnded) continue;
    print(said);
    output += said;
    said = '';
    next();
  }
  const [code, signal] = await exited;
  clearTimeout(timer);
  if (group.length > 0) waiting.unshift(group);
  // What it wrote is there at the next look. A process that it left behind may keep its standard error open.
  await setImmediate();
  child.stderr.destroy();
  const end = file === '' ? '' : `✖ ${file} ended its process (${signal ?? code})\n`;
  print(`${said}${errors}${end}`);
  output += said;
  const hasFailed = code !== 0 || end !== '';
  return { failures: hasFailed ? [failureOf(file || 'a test process', output, errors + end)] : [], output };
}
