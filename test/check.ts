import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { effortVariable } from './support/effort.ts';
import { globalSetup, globalTeardown } from './support/global-setup.ts';
import { installPackages } from './support/install-packages.ts';
import { keepFilesInMemory } from './support/memory-folder.ts';
import { runFiles } from './support/run-files.ts';
import {
  describeFailures,
  describeSkips,
  describeSlowest,
  type Failure,
  failureOf,
} from './support/run-report.ts';
import { findTests, unitTests } from './support/test-files.ts';

/**
 * Everything that must hold before a change lands. `quick` leaves out what needs servers; `service` is what the service
 * guarantees; `all` adds what is delivered with it, and what measures time; `faults` runs the tests of faults, load,
 * hostile and random input in their long form, one file at a time. Names of files after the mode run just these tests,
 * with the servers that they need. What is not installed is skipped, and listed at the end; with `CI=true` it fails.
 */
const folders = { faults: 'faults', load: 'load' };
/**
 * They measure how long Till takes to notice a fault and to recover, so they don't share the machine with the others.
 */
const timedFaults =
  'disk-full|failover|poolers|postgres|processor-faults|redis|rig|rolling-restart|till-faults';
/**
 * Only in `npm run test:faults`: beside other tests, a cluster of servers changes its primary by itself. Both need
 * Debian's servers of PostgreSQL.
 */
const debianTests = 'cluster|older-postgres';
const faultTests = [`test/${folders.faults}/@(${timedFaults}).test.ts`];
const serverTests = [
  `test/!(${Object.values(folders).join('|')})/**/*.test.ts`,
  `test/${folders.faults}/!(${timedFaults}|${debianTests}).test.ts`,
  'sandbox/test/**/*.test.ts',
];
/**
 * What is delivered, and how it is operated: packages, images, charts, guides, examples, demo data, pages in a browser,
 * the command line, starts and stops, several processes, replicas, upgrades, restores. Only in `all`: they build and
 * start a lot, and a change of the service that breaks one of them mostly breaks another test too.
 */
const deliveredTests = [
  'test/{browser,deploy,docs,examples,packages}/**/*.test.ts',
  'test/acceptance/{restore,seed,stripe-cli}.test.ts',
  'test/client/package.test.ts',
  'test/faults/{backfill,processes,replica,upgrade}.test.ts',
  'test/process/{cli,doctor,going-live,npm,start-stop,webhooks-setup}.test.ts',
  'test/platform/{embedded-postgres,replica}.test.ts',
  'sandbox/test/{browser*,browser-library/**/*}.test.ts',
];
/** It measures latencies under load, so it has the machine to itself. */
const loadTests = [`test/${folders.load}/**/*.test.ts`];
const longTests = [
  '{test/{faults,load,fuzz,security,processor,contract,browser},sandbox/test}/**/*.test.ts',
  'test/webhooks/{model,kills,permutations,event-list,events,retention-locks,restore,slow-reads}.test.ts',
  'test/events/{delivery-order,feed-order,streams}.test.ts',
  'test/api/{changes-while-due,lists,matrix,odd-responses,preview-refusals,previewed-bills}.test.ts',
  'test/api/{processor-failures,refused-writes,unpaid-subscriptions}.test.ts',
  'test/{acceptance/{restore,seed},client/package,docs/examples,import/large,packages/{release,sandbox,server}}.test.ts',
];
/** Many tests wait more than they work, so three more at a time than there are cores keep the cores busy. */
const serverConcurrency = availableParallelism() + 3;
const faultConcurrency = 2;
/**
 * What takes longest starts first, so that none of it runs alone at the end. The rest follows by name. Before all come
 * those that measure the heap: once a process has run many files, collecting its garbage takes seconds.
 */
