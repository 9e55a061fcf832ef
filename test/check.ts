import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { effortVariable } from './support/effort.ts';
import { describeFailures, type Failure, failureOf } from './support/failures.ts';
import { globalSetup, globalTeardown } from './support/global-setup.ts';
import { installPackages } from './support/install-packages.ts';
import { keepFilesInMemory } from './support/memory-folder.ts';
import { type FileGroup, filesVariable, runFiles, testArgs } from './support/run-files.ts';
import { describeSkips, skipsOf } from './support/skips.ts';

/**
 * Everything that must hold before a change lands. `quick` leaves out what needs servers; `all` is the whole of it;
 * `faults` runs the tests of faults, load, hostile and random input in their long form, one file at a time. Names of files
 * after the mode run just these tests, with the servers that they need. What is not installed is skipped, and listed at the
 * end; with `CI=true` it fails.
 */
const unitTests = [
  'src/**/*.test.ts',
  'client/src/**/*.test.ts',
  'console/src/**/*.test.ts',
  'sandbox/**/*.test.ts',
  'bench/{lab,load}/*.test.ts',
  'test/*.test.ts',
];
const folders = { faults: 'faults', load: 'load' };
/** They measure how long Till takes to notice a fault and to recover, so they don't share the machine with the others. */
const timedFaults =
  'disk-full|failover|poolers|postgres|processor-faults|redis|rig|rolling-restart|till-faults';
const faultTests = [`test/${folders.faults}/@(${timedFaults}).test.ts`];
const serverTests = [
  `test/!(${Object.values(folders).join('|')})/**/*.test.ts`,
  `test/${folders.faults}/!(${timedFaults}).test.ts`,
];
/** It measures latencies under load, so it has the machine to itself. */
const loadTests = [`test/${folders.load}/**/*.test.ts`];
const longTests = [
  'test/{faults,load,fuzz,security,sandbox,processor,contract}/**/*.test.ts',
  'test/webhooks/{model,kills,permutations,event-list,retention-locks}.test.ts',
  'test/events/{feed-order,streams}.test.ts',
  'test/api/{lists,odd-responses}.test.ts',
];
/** Most tests wait as much as they work, so two more at a time than there are cores keep the cores busy. */
const serverConcurrency = availableParallelism() + 2;
const faultConcurrency = 2;
/**
 * Test files that share a process, because loading and warming up the code takes as long as most of their tests. They
 * run one after the other. A file that is in no group has a process of its own.
 */
const sharedProcesses: Readonly<Record<string, readonly string[]>> = {
  'the API, a to c': ['test/api/[a-c]*.test.ts'],
  'the API, d to o': ['test/api/[d-o]*.test.ts'],
  'the API, p': ['test/api/p*.test.ts'],
  'the API, q to z': ['test/api/[q-z]*.test.ts'],
  'webhook events': [
    'test/webhooks/{answers,concurrency,events,inbox,operators,poison,receive,worker}.test.ts',
  ],
  'events for applications': ['test/events/*.test.ts'],
  'mirrors of events': [
    'test/webhooks/{charges,disputes,external-ids,lost-disputes,lost-rows,owned-metadata}.test.ts',
    'test/webhooks/{subscription-charges,subscription-terms}.test.ts',
  ],
  'recovery and restore': ['test/webhooks/{recovery,restore}.test.ts'],
  retention: ['test/webhooks/{event-list,retention,retention-locks}.test.ts'],
  security: ['test/security/*.test.ts'],
  platform: [
    'test/platform/{deferred-indexes,migrate,owner-lock,partitioned-indexes,poolers,postgres}.test.ts',
  ],
  processes: [
    'test/process/{cli,doctor,going-live,privacy,processor-account,services-stop,webhooks-setup}.test.ts',
  ],
  'hostile input': ['test/fuzz/*.test.ts'],
  claims: [
    'test/faults/{claim-fence,connections,frozen-transaction,idempotency,key-names,key-storm,overtaking,sweeper,takeover}.test.ts',
  ],
  'killed payments': ['test/faults/{crash-walk,declined-payments}.test.ts'],
  'killed changes': ['test/faults/{external-ids,plan-groups,planned-changes,subscription-changes}.test.ts'],
  sandbox: ['test/sandbox/*.test.ts'],
  'the console in a browser': ['test/browser/*.test.ts'],
  'the adapter': ['test/{contract,processor}/*.test.ts'],
  'the client': ['test/client/*.test.ts'],
  'the import': ['test/import/*.test.ts'],
  deployment: ['test/deploy/*.test.ts'],
};
/** What takes longest starts first, so that none of it runs alone at the end. The rest follows by name. */
const longestFirst = [
  'the console in a browser',
  'recovery and restore',
  'the client',
  'claims',
  'killed changes',
  'webhook events',
  'the API, d to o',
  'the API, p',
  'the API, q to z',
  'hostile input',
  'killed payments',
  'sandbox',
  'test/docs/examples.test.ts',
  'the import',
  'deployment',
  'test/platform/backup.test.ts',
  'test/process/start-stop.test.ts',
  'security',
  'retention',
  'processes',
  'mirrors of events',
  'test/webhooks/model.test.ts',
  'the API, a to c',
  'test/platform/embedded-postgres.test.ts',
  'test/faults/upgrade.test.ts',
  'test/acceptance/restore.test.ts',
  'test/webhooks/recovery-progress.test.ts',
  'test/webhooks/kills.test.ts',
  'test/webhooks/permutations.test.ts',
  'test/faults/till-faults.test.ts',
  'test/faults/rolling-restart.test.ts',
  'test/faults/processor-faults.test.ts',
  'test/faults/postgres.test.ts',
];

