import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { mock, type TestContext, test } from 'node:test';
import { ApiKeyRing } from '../../src/http/access/api-guard.ts';
import { createClient, testKey } from '../support/client.ts';
import { dumpTables } from '../support/dump-tables.ts';
import { startFrame } from '../support/frame.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const keys = ['first', 'second', 'third'].map((name) => ({
  name,
  application: name,
  key: `key-of-the-${name}`,
}));

test('whichever API key is sent, all are compared, each in constant time, by digests of one length', (t) => {
  const compared = watchComparisons(t);
  const ring = new ApiKeyRing(keys);
  const presented = ['key-of-the-first', 'key-of-the-third', 'key-of-the-thirx', 'x', '', 'y'.repeat(256)];
  for (const key of presented) {
    compared.length = 0;
    ring.find(key);
    assert.equal(compared.length, keys.length, key);
    for (const [ours, theirs] of compared) assert.deepEqual([ours.length, theirs.length], [32, 32]);
  }
});

test('the compared digests are useless elsewhere: another process has other digests of the same API keys', (t) => {
  const compared = watchComparisons(t);
  for (const ring of [new ApiKeyRing(keys), new ApiKeyRing(keys)]) ring.find('guess');
  const digests = compared.flat().map((digest) => digest.toString('hex'));
  // Three API keys and one guess, digested by each of two processes.
  assert.equal(new Set(digests).size, 8);
});

test('429: wrong API keys from a whole IPv6 network count as one, behind a trusted proxy as well', async (t) => {
  const { url } = await startFrame(t, async () => {}, { trustProxy: ['127.0.0.1'] });
  const guess = (address: string) =>
    fetch(`${url}/api/v1/customers`, { headers: { 'x-api-key': 'guess', 'x-forwarded-for': address } });
  // The window of a minute may end among these; it does not end twice.
  const statuses: number[] = [];
  for (let host = 1; host <= 121; host += 1) {
    const response = await guess(`2001:db8:0:1::${host.toString(16)}`);
    statuses.push(response.status);
    await response.bytes();
  }
  assert.ok(statuses.includes(429));
  await readProblem(await guess('2001:db8:0:2::1'), 401, 'unauthorized');
});

test('an invented address that a client sends before the proxy adds the real one changes nothing', async (t) => {
  const { url } = await startFrame(t, async () => {}, { trustProxy: ['127.0.0.1'] });
  const statuses: number[] = [];
  for (let number = 1; number <= 121; number += 1) {
    const headers = { 'x-api-key': 'guess', 'x-forwarded-for': `192.0.2.${number}, 198.51.100.7` };
    const response = await fetch(`${url}/api/v1/customers`, { headers });
    statuses.push(response.status);
    await response.bytes();
  }
  assert.ok(statuses.includes(429));
});

test('an API key is read from its header only', async (t) => {
  const { url } = await startFrame(t, async (app) => {
    app.get('/api/v1/things', async () => ({}));
  });
  for (const [path, headers] of [
    [`?x-api-key=${testKey}`, {}],
    ['', { authorization: `Bearer ${testKey}` }],
    ['', { cookie: `x-api-key=${testKey}` }],
    ['', { 'x-api-key': `${testKey}, ${testKey}` }],
  ] as const) {
    await readProblem(await fetch(`${url}/api/v1/things${path}`, { headers }), 401, 'unauthorized');
  }
});

test('a created API key is neither stored nor logged: only its digest is, and the digest gives no access', async (t) => {
  const till = await startTill({ in: 'process', for: t, logLevel: 'trace' });
  const body = { name: 'shop', scopes: ['read'] };
  const { key } = await till.post<{ readonly key: string }>('/api-keys', { ...body, idempotencyKey: 'once' });
  assert.equal((await createClient(till, key).tryGet('/plans')).status, 200);
  await till.get('/api-keys');
  const digest = crypto.hash('sha256', key, 'hex');
  const tables = await dumpTables(till.databaseUrl);
  assert.ok(tables.includes(digest), 'the search finds what is there');
  const secret = key.slice(key.lastIndexOf('_', 40) + 1);
  for (const place of [tables, JSON.stringify(till.lines)]) assert.ok(!place.includes(secret));
  for (const wrong of [digest, `${key.slice(0, -secret.length)}${'A'.repeat(secret.length)}`]) {
    const refused = await createClient(till, wrong).call('GET', '/plans');
    await readProblem(refused, 401, 'unauthorized');
  }
});

test('a created API key is compared in constant time, by digests of one length', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const { key } = await till.post<{ readonly key: string }>('/api-keys', { name: 'shop', scopes: ['read'] });
  const compared = watchComparisons(t);
  for (const presented of [key, `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`]) {
    compared.length = 0;
    await createClient(till, presented).tryGet('/plans');
    // The tests' own API key from the environment, and the created one.
    assert.deepEqual(
      compared.map((pair) => pair.map(({ length }) => length)),
      [
        [32, 32],
        [32, 32],
      ],
    );
  }
});

/** The pairs that Node's own comparison is called with; it still does its work. */
function watchComparisons(t: TestContext): [Buffer, Buffer][] {
  const compared: [Buffer, Buffer][] = [];
  const compare = crypto.timingSafeEqual;
  const watched = mock.method(crypto, 'timingSafeEqual', (ours: Buffer, theirs: Buffer) => {
    compared.push([ours, theirs]);
    return compare(ours, theirs);
  });
  syncBuiltinESMExports();
  t.after(() => {
    watched.mock.restore();
    syncBuiltinESMExports();
  });
  return compared;
}
