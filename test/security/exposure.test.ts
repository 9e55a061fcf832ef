import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startFrame } from '../support/frame.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { startTill } from '../support/till.ts';

const secrets = {
  API_KEYS: 'shop:api-key-that-nobody-may-see',
  API_KEY: 'another-key-that-nobody-may-see',
  PROCESSOR_SECRET_KEY: 'sk_test_thatNobodyMaySee',
  PROCESSOR_WEBHOOK_SECRET: 'whsec_thatNobodyMaySee',
  REDIS_URL: 'redis://user:passwordThatNobodyMaySee@127.0.0.1:1',
};
/** What each of them looks like wherever it is found, and the database's own password. */
const marks = /that-nobody-may-see|hatNobodyMaySee/;

test('no secret is in a diagnostic report, in the arguments, or on any page of the service', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'till-report-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const database = await createTestDatabase();
  t.after(() => database.drop());
  const password = /:([^:@]+)@/.exec(database.url)?.[1] ?? assert.fail('there is no password');
  const till = await startTill({
    in: 'child',
    environment: { ...secrets, DATABASE_URL: database.url, PROCESSOR_API_BASE: 'http://127.0.0.1:1' },
    command: [process.execPath, '--report-on-signal', `--report-directory=${folder}`, 'src/main.ts'],
  });
  t.after(() => till.stop());
  till.child.kill('SIGUSR2');
  const { stderr } = till.child;
  assert(stderr);
  while (!till.output().includes('Node.js report completed')) await once(stderr, 'data');
  const [name] = await readdir(folder);
  const report = await readFile(join(folder, String(name)), 'utf8');
  assert.match(report, /environmentVariables/);
  const places: Record<string, string> = { report, output: till.output() };
  places['arguments'] = await readFile(`/proc/${till.child.pid}/cmdline`, 'utf8');
  for (const path of ['/health', '/metrics', '/api/docs', '/api/docs/openapi.json', '/api/v1/customers']) {
    const response = await fetch(`${till.url}${path}`, { method: 'GET' });
    places[path] = `${JSON.stringify([...response.headers])} ${await response.text()}`;
  }
  for (const [place, text] of Object.entries(places)) {
    assert.ok(text.length > 0, place);
    assert.doesNotMatch(text, marks, place);
    assert.ok(!text.includes(password), place);
  }
});

test('no other origin may read a response, and no page may embed or run anything foreign', async (t) => {
  const { url } = await startFrame(t, async (app) => {
    app.get('/api/v1/things', async () => ({}));
  });
  for (const [method, path] of [
    ['GET', '/api/docs'],
    ['GET', '/api/docs/openapi.json'],
    ['GET', '/api/v1/things'],
    ['OPTIONS', '/api/v1/things'],
    ['GET', '/health'],
    ['GET', '/health/ready'],
    ['GET', '/metrics'],
    ['GET', '/nowhere'],
  ] as const) {
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    const response = await fetch(`${url}${path}`, { method, headers });
    await response.bytes();
    const names = [...response.headers.keys()];
    assert.deepEqual(
      names.filter((name) => name.startsWith('access-control-')),
      [],
      path,
    );
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff', path);
    assert.equal(response.headers.get('x-frame-options'), 'DENY', path);
    assert.match(response.headers.get('content-security-policy') ?? '', /^default-src 'none';/, path);
    assert.match(response.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/, path);
    const scripts = /script-src ([^;]*)/.exec(response.headers.get('content-security-policy') ?? '')?.[1];
    assert.ok(scripts === undefined || scripts === "'self'", path);
    for (const name of ['server', 'x-powered-by', 'set-cookie']) assert.ok(!names.includes(name), name);
  }
});
