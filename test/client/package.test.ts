import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { testKey } from '../support/client.ts';
import { skipWithoutClientPackages } from '../support/client-schema.ts';
import { effort } from '../support/effort.ts';
import { runNpm } from '../support/install-packages.ts';
import { olderNode, skipWithoutOlderNodes } from '../support/older-nodes.ts';
import { startTill } from '../support/till.ts';
import { projectFolder } from '../support/till-in-child.ts';

const run = promisify(execFile);
/** Ten times what the slowest command takes on a busy machine. */
const timeoutMs = 300_000;
const folders = {
  client: join(projectFolder, 'client'),
  consumer: join(projectFolder, 'test/client/consumer'),
};
const oldest = { major: 20, path: olderNode(20) };
/** The one that runs the tests. */
const newest = { major: 24, path: process.execPath };
const nodes = effort({
  short: [oldest, newest],
  long: [oldest, { major: 22, path: olderNode(22) }, newest],
});
/** In the short form, test/docs/examples.test.ts alone compiles the client with another compiler and the types of Node. */
const compilesTwice = effort({ short: false, long: true });
const skip = skipWithoutClientPackages() || skipWithoutOlderNodes(nodes.map(({ path }) => path));

const project = await mkdtemp(join(tmpdir(), 'till-client-'));
after(() => rm(project, { recursive: true, force: true }));

test('the package has what an application needs, and nothing else', { skip }, async () => {
  const { stdout } = await npm(folders.client, ['pack', '--json', '--pack-destination', project]);
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as readonly {
    readonly filename: string;
    readonly files: readonly { readonly path: string }[];
  }[];
  assert.ok(packed !== undefined);
  const files = packed.files.map(({ path }) => path);
  const others = files.filter((path) => !/^dist\/[a-z-]+(\/[a-z-]+)*\.(js|d\.ts)$/.test(path));
  assert.deepEqual(others.toSorted(), ['LICENSE', 'README.md', 'package.json']);
  assert.ok(files.includes('dist/index.js') && files.includes('dist/index.d.ts'));
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  await npm(project, ['install', '--offline', '--no-audit', '--no-fund', `./${packed.filename}`]);
  const { dependencies, sideEffects } = JSON.parse(
    await readFile(join(project, 'node_modules/@till/client/package.json'), 'utf8'),
  );
  assert.deepEqual([dependencies, sideEffects], [undefined, false]);
});

test('without its tools nothing is packed, and the message says what to install', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'till-client-bare-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const isSource = (path: string) => !/\/(node_modules|dist)$/.test(path);
  await cp(folders.client, folder, { recursive: true, filter: isSource });
  const careful = join(folder, 'user-npmrc');
  await writeFile(careful, 'ignore-scripts=true\n');
  for (const args of [['pack'], ['pack', `--userconfig=${careful}`]])
    await assert.rejects(npm(folder, args), (error: { readonly stderr: string }) => {
      assert.match(error.stderr, /tools are not installed\. Run "npm ci --ignore-scripts"/);
      return true;
    });
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.endsWith('.tgz')),
    [],
  );
});

test('an application that uses it compiles, and mistakes in it do not', { skip }, async () => {
  await cp(folders.consumer, project, { recursive: true });
  for (const [index, example] of (await readExamples()).entries())
    await writeFile(join(project, `readme-${index}.ts`), example);
  // With the types of a browser, and what it compiles is run below.
  await compile(join(folders.client, 'node_modules/typescript/bin/tsc'), []);
  if (!compilesTwice) return;
  // With another compiler and only the types of Node.
  const types = ['--typeRoots', join(projectFolder, 'node_modules/@types'), '--types', 'node'];
  await compile(join(projectFolder, 'node_modules/typescript/bin/tsc'), [
    '--noEmit',
    '--lib',
    'es2023',
    ...types,
  ]);
});

test(`it runs under Node ${nodes.map(({ major }) => major).join(', ')} against the service`, {
  skip,
}, async (t) => {
  const { url } = await startTill({ in: 'process', for: t, mustNotLogErrors: true });
  const secret = `whsec_${Buffer.from('a secret of thirty-two bytes ...').toString('base64')}`;
  const event = JSON.stringify({ id: 'evt_1', type: 'plan.created', data: { name: 'Zoë' } });
  const now = new Date();
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign('evt_1', now, event),
  };
  const env = {
    TILL_URL: url,
    TILL_API_KEY: testKey,
    EVENT_BODY: event,
    EVENT_HEADERS: JSON.stringify(headers),
    EVENT_SECRET: secret,
  };
  const example = (await readFile(join(project, 'out/readme-0.js'), 'utf8')).replace(
    'http://127.0.0.1:3000',
    url,
  );
  await writeFile(join(project, 'out/first-payment.js'), example);
  const { stdout: paid } = await run(process.execPath, ['out/first-payment.js'], { cwd: project, env });
  assert.equal(paid, 'requires_payment_method true\n');
  for (const { major, path } of nodes) {
    const { stdout, stderr } = await run(path, ['out/run.js'], { cwd: project, env, timeout: timeoutMs });
    const { version: ran, ...results } = JSON.parse(stdout);
    assert.ok(String(ran).startsWith(`v${major}.`), `${ran} is not ${major}`);
    assert.equal(stderr, '');
    assert.deepEqual(results, {
      isListed: true,
      followed: ['customer.created', 'payment.created'],
      isMissing: true,
      isUnreachable: true,
      aborted: 'stopped',
      verified: 'evt_1',
      isForged: true,
      isEntitled: false,
    });
  }
});

/** The examples of the README. What they use of earlier ones is declared. */
async function readExamples(): Promise<readonly string[]> {
  const readme = await readFile(join(folders.client, 'README.md'), 'utf8');
  const examples = [...readme.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = '']) => code);
  assert.ok(examples.length >= 5);
  const declared = [
    "declare const process: { readonly env: { readonly [name in 'TILL_API_KEY' | 'TILL_EVENT_SECRET']?: string } };",
    "declare const till: import('@till/client').Till;",
    'export {};',
  ];
  return examples.map((code) =>
    [...declared.filter((line) => !(line.includes('till:') && code.includes('const till ='))), code].join(
      '\n',
    ),
  );
}

function npm(folder: string, args: readonly string[]): Promise<{ readonly stdout: string }> {
  return runNpm(folder, args, timeoutMs);
}

async function compile(compiler: string, options: readonly string[]): Promise<void> {
  const args = [compiler, '--project', project, ...options];
  const { stdout } = await run(process.execPath, args, { cwd: project, timeout: timeoutMs }).catch(
    (error: { readonly stdout?: string }) => ({ stdout: error.stdout ?? String(error) }),
  );
  assert.equal(stdout, '');
}
