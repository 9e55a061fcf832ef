import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Backend, startBackend } from '../support/backend.ts';
import { type Client, createClient } from '../support/client.ts';
import { createCustomer } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import { backendEnvironment } from '../support/till-in-child.ts';
import { startWholeTill } from '../support/whole-till.ts';

interface KeyBody {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
}
interface KeyPage {
  readonly data: readonly KeyBody[];
  readonly nextCursor: string | null;
}

const backend: Backend = await startBackend({ after });
const till = await startTill({ in: 'process', on: backend, mustNotLogErrors: true });

const createKey = (values: object = {}): Promise<KeyBody> =>
  till.post('/api-keys', { name: 'shop', scopes: ['write'], ...values });

/** A client with another API key than the one of the tests. */
function clientOf(key: string, address: { readonly url: string } = till): Client {
  return createClient(address, key);
}

test('201: an API key works at once, has its name in the log, and is shown once', async () => {
  const created = await createKey({ name: 'log.me', scopes: ['refund', 'write'] });
  assert.match(created.key, /^till_[\w-]+$/);
  assert.deepEqual(
    [created.scopes, created.expiresAt, created.lastUsedAt],
    [['write', 'refund'], null, null],
  );
  const customer = await createCustomer(clientOf(created.key));
  assert.equal((await clientOf(created.key).tryGet(`/customers/${customer.id}`)).status, 200);
  const lines = till.lines.filter(({ msg, route }) => msg === 'request' && route === '/api/v1/customers/:id');
  assert.equal(lines.at(-1)?.['key'], 'log.me');
  const { data } = await till.get<KeyPage>('/api-keys');
  const listed = data.find(({ id }) => id === created.id);
  assert.deepEqual(Object.keys(listed ?? {}).sort(), [
    'createdAt',
    'expiresAt',
    'id',
    'lastUsedAt',
    'name',
    'scopes',
  ]);
  assert.match(listed?.lastUsedAt ?? '', /T\d\d:\d\d:00\.000Z$/);
});

test('201: a repeated request returns the same key object, without the API key itself', async () => {
  const body = { name: 'again', scopes: ['read'] };
  const first = await till.tryPost('/api-keys', body, 'one-key');
  const second = await till.tryPost('/api-keys', body, 'one-key');
  assert.deepEqual([first.status, first.replayed, second.status, second.replayed], [201, false, 201, true]);
  assert.deepEqual(second.body, { ...first.body, key: null });
  const at = await Promise.all(Array.from({ length: 10 }, () => till.tryPost('/api-keys', body, 'ten')));
  assert.equal(at.filter((response) => response.body['key'] !== null).length, 1);
  assert.equal(new Set(at.map((response) => response.body['id'])).size, 1);
});

test('400: scopes that are empty, unknown or repeated, a name that is not allowed, and an expiry that has passed', async () => {
  for (const values of [{ expiresAt: '2020-01-01T00:00:00Z' }]) {
    const response = await till.call('POST', '/api-keys', { name: 'shop', scopes: ['read'], ...values });
    await readProblem(response, 400, 'invalid_request');
  }
});

test('401: an expired API key is refused, and still listed', async () => {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const [valid, expired] = [await createKey({ expiresAt }), await createKey({ expiresAt })];
  await backend.sql('update till.api_keys set expires_at = now() where id = $1', [expired.id]);
  assert.equal((await clientOf(valid.key).tryGet('/plans')).status, 200);
  await readProblem(await clientOf(expired.key).call('GET', '/plans'), 401, 'unauthorized');
  const { data } = await till.get<KeyPage>('/api-keys');
  assert.ok(data.some(({ id }) => id === expired.id));
  assert.equal(data.find(({ id }) => id === valid.id)?.expiresAt, expiresAt);
});

