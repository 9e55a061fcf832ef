import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { describeFailures, failureOf } from './support/failures.ts';

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
