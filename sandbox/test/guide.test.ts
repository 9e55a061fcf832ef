import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { useSandbox } from './support.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const guide = await readFile(join(root, 'docs/testing-with-the-sandbox.md'), 'utf8');

/** The files of the guide: a name in backticks, then a block of code. */
const files = new Map(
  [...guide.matchAll(/^`([\w.]+)`\n\n```\w+\n(.*?)^```$/gms)].map(([, name = '', content = '']) => [
    name,
    content,
  ]),
);

/** A folder with the guide's files, and a sandbox for them. */
async function useGuide(t: TestContext): Promise<(command: string, args: string[]) => Promise<string>> {
  const folder = await mkdtemp(join(tmpdir(), 'till-guide-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, content] of files) await writeFile(join(folder, name), content);
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const { sandbox } = await useSandbox(t);
  // The runner of this test would take over the output of a runner inside it.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return async (command, args) => {
    const { stdout, stderr } = await promisify(execFile)(command, args, {
      cwd: folder,
      env: { ...env, STRIPE_API_BASE: sandbox.url },
    });
    return `${stdout}${stderr}`;
  };
}

test('the guide has the files that these tests run', () => {
  assert.deepEqual(
    [...files.keys()],
    ['billing.mjs', 'billing.test.mjs', 'test_billing.py', 'billing_test.rb'],
  );
});

test("the guide's Node example passes", async (t) => {
  const run = await useGuide(t);
  const output = await run(process.execPath, ['--test', '--test-reporter=tap']);
  assert.match(output, /^# pass 3$/m);
  assert.match(output, /^# fail 0$/m);
});

const python = ['python3', '/usr/bin/python3'].find(
  (command) => spawnSync(command, ['-c', 'import stripe']).status === 0,
);

test("the guide's Python example passes", {
  skip: python === undefined && 'needs the stripe package for Python: apt-get install python3-stripe',
}, async (t) => {
  const run = await useGuide(t);
  assert.match(await run(String(python), ['-m', 'unittest']), /Ran 3 tests[\s\S]*OK/);
});

const hasRuby = spawnSync('ruby', ['-e', 'require "stripe"; require "minitest"']).status === 0;

test("the guide's Ruby example passes", {
  skip: !hasRuby && 'needs the stripe gem for Ruby: gem install stripe minitest',
}, async (t) => {
  const run = await useGuide(t);
  assert.match(await run('ruby', ['billing_test.rb']), /1 runs, 2 assertions, 0 failures, 0 errors/);
});
