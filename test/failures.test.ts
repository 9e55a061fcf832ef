import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { describeFailures, failureOf } from './support/failures.ts';
import { findProgram, skipWithout } from './support/require-program.ts';
import { filesVariable, testArgs } from './support/run-files.ts';
import { describeSkips, skipsOf } from './support/skips.ts';
import { projectFolder } from './support/till-in-child.ts';

const source = `
  import assert from 'node:assert/strict';
  import { test } from 'node:test';
  test('passes', () => {});
  test('has parts', (t) => t.test('a part fails', () => assert.equal('left', 'right')));
  test('fails as well', () => assert.fail('the second reason'));
`;

function run(content: string): { readonly output: string; readonly errors: string } {
  const folder = mkdtempSync(join(tmpdir(), 'till-failures-'));
  const file = join(folder, 'some.test.mjs');
  writeFileSync(file, content);
  const args = ['--test', '--test-isolation=none', '--test-reporter=spec', file];
  // Node runs no tests within tests, unless the variable that says so is missing.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
  rmSync(folder, { recursive: true });
  return { output: stdout, errors: stderr };
}

test('the end of a run repeats why tests failed, and their names last', () => {
  const { output, errors } = run(source);
  const failure = failureOf('some group', output, errors);
  assert.equal(failure.names.length, 2);
  const [first, second] = failure.names;
  assert.match(String(first), /^some group: a part fails/);
  assert.match(String(second), /^some group: fails as well/);
  const report = describeFailures([failure, { names: ['types'], output: 'a.ts: wrong' }]);
  assert.match(report, /'left' !== 'right'/);
  assert.match(report, /the second reason/);
  assert.match(report, /a\.ts: wrong/);
  assert.ok(report.endsWith(`✖ ${first}\n✖ ${second}\n✖ types\n`), report);
});

test('of a process that ended before its tests did, the last words are repeated', () => {
  const { output, errors } = run('process.stderr.write("no memory\\n"); process.exit(3);');
  const failure = failureOf('some group', output, errors);
  assert.deepEqual(failure.names, ['some group']);
  assert.match(failure.output, /no memory/);
});

test('the end of a run lists what was skipped, and what to install for it', () => {
  const { output } = run(`
    import { describe, test } from 'node:test';
    test('passes (1ms) # as it is', () => {});
    test('is skipped', { skip: 'needs jq: apt-get install jq' }, () => {});
    describe('a suite', { skip: 'needs chromium: apt-get install chromium' }, () => test('of one', () => {}));
    describe('a suite that runs', () => {
      test('but not all of it', { skip: 'needs chromium: apt-get install chromium' }, () => {});
    });
  `);
  assert.equal(
    describeSkips(skipsOf(output)),
    '\n── what was skipped, and what it needs\n' +
      '     2  needs chromium: apt-get install chromium\n' +
      '     1  needs jq: apt-get install jq\n',
  );
  assert.equal(describeSkips([]), '');
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

test('a file that cannot be loaded fails, even if it has declared a test before', () => {
  const folder = mkdtempSync(join(projectFolder, 'node_modules/.cache/till-failures-'));
  writeFileSync(
    join(folder, 'some.test.mjs'),
    "import { test } from 'node:test'; test('passes', () => {}); throw new Error('the reason');",
  );
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const files = JSON.stringify([relative(projectFolder, join(folder, 'some.test.mjs'))]);
  const { status, stdout } = spawnSync(process.execPath, testArgs, {
    cwd: projectFolder,
    encoding: 'utf8',
    env: { ...env, [filesVariable]: files },
  });
  rmSync(folder, { recursive: true });
  assert.equal(status, 1);
  assert.match(stdout, /✔ passes[\s\S]*✖ \S+some\.test\.mjs cannot be loaded[\s\S]*the reason/);
});
