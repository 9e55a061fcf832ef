import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type TestContext, test } from 'node:test';
import { findProgram, skipWithout } from './support/require-program.ts';
import { runFiles } from './support/run-files.ts';
import { describeFailures, describeSkips, describeSlowest } from './support/run-report.ts';
import { projectFolder } from './support/till-in-child.ts';

const source = `
  import assert from 'node:assert/strict';
  import { test } from 'node:test';
  test('passes', () => {});
  test('has parts', (t) => t.test('a part fails', () => assert.equal('left', 'right')));
  test('fails as well', () => assert.fail('the second reason'));
`;

/** Runs files of these contents, one after the other in one process. */
async function run(t: TestContext, ...contents: readonly string[]) {
  const folder = mkdtempSync(join(projectFolder, 'node_modules/.cache/till-report-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = contents.map((content, index) => {
    const file = join(folder, `${index}.test.mjs`);
    writeFileSync(file, content);
    return relative(projectFolder, file);
  });
  return { ...(await runFiles(files, 1, () => {})), files };
}

test('the end of a run repeats why tests failed, and their names last', async (t) => {
  const { failures, files } = await run(t, source);
  const [failure] = failures;
  assert.ok(failure !== undefined && failures.length === 1);
  assert.equal(failure.names.length, 2);
  const [first, second] = failure.names;
  assert.ok(first?.startsWith(`${files[0]}: a part fails`), first);
  assert.ok(second?.startsWith(`${files[0]}: fails as well`), second);
  const report = describeFailures([failure, { names: ['types'], output: 'a.ts: wrong' }]);
  assert.match(report, /'left' !== 'right'/);
  assert.match(report, /the second reason/);
  assert.match(report, /a\.ts: wrong/);
  assert.ok(report.endsWith(`✖ ${first}\n✖ ${second}\n✖ types\n`), report);
  assert.equal(describeFailures([]), '');
});

test('of a process that ended before its tests did, the last words are repeated, and other files run', async (t) => {
  const passes = "import { test } from 'node:test'; test('passes', () => {});";
  const { failures, files, output } = await run(
    t,
    passes,
    'process.stderr.write("no memory\\n"); process.exit(0);',
    passes,
  );
  assert.deepEqual(
    failures.map(({ names }) => names),
    [[files[1]]],
  );
  assert.match(failures[0]?.output ?? '', /no memory\n✖ .*ended its process/);
  assert.deepEqual(output.match(/✔ passes/g)?.length, 2);
});

test('a process that leaves another one behind does not hang the run', async (t) => {
  const { failures, files } = await run(
    t,
    `import { spawn } from 'node:child_process';
     const { pid } = spawn('sleep', ['3600'], { stdio: ['ignore', 'ignore', 'inherit'] });
     process.stderr.write('left ' + pid);
     process.exit(0);`,
  );
  assert.deepEqual(failures[0]?.names, files);
  const [, pid] = /left (\d+)/.exec(failures[0]?.output ?? '') ?? assert.fail(failures[0]?.output);
  process.kill(Number(pid));
});

test('a file that cannot be loaded fails, even if it has declared a test before', async (t) => {
  const { failures, files } = await run(
    t,
    "import { test } from 'node:test'; test('passes', () => {}); throw new Error('the reason');",
  );
  assert.ok(failures[0]?.names.some((name) => name.includes(`${files[0]} (`)));
  assert.match(failures[0]?.output ?? '', /the reason/);
});

test('the hooks of a file apply to its own tests only', async (t) => {
  const { failures } = await run(
    t,
    `import { after, beforeEach, test } from 'node:test';
     beforeEach(() => (globalThis.before = (globalThis.before ?? 0) + 1));
     after(() => (globalThis.hasEnded = true));
     test('passes', () => {});`,
    `import assert from 'node:assert'; import { test } from 'node:test';
     test('comes later', () => assert.deepEqual([globalThis.before, globalThis.hasEnded], [1, true]));`,
  );
  assert.deepEqual(failures, []);
});

test('an error that no test caught fails its file, and the next file runs', async (t) => {
  const { failures, files, output } = await run(
    t,
    `import { setTimeout as wait } from 'node:timers/promises'; import { test } from 'node:test';
     test('throws later', async () => {
       setTimeout(() => { throw new Error('the late reason'); }, 1);
       await wait(10);
     });
     test('rejects', async () => {
       void Promise.reject(new Error('the unhandled reason'));
       await wait(1);
     });`,
    "import { test } from 'node:test'; test('passes', () => {});",
  );
  assert.ok(failures[0]?.names.some((name) => name.includes(`${files[0]} (`)));
  assert.match(failures[0]?.output ?? '', /the late reason.+the unhandled reason/s);
  assert.match(output, /✔ passes/);
});

test('the end of a run lists what was skipped, and what to install for it', async (t) => {
  const { output } = await run(
    t,
    `
    import { describe, test } from 'node:test';
    test('passes (1ms) # as it is', () => {});
    test('is skipped', { skip: 'needs jq: apt-get install jq' }, () => {});
    describe('a suite', { skip: 'needs chromium: apt-get install chromium' }, () => test('of one', () => {}));
    describe('a suite that runs', () => {
      test('but not all of it', { skip: 'needs chromium: apt-get install chromium' }, () => {});
    });
  `,
  );
  assert.equal(
    describeSkips(output),
    '\n── what was skipped, and what it needs\n' +
      '     2  needs chromium: apt-get install chromium\n' +
      '     1  needs jq: apt-get install jq\n',
  );
  assert.equal(describeSkips(''), '');
});

test('the end of a run lists the slowest tests with their files', () => {
  const output =
    '▶ a.test.ts\n  ✔ short (9.5ms)\n  ▶ long\n    ✔ part (70000ms)\n  ✔ long (71234.5ms)\n✔ a.test.ts (72000ms)\n' +
    '▶ b.test.ts\n  ✖ middle (2000ms)\n✖ b.test.ts (2100ms)\n';
  assert.equal(
    describeSlowest(output),
    '\n── the slowest tests\n  71.2 s  a.test.ts: long\n   2.0 s  b.test.ts: middle\n   0.0 s  a.test.ts: short\n',
  );
});

test('what is not installed is skipped with what to install, and must be there in CI', (t) => {
  const { CI: before } = process.env;
  t.after(() => {
    if (before === undefined) delete process.env['CI'];
    else process.env['CI'] = before;
  });
  const need = { what: 'a program', install: 'apt-get install it' };
  assert.equal(findProgram('no-program-has-this-name'), undefined);
  assert.match(findProgram('no-program-has-this-name', 'sh') ?? '', /\/sh$/);
  delete process.env['CI'];
  assert.equal(skipWithout(true, need), false);
  assert.equal(skipWithout(false, need), 'needs a program: apt-get install it');
  process.env['CI'] = 'true';
  assert.equal(skipWithout(true, need), false);
  assert.throws(() => skipWithout(false, need), /must run in CI.*apt-get install it/);
});

test('`npm run t` gives the verdict of a file, whatever Node started npm', () => {
  const run = (file: string) =>
    spawnSync('npm', ['run', '-s', 't', file], { cwd: projectFolder, encoding: 'utf8' });
  const passing = run('src/core/model/entitlement.test.ts');
  assert.equal(passing.status, 0, passing.stdout + passing.stderr);
  assert.match(passing.stdout, /^✔ src\/core\/model\/entitlement\.test\.ts/m);
  const unknown = run('src/core/model/no-such.test.ts');
  assert.equal(unknown.status, 1);
  assert.match(unknown.stderr, /no such test file: src\/core\/model\/no-such\.test\.ts/);
});
