import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { filesOf, installLibraries } from '../packages/support/installed-package.ts';
import { testKey } from '../support/client.ts';
import { effort } from '../support/effort.ts';
import { nodes, oldestRange, skipWithoutOlderNodes } from '../support/older-nodes.ts';
import { startTill } from '../support/till.ts';
import { projectFolder } from '../support/till-in-child.ts';

const run = promisify(execFile);
/** Ten times what the slowest command takes on a busy machine. */
const timeoutMs = 300_000;
const folders = {
  client: join(projectFolder, 'client'),
  consumer: join(projectFolder, 'test/client/consumer'),
};
/**
 * In the short form, test/docs/examples.test.ts alone compiles the client with another compiler and the types of Node.
 */
const compilesTwice = effort({ short: false, long: true });
const skip = skipWithoutOlderNodes();

/** Where the client is installed, and a folder in it with the application. */
let project: string;
let application: string;
before(async () => {
  if (skip !== false) return;
  project = await installLibraries();
  application = join(project, 'client');
  await cp(folders.consumer, application, { recursive: true });
});

test('the package has what an application needs, and nothing else', { skip }, async () => {
  const files = await filesOf(project, 'client');
  const others = files.filter((path) => !/^dist\/[a-z-]+(\/[a-z-]+)*\.(js|d\.ts)$/.test(path));
  assert.deepEqual(others, ['LICENSE', 'README.md', 'package.json']);
  assert.ok(files.includes('dist/index.js') && files.includes('dist/index.d.ts'));
  const { dependencies, sideEffects, engines } = JSON.parse(
    await readFile(join(project, 'node_modules/@till/client/package.json'), 'utf8'),
  );
  assert.deepEqual([dependencies, sideEffects, engines.node], [undefined, false, await oldestRange()]);
});

test('an application that uses it compiles, and mistakes in it do not', { skip }, async () => {
  for (const [index, example] of (await readExamples()).entries())
    await writeFile(join(application, `readme-${index}.ts`), example);
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
  const example = (await readFile(join(application, 'out/readme-0.js'), 'utf8')).replace(
    'http://127.0.0.1:3000',
    url,
  );
  await writeFile(join(application, 'out/first-payment.js'), example);
  const { stdout: paid } = await run(process.execPath, ['out/first-payment.js'], { cwd: application, env });
  assert.equal(paid, 'requires_payment_method true\n');
  for (const { major, path } of nodes) {
    const { stdout, stderr } = await run(path, ['out/run.js'], { cwd: application, env, timeout: timeoutMs });
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

async function compile(compiler: string, options: readonly string[]): Promise<void> {
  const args = [compiler, '--project', application, ...options];
  const { stdout } = await run(process.execPath, args, { cwd: application, timeout: timeoutMs }).catch(
    (error: { readonly stdout?: string }) => ({ stdout: error.stdout ?? String(error) }),
  );
  assert.equal(stdout, '');
}