const root = resolve(import.meta.dirname, '..');
// Hundreds of processes load the same source; see src/platform/require-node.mjs.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/till');

const { positionals } = parseArgs({ allowPositionals: true });
const [mode, ...files] = positionals;
/** A run of everything shares what its many test files need. */
const isShared = mode === 'all' && files.length === 0;
const failures: Failure[] = [];
/** Why tests were skipped, one reason for each. */
const skips: string[] = [];

if (mode === 'faults') process.env[effortVariable] = 'long';
// The long form uses the disk, as users do.
else keepFilesInMemory();
if (files.length === 0) {
  // In one process, because most of these files take less time than a process needs to start.
  const inOneProcess = { [filesVariable]: JSON.stringify(globSync(unitTests, { cwd: root }).sort()) };
  await Promise.all([
    step('tests without servers', process.execPath, testArgs, inOneProcess),
    mode === 'faults' ? undefined : checkSource(),
    mode === 'quick' ? undefined : installPackages(),
  ]);
}
if (mode !== 'quick' && failures.length === 0) {
  try {
    await globalSetup({ isWholeRun: isShared });
    if (files.length > 0) await test('these tests', files, 1);
    else if (mode === 'faults') await test('faults, load, hostile and random input', longTests, 1);
    else {
      await test('tests with servers', serverTests, serverConcurrency);
      await test('tests of faults', faultTests, faultConcurrency);
      await test('test of load', loadTests, 1);
    }
  } finally {
    await globalTeardown();
  }
}
process.stdout.write(describeSkips(skips));
if (failures.length > 0) {
  process.exitCode = 1;
  process.stdout.write(describeFailures(failures));
}

async function checkSource(): Promise<void> {
  await step('format and lint', 'biome', ['ci', '--error-on-warnings', '.']);
  await step('types', 'tsc', []);
  await step('types of the console', 'tsc', ['-p', 'console']);
}

/** Runs test files with the servers that they need. */
async function test(name: string, patterns: readonly string[], concurrency: number): Promise<void> {
  // What comes after a failure would only bury the reason.
  if (failures.length > 0) return;
  const unknown = patterns.filter((pattern) => globSync(pattern, { cwd: root }).length === 0);
  if (unknown.length > 0) throw new Error(`no such test file: ${unknown.join(', ')}`);
  const groups = toGroups(globSync([...patterns], { cwd: root }).sort(), isShared);
  process.stdout.write(`\n── ${name}\n`);
  const startedAtMs = performance.now();
  const ran = await runFiles(groups, concurrency);
  failures.push(...ran.failures);
  skips.push(...ran.skips);
  end(name, startedAtMs);
}

/** Puts files into their shared processes, if any are to be shared, and what takes longest first. */
function toGroups(files: readonly string[], areShared: boolean): readonly FileGroup[] {
  const shared = Object.entries(areShared ? sharedProcesses : {}).map(([name, patterns]) => {
    const members = new Set(globSync([...patterns], { cwd: root }));
    return { name, files: files.filter((file) => members.has(file)) };
  });
  const single = files
    .filter((file) => !shared.some((group) => group.files.includes(file)))
    .map((file) => ({ name: file, files: [file] }));
  const rank = (name: string) =>
    longestFirst.includes(name) ? longestFirst.indexOf(name) : longestFirst.length;
  return [...shared.filter((group) => group.files.length > 0), ...single].toSorted(
    (a, b) => rank(a.name) - rank(b.name),
  );
}

/** Runs a command and prints what it said when it has ended, so that commands can run side by side. */
async function step(name: string, command: string, args: readonly string[], variables = {}): Promise<void> {
  const startedAtMs = performance.now();
  const env = { ...process.env, ...variables };
  const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [status, said, complaints] = await Promise.all([
    once(child, 'exit').then(([code]) => Number(code ?? 1)),
    text(child.stdout),
    text(child.stderr),
  ]);
  process.stdout.write(`\n── ${name}\n${said}`);
  process.stderr.write(complaints);
  if (status !== 0) failures.push(failureOf(name, said, complaints));
  skips.push(...skipsOf(said));
  end(name, startedAtMs);
}

function end(name: string, startedAtMs: number): void {
  process.stdout.write(`── ${name}: ${((performance.now() - startedAtMs) / 1_000).toFixed(1)} s\n`);
}
