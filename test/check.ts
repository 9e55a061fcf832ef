import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { effortVariable } from './support/effort.ts';

/**
 * Everything that must hold before a change lands. `quick` leaves out what needs servers; `all` is the whole of it;
 * `faults` runs the tests of faults, load and hostile input in their long form, one file at a time. Names of files
 * after the mode run just these tests, with the servers that they need.
 */
const quickTests = [
  'src/**/*.test.ts',
  'sandbox/**/*.test.ts',
  'bench/{lab,load}/*.test.ts',
  'test/*.test.ts',
];
/** They wait more than they work, so that two at a time fit even on one core. */
const sharingTests = [...quickTests, 'test/!(faults|load)/**/*.test.ts'];
const sharingConcurrency = Math.max(2, availableParallelism() - 1);
/** They break things and measure how long it takes, so they have the machine to themselves. */
const lonelyTests = ['test/{faults,load}/**/*.test.ts'];
const faultTests = ['test/{faults,load,fuzz,security}/**/*.test.ts'];
const withServers = ['--test-global-setup=test/support/global-setup.ts'];

const { positionals } = parseArgs({ allowPositionals: true });
const [mode, ...files] = positionals;

if (files.length === 0 && mode !== 'faults') {
  step('format and lint', 'biome', ['ci', '--error-on-warnings', '.']);
  step('types', 'tsc', []);
}
if (mode === 'quick') step('quick tests', process.execPath, ['--test', ...quickTests]);
else if (mode === 'faults') {
  process.env[effortVariable] = 'long';
  test('faults, load and hostile input', files.length > 0 ? files : faultTests, 1);
} else if (files.length > 0) test('these tests', files, 1);
else {
  test('tests', sharingTests, sharingConcurrency);
  test('tests of faults and load', lonelyTests, 1);
}

/** With the servers that they need. */
function test(name: string, patterns: readonly string[], concurrency: number): void {
  step(name, process.execPath, ['--test', `--test-concurrency=${concurrency}`, ...withServers, ...patterns]);
}

/** Runs one step and, if it fails, ends with its status: what comes after would only bury the reason. */
function step(name: string, command: string, args: readonly string[]): void {
  process.stdout.write(`\n── ${name}\n`);
  const startedAtMs = performance.now();
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  if (error !== undefined) process.stderr.write(`${error.message}\n`);
  if (status !== 0) process.exit(status ?? 1);
  process.stdout.write(`── ${name}: ${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s\n`);
}