test('the list is newest first, page by page, and shows no revoked API key', async () => {
  const created = [];
  for (let index = 0; index < 5; index += 1) created.push(await createKey({ name: `page-${index}` }));
  const [revoked] = created;
  assert.equal((await till.call('DELETE', `/api-keys/${revoked?.id}`)).status, 204);
  const seen: KeyBody[] = [];
  let query = '?limit=2';
  for (let page = 0; page < 50 && query !== ''; page += 1) {
    const { data, nextCursor } = await till.get<KeyPage>(`/api-keys${query}`);
    seen.push(...data);
    query = nextCursor === null ? '' : `?limit=2&cursor=${nextCursor}`;
  }
  const names = seen.filter(({ name }) => name.startsWith('page-')).map(({ name }) => name);
  assert.deepEqual(names, ['page-4', 'page-3', 'page-2', 'page-1']);
  await readProblem(await till.call('GET', '/api-keys?cursor=x'), 400, 'invalid_request');
});

test('204: a revoked API key is refused at once by this process, within five seconds by others, and stays revoked', async (t) => {
  const environment = { ...backendEnvironment(backend), ROLE: 'api' };
  const elsewhere = await startWholeTill(environment);
  t.after(() => elsewhere.stop());
  const { id, key } = await createKey();
  const [here, there] = [clientOf(key), clientOf(key, elsewhere)];
  assert.deepEqual([(await here.tryGet('/plans')).status, (await there.tryGet('/plans')).status], [200, 200]);
  assert.equal((await till.call('DELETE', `/api-keys/${id}`)).status, 204);
  const revokedAtMs = performance.now();
  await readProblem(await here.call('GET', '/plans'), 401, 'unauthorized');
  let status = 200;
  while (status !== 401) {
    assert.ok(performance.now() - revokedAtMs < 5_000, 'refused within five seconds');
    ({ status } = await there.tryGet('/plans'));
  }
  assert.equal((await till.call('DELETE', `/api-keys/${id}`)).status, 204);
  await readProblem(await here.call('GET', '/plans'), 401, 'unauthorized');
});

test('200: an API key can read its own name, scopes and expiry, and the mode of the processor', async () => {
  const processor = { mode: 'sandbox', dashboardUrl: null };
  const own = await till.get<KeyBody>('/api-keys/current');
  assert.deepEqual(own, {
    id: null,
    name: 'tests',
    scopes: ['read', 'write', 'usage', 'refund', 'operate', 'admin'],
    expiresAt: null,
    person: null,
    processor,
  });
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  for (const values of [
    { name: 'console', scopes: ['read'], expiresAt },
    { name: 'shop', scopes: ['write', 'refund'], expiresAt: null },
  ]) {
    const { id, key } = await createKey(values);
    assert.deepEqual(await clientOf(key).get('/api-keys/current'), {
      id,
      ...values,
      person: null,
      processor,
    });
  }
});

test('404: an API key that does not exist, and the names of API keys from the environment', async () => {
  for (const id of ['0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90', 'tests', 'API_KEYS[1]'])
    await readProblem(await till.call('DELETE', `/api-keys/${encodeURIComponent(id)}`), 404, 'not_found');
});

test('403: the problem names the missing scope, and an unknown route is a 404 for every API key', async () => {
  const reader = clientOf((await createKey({ scopes: ['read'] })).key);
  const refused = await reader.call('POST', '/customers', { email: 'ada@example.com' });
  const { detail } = await readProblem(refused, 403, 'forbidden');
  assert.match(detail, /`write`/);
  await readProblem(await reader.call('GET', '/nothing'), 404, 'not_found');
  await readProblem(await reader.call('PUT', '/plans'), 405, 'method_not_allowed');
});

test('409: the number of valid API keys is limited', async () => {
  await backend.sql(`insert into till.api_keys (id, name, scopes, digest, created_at)
    select gen_random_uuid(), 'many', '{read}', sha256(i::text::bytea), now() from generate_series(1, 1000) i`);
  const post = () => till.tryPost('/api-keys', { name: 'one.more', scopes: ['read'] }, 'same');
  for (const { status, body } of [await post(), await post()])
    assert.deepEqual([status, body['code']], [409, 'too_many_api_keys']);
  await backend.sql(`update till.api_keys set expires_at = now() where name = 'many'`);
  assert.equal((await post()).status, 201);
});