const longestFirst = [
  'sandbox/test/world-journals.test.ts',
  'sandbox/test/memory.test.ts',
  'test/fuzz/two-processes.test.ts',
  'test/browser/every-page.test.ts',
  'test/examples/shop.test.ts',
  'test/faults/processes.test.ts',
  'test/faults/lost-pages.test.ts',
  'test/faults/sandbox-reset.test.ts',
  'test/faults/lost-tail.test.ts',
  'test/process/start-stop.test.ts',
  'test/faults/upgrade.test.ts',
  'test/packages/sandbox.test.ts',
  'test/docs/examples.test.ts',
  'test/packages/release.test.ts',
  'test/acceptance/seed.test.ts',
  'test/platform/embedded-postgres.test.ts',
  'test/deploy/image.test.ts',
  'test/acceptance/restore.test.ts',
  'test/webhooks/permutations.test.ts',
  'test/faults/checkout-crashes.test.ts',
  'test/faults/crash-walk.test.ts',
  'test/security/body-costs.test.ts',
  'test/fuzz/api.test.ts',
  'test/webhooks/restore.test.ts',
  'test/webhooks/recovery.test.ts',
  'test/security/erasure.test.ts',
  'test/faults/checkout-shoppers.test.ts',
  'test/api/matrix.test.ts',
  'test/api/openapi.test.ts',
  'test/process/processor-account.test.ts',
  'test/faults/plan-groups.test.ts',
  'test/faults/subscription-changes.test.ts',
  'test/api/preview-refusals.test.ts',
  'test/api/list-walk.test.ts',
  'test/usage/windows.test.ts',
  'test/security/hostile-crowds.test.ts',
  'test/faults/idempotency.test.ts',
  'test/faults/usage-kills.test.ts',
  'test/faults/replica.test.ts',
  'test/docs/guide-application.test.ts',
  'test/faults/till-faults.test.ts',
  'test/faults/processor-faults.test.ts',
  'test/faults/rolling-restart.test.ts',
];

const root = resolve(import.meta.dirname, '..');
// Hundreds of processes load the same source; see src/runtime/require-node.mjs.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/till');

const { positionals } = parseArgs({ allowPositionals: true });
const [mode, ...files] = positionals;
const failures: Failure[] = [];
/** All that the tests printed. */
let output = '';

if (mode === 'faults') process.env[effortVariable] = 'long';
// The long form uses the disk, as users do.
else keepFilesInMemory();
if (files.length === 0) {
  await Promise.all([
    test('tests without servers', unitTests, 1),
    mode === 'faults' ? undefined : checkSource(),
    ['quick', 'service'].includes(mode ?? '') ? undefined : installPackages(),
  ]);
}
if (mode !== 'quick' && failures.length === 0) {
  try {
    await globalSetup({ isWholeRun: mode !== 'faults' && files.length === 0 });
    if (files.length > 0) await test('these tests', files, 1);
    else if (mode === 'faults') await test('faults, load, hostile and random input', longTests, 1);
    else
      await test('tests with servers', serverTests, serverConcurrency, mode === 'all' ? [] : deliveredTests);
    if (mode === 'all' && files.length === 0) {
      await test('tests of faults', faultTests, faultConcurrency);
      await test('test of load', loadTests, 1);
    }
  } finally {
    await globalTeardown();
  }
}
process.stdout.write(describeSlowest(output) + describeSkips(output) + describeFailures(failures));
if (failures.length > 0) process.exitCode = 1;

async function checkSource(): Promise<void> {
  await check('format and lint', 'biome', ['ci', '--colors=off', '--error-on-warnings', '.']);
  // Several threads of the compiler each check the types that files share. One takes two thirds of their CPU time.
  await check('types', 'tsc', ['--singleThreaded']);
  await check('types of the console', 'tsc', ['-p', 'console', '--singleThreaded']);
  await check('types of the browser library', 'tsc', ['-p', 'sandbox/browser']);
  await check('types of the reference', 'tsc', ['-p', 'src/http/docs/page']);
}

/** Runs test files with the servers that they need. */
async function test(
  name: string,
  patterns: readonly string[],
  concurrency: number,
  exclude: readonly string[] = [],
): Promise<void> {
  // What comes after a failure would only bury the reason.
  if (failures.length > 0) return;
  const found = findTests(patterns, exclude);
  const longest = longestFirst.filter((file) => found.includes(file));
  const startedAtMs = performance.now();
  const ran = await runFiles([...new Set([...longest, ...found])], concurrency);
  failures.push(...ran.failures);
  output += ran.output;
  end(name, startedAtMs);
}

/** Runs a command and prints what it said when it has ended, so that it does not mix with what runs beside it. */
async function check(name: string, command: string, args: readonly string[]): Promise<void> {
  const startedAtMs = performance.now();
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const [[code], said, complaints] = await Promise.all([
    once(child, 'exit'),
    text(child.stdout),
    text(child.stderr),
  ]);
  process.stdout.write(said + complaints);
  if (code !== 0) failures.push(failureOf(name, said, complaints));
  end(name, startedAtMs);
}

function end(name: string, startedAtMs: number): void {
  process.stdout.write(`── ${name}: ${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s\n`);
}
