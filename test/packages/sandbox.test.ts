import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { effort } from '../support/effort.ts';
import { nodes, oldestNodeTypes, oldestRange, skipWithoutOlderNodes } from '../support/older-nodes.ts';
import { projectFolder } from '../support/till-in-child.ts';
import { bytesIn, filesOf, installLibraries, testVersion } from './support/installed-package.ts';

const run = promisify(execFile);
/** A promise of the package: it is quick to install in every run of CI. */
const bytesMax = 3_000_000;
/** Ten times what the slowest command takes on a busy machine. */
const timeoutMs = 300_000;

const readme = readFileSync(join(projectFolder, 'packages/sandbox/README.md'), 'utf8');
/** In the short form, the command runs under the oldest Node only. The recipe loads the same files under each. */
const nodesOfCommand = nodes.slice(0, effort({ short: 1, long: nodes.length }));
/**
 * The compiler of this checkout. The long form also has the older one of the client, which takes five times as long.
 */
const compilerHomes = effort({ short: ['.'], long: ['.', 'client'] });
/** The recipes: a name in backticks, then a block of code. */
const recipes = new Map(
  [...readme.matchAll(/^`([\w./]+)`\n\n```\w+\n(.*?)^```$/gms)].map(([, name = '', code = '']) => [
    name,
    code,
  ]),
);
const readRecipe = (name: string) => recipes.get(name) ?? assert.fail(`no recipe ${name}`);

const skip = skipWithoutOlderNodes();
/** The project, and a folder in it for the files of these tests. */
let project: string;
let folder: string;
before(async () => {
  if (skip !== false) return;
  project = await installLibraries();
  folder = join(project, 'sandbox');
  await mkdir(folder);
  await symlink(join(projectFolder, 'node_modules/stripe'), join(project, 'node_modules/stripe'));
});

test('the package has what tests need, nothing else, and less than 3 MB', { skip }, async () => {
  const files = await filesOf(project, 'sandbox');
  const bytes = await bytesIn(join(project, 'node_modules/@till/sandbox'));
  const others = files.filter((path) => !/^dist\/([a-z-]+\/)*[a-z-]+\.(js|mjs|css|d\.ts|d\.mts)$/.test(path));
  assert.deepEqual(others, ['LICENSE', 'README.md', 'dist/README.md', 'package.json']);
  assert.ok(files.includes('dist/sandbox.js') && files.includes('dist/sandbox.d.ts'));
  assert.ok(bytes < bytesMax, `${bytes} bytes`);
  const manifest = JSON.parse(
    await readFile(join(project, 'node_modules/@till/sandbox/package.json'), 'utf8'),
  );
  assert.deepEqual(
    [manifest.version, manifest.dependencies, manifest.scripts, manifest.engines.node],
    [testVersion, undefined, undefined, await oldestRange()],
  );
});

test('its source uses nothing that is newer than Node 20', { skip }, async () => {
  const types = ['--typeRoots', oldestNodeTypes(), '--types', 'node'];
  await compile(join(projectFolder, 'packages/sandbox/tsconfig.json'), [
    '--noCheck',
    'false',
    '--noEmit',
    ...types,
  ]);
});

test('a test in TypeScript compiles, without other types, and mistakes in it do not', {
  skip,
}, async () => {
  await cp(join(projectFolder, 'test/packages/consumer/sandbox.ts'), join(folder, 'consumer.ts'));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
  for (const home of compilerHomes)
    await compile(folder, [], join(projectFolder, home, 'node_modules/typescript/bin/tsc'));
});

for (const { major, path } of nodes) {
  test(`the recipe for Node's test runner passes under Node ${major}`, { skip }, async () => {
    await writeFile(join(folder, 'billing.test.mjs'), readRecipe('billing.test.mjs'));
    const { stdout } = await run(path, ['--test', '--test-reporter=tap', 'billing.test.mjs'], {
      cwd: folder,
      env: ownEnvironment(path),
      timeout: timeoutMs,
    });
    assert.match(stdout, /^# pass 1$/m);
  });
}

for (const { major, path } of nodesOfCommand)
  test(`the command serves the API, and ends on SIGTERM, under Node ${major}`, { skip }, async (t) => {
    const child = spawn('node_modules/.bin/till-sandbox', ['--port', '0'], {
      cwd: project,
      env: ownEnvironment(path),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => child.kill('SIGKILL'));
    const [line] = await once(createInterface(child.stdout), 'line');
    const [url] = /http:\S+\d/.exec(String(line)) ?? assert.fail(String(line));
    const headers = { authorization: 'Bearer sk_test_x', 'idempotency-key': 'first' };
    const created = await fetch(`${url}/v1/customers`, { method: 'POST', headers });
    assert.equal(created.status, 200);
    assert.equal((await fetch(`${url}/v3/stripe.js`)).status, 200);
    assert.match(await (await fetch(url)).text(), /4242/);
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });

test('"npx @till/sandbox" finds the command', { skip }, async () => {
  const { stdout } = await run('npx', ['@till/sandbox', '--help'], commandOptions());
  assert.match(stdout, /^Usage: till-sandbox/);
});

const python = ['python3', '/usr/bin/python3'].find(
  (command) => spawnSync(command, ['-c', 'import pytest, stripe']).status === 0,
);
test('the recipe for pytest passes', {
  skip:
    skip ||
    (python === undefined && 'needs pytest and stripe: apt-get install python3-pytest python3-stripe'),
}, async () => {
  await writeRecipes('conftest.py', 'test_payments.py');
  const { stdout } = await run(String(python), ['-m', 'pytest', '-p', 'no:cacheprovider'], commandOptions());
  assert.match(stdout, /1 passed/);
});

test('the recipe for RSpec passes', {
  skip:
    skip ||
    (spawnSync('ruby', ['-e', 'require "rspec"; require "stripe"']).status !== 0 && 'needs rspec and stripe'),
}, async () => {
  await writeRecipes('spec_helper.rb', 'payment_spec.rb');
  const { stdout } = await run('rspec', ['payment_spec.rb'], commandOptions());
  assert.match(stdout, /1 example, 0 failures/);
});

async function writeRecipes(...names: readonly string[]): Promise<void> {
  for (const name of names) await writeFile(join(folder, name), readRecipe(name));
}

function commandOptions() {
  return { cwd: folder, env: ownEnvironment(process.execPath), timeout: timeoutMs };
}

/** What a shell has in which this Node is installed. */
function ownEnvironment(node: string): NodeJS.ProcessEnv {
  // The runner of this test would take over the output of a runner inside it.
  const { NODE_TEST_CONTEXT: _, NODE_COMPILE_CACHE: __, ...environment } = process.env;
  const own = Object.entries(environment).filter(([name]) => !/^(npm_|SANDBOX_|DATA_DIR)/i.test(name));
  return { ...Object.fromEntries(own), PATH: `${join(node, '..')}:${process.env['PATH']}` };
}

async function compile(
  project: string,
  options: readonly string[],
  compiler = join(projectFolder, 'node_modules/typescript/bin/tsc'),
): Promise<void> {
  const { stdout } = await run(process.execPath, [compiler, '-p', project, ...options], {
    timeout: timeoutMs,
  }).catch((error: { readonly stdout?: string }) => ({ stdout: error.stdout ?? String(error) }));
  assert.equal(stdout, '');
}

/** Without the types of Node and of Stripe, and with those of the package checked. */
const compilerOptions = {
  target: 'es2022',
  module: 'nodenext',
  lib: ['es2023'],
  types: [],
  strict: true,
  noEmit: true,
  skipLibCheck: false,
};
