import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, test } from 'node:test';
import { endpointsMax, validSecretsMax } from '#engine/events/endpoints/endpoint.ts';
import { eventId } from '#engine/events/feed/event-id.ts';
import { eventNames } from '#features/features.ts';
import { readJson } from '../support/client.ts';
import { dumpTables } from '../support/dump-tables.ts';
import { assertMistake } from '../support/invalid.ts';
import { readProblem } from '../support/problem.ts';
import { appendForIds, idOfPlace } from '../support/stored-events.ts';
import { startTill } from '../support/till.ts';

interface EndpointBody {
  readonly id: string;
  readonly url: string;
  readonly types: readonly string[] | null;
  readonly description: string | null;
  readonly enabled: boolean;
  readonly disabledAt: string | null;
  readonly disabledReason: string | null;
  readonly failingSince: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly secret?: string;
}

const path = '/event-endpoints';
const url = 'https://shop.example.com/events?token=querysecret';
const secretKeys = ['k'.repeat(32)];

const till = await startTill({
  in: 'process',
  for: { after },
  mustNotLogErrors: true,
  events: {
    secretKeys,
    resolve: async (host) => {
      if (host === 'private.example.org') return ['93.184.215.14', '10.0.0.7'];
      if (host.endsWith('.example.com')) return ['93.184.215.14'];
      throw new Error(`${host} is not known`);
    },
  },
});
const { call, sql } = till;

afterEach(() => sql('delete from till.event_endpoints'));

async function create(body: object = {}): Promise<EndpointBody> {
  return readJson(await call('POST', path, { url, ...body }), 201);
}

test('an endpoint is created, read, listed, changed and deleted, and shows its secret once', async () => {
  const { secret, ...endpoint } = await create({ types: ['plan.updated'], description: 'The shop' });
  assert.match(String(secret), /^whsec_[A-Za-z0-9+/]{43}=$/);
  const { id, createdAt, updatedAt, ...shown } = endpoint;
  assert.deepEqual(shown, {
    ...{ url, types: ['plan.updated'], description: 'The shop', enabled: true },
    ...{ disabledAt: null, disabledReason: null, failingSince: null },
  });
  assert.equal(createdAt, updatedAt);
  assert.deepEqual(await till.get(`${path}/${id}`), endpoint);
  assert.deepEqual(await till.get(path), { data: [endpoint], nextCursor: null });

  const change = { types: null, description: null, url: 'https://other.example.com/', enabled: false };
  const changed = await readJson<EndpointBody>(await call('PATCH', `${path}/${id}`, change), 200);
  assert.deepEqual({ ...changed, ...change }, changed);
  assert.equal(changed.disabledReason, 'request');
  assert.ok(changed.disabledAt !== null);
  const on = await readJson<EndpointBody>(await call('PATCH', `${path}/${id}`, { enabled: true }), 200);
  assert.deepEqual([on.enabled, on.disabledAt, on.disabledReason, on.url], [true, null, null, change.url]);
  assert.deepEqual(await till.get(`${path}/${id}`), on);
  for (const nothing of [{}, { enabled: true }, { url: change.url, types: null }])
    assert.deepEqual(await readJson(await call('PATCH', `${path}/${id}`, nothing), 200), on);

  assert.equal((await call('DELETE', `${path}/${id}`)).status, 204);
  for (const response of [await call('DELETE', `${path}/${id}`), await call('GET', `${path}/${id}`)])
    await readProblem(response, 404, 'not_found');
});

test('without types an endpoint gets all, and lists are walked by cursor, newest first', async () => {
  const created = [];
  for (let count = 0; count < 3; count += 1) created.push(await create());
  assert.equal(created[0]?.types, null);
  const ids = created.map(({ id }) => id).toSorted((a, b) => (a < b ? 1 : -1));
  interface Page {
    readonly data: readonly EndpointBody[];
    readonly nextCursor: string | null;
  }
  const first = await till.get<Page>(`${path}?limit=2`);
  const second = await till.get<Page>(`${path}?limit=2&cursor=${first.nextCursor}`);
  assert.deepEqual(
    [...first.data, ...second.data].map(({ id }) => id),
    ids,
  );
  assert.equal(second.nextCursor, null);
  assert.ok([...first.data, ...second.data].every((endpoint) => !('secret' in endpoint)));
  await assertMistake(await call('GET', `${path}?cursor=x`), 'query.cursor');
  await assertMistake(
    await call('GET', `${path}/${ids[0]}/deliveries?cursor=${first.nextCursor}`),
    'query.cursor',
  );
});

test('400: an unknown type names the known ones, and each refused URL says why', async () => {
  const send = (change: object) => call('POST', path, { url, ...change });
  const unknown = await readProblem(await send({ types: ['plan.changed'] }), 400, 'invalid_request');
  for (const type of eventNames.types) assert.ok(unknown.detail.includes(type), type);
  for (const [refused, reason] of [
    ['http://shop.example.com', /https.*EVENT_ENDPOINTS_ALLOW_PRIVATE/],
    ['https://user:password@shop.example.com', /user or a password/],
    [
      'https://2130706433/',
      /127\.0\.0\.1 is in a range that is not public \(loopback\).*EVENT_ENDPOINTS_ALLOW_PRIVATE/,
    ],
    ['https://0177.0.0.1/', /loopback/],
    ['https://[::ffff:10.0.0.1]/', /ipv4Mapped/],
    ['https://169.254.169.254/latest/meta-data', /linkLocal/],
    ['https://unknown.example.net', /cannot be resolved/],
    [
      'https://private.example.org',
      /its name has an address that is not public. Set EVENT_ENDPOINTS_ALLOW_PRIVATE=true to allow it$/,
    ],
  ] as const)
    for (const response of [await send({ url: refused }), await patchNew({ url: refused })]) {
      const { detail, errors } = await readProblem(response, 400, 'invalid_request');
      assert.match(detail, reason, refused);
      assert.deepEqual(
        errors?.map((mistake) => mistake.path),
        ['body.url'],
      );
    }
});

async function patchNew(change: object): Promise<Response> {
  return call('PATCH', `${path}/${(await create()).id}`, change);
}

test(`409: more than ${endpointsMax} endpoints, even if the last ones come at once`, async () => {
  await Promise.all(Array.from({ length: endpointsMax - 2 }, () => create()));
  const responses = await Promise.all(Array.from({ length: 6 }, () => call('POST', path, { url })));
  assert.equal(responses.filter(({ status }) => status === 201).length, 2);
  for (const response of responses.filter(({ status }) => status !== 201))
    await readProblem(response, 409, 'too_many_event_endpoints');
});

test('an idempotency key makes each write happen once, and its repetition returns the same without the secret', async () => {
  const first = await till.tryPost(path, { url }, 'create-once');
  const again = await till.tryPost(path, { url }, 'create-once');
  assert.deepEqual(again, { ...first, replayed: true, body: { ...first.body, secret: null } });
  assert.equal(first.status, 201);
  assert.equal((await till.tryPost(path, { url: 'https://b.example.com' }, 'create-once')).status, 422);
  const one = `${path}/${first.body['id']}`;
  const rotated = await till.tryPost(`${one}/rotate-secret`, {}, 'rotate-once');
  assert.notEqual(rotated.body['secret'], first.body['secret']);
  assert.deepEqual(await till.tryPost(`${one}/rotate-secret`, {}, 'rotate-once'), {
    ...rotated,
    replayed: true,
    body: { ...rotated.body, secret: null },
  });
  const changed = await till.tryPatch(one, { enabled: false }, 'change-once');
  assert.deepEqual(await till.tryPatch(one, { enabled: false }, 'change-once'), {
    ...changed,
    replayed: true,
  });
  const replayed = await till.tryPost(`${one}/replay`, { after: null }, 'replay-once');
  assert.deepEqual(await till.tryPost(`${one}/replay`, { after: null }, 'replay-once'), {
    ...replayed,
    replayed: true,
  });
  assert.deepEqual(await sql('select revision from till.event_endpoints'), [{ revision: 1 }]);
});

test(`409: more than ${validSecretsMax} valid secrets, even if the rotations come at once`, async () => {
  const { id } = await create();
  const rotate = (key?: string) => till.tryPost(`${path}/${id}/rotate-secret`, {}, key);
  const keys = Array.from({ length: validSecretsMax + 3 }, (_, index) => `rotation-${index}`);
  const rotated = await Promise.all(keys.map((key) => rotate(key)));
  const done = rotated.filter(({ status }) => status === 200);
  assert.equal(done.length, validSecretsMax - 1);
  assert.equal(new Set(done.map(({ body }) => body['secret'])).size, validSecretsMax - 1);
  for (const { status, body } of rotated.filter((one) => !done.includes(one)))
    assert.deepEqual([status, body['code']], [409, 'too_many_event_secrets']);
  const unsettled = await sql('select key from till.idempotency_claims where completed_at is null');
  assert.deepEqual(unsettled, []);
  const [endpoint] = await sql<{ count: number }>(
    'select jsonb_array_length(replaced_secrets) as count from till.event_endpoints',
  );
  assert.equal(endpoint?.count, validSecretsMax - 1, 'each replaced secret is kept');

  const { body: refused } = await rotate();
  const until = String(refused['detail']).match(/\d{4}-\d\d-\d\dT[\d:.]+Z/)?.[0];
  const hours = (Date.parse(String(until)) - Date.now()) / 3_600_000;
  assert.ok(hours > 23 && hours <= 24, `the next rotation is possible in ${hours} hours`);

  // The oldest one has ended. The idempotency key of a refused rotation is free, and one that was used repeats its
  // rotation.
  await sql(
    `update till.event_endpoints set replaced_secrets = jsonb_set(replaced_secrets, '{-1,validUntil}', to_jsonb(now()))`,
  );
  const [free] = keys.filter((_, index) => rotated[index]?.status === 409);
  const [used] = keys.filter((_, index) => rotated[index]?.status === 200);
  const repeated = await rotate(used);
  assert.deepEqual([repeated.status, repeated.replayed, repeated.body['secret']], [200, true, null]);
  assert.deepEqual([(await rotate(free)).status, (await rotate()).status], [200, 409]);
});

test('a secret is found in no table and no log, and neither is the query of a URL in a log', async () => {
  const { id, secret = '' } = await create();
  const { secret: rotated = '' } = await readJson<EndpointBody>(
    await call('POST', `${path}/${id}/rotate-secret`),
    200,
  );
  const dump = await dumpTables(till.databaseUrl);
  const log = JSON.stringify(till.lines);
  for (const text of [secret, rotated, secret.slice(6), rotated.slice(6)]) {
    assert.ok(!dump.includes(text));
    assert.ok(!log.includes(text));
  }
  assert.ok(!log.includes('querysecret'));
  const stored = await sql<{ secret: string; replaced: string }>(
    `select secret, replaced_secrets #>> '{0,secret}' as replaced from till.event_endpoints`,
  );
  for (const text of Object.values(stored[0] ?? {})) assert.match(text, /^aes:/);
});

test('a replay needs an event: 400 for an id that is not one, 410 for one that is no longer kept', async () => {
  const { id } = await create();
  const [event] = await appendForIds(sql, [{}]);
  const replay = (after: unknown) => call('POST', `${path}/${id}/replay`, { after });
  assert.equal((await replay(event)).status, 200);
  assert.equal((await replay(null)).status, 200);
  for (const wrong of [
    '',
    'evt_1',
    randomUUID(),
    eventId({ position: 9, createdAtMs: Date.now(), checksum: 9 }),
  ])
    await assertMistake(await replay(wrong), 'body.after');
  const expired = await idOfPlace(sql, 1, Date.now() - 200 * 86_400_000);
  await readProblem(await replay(expired), 410, 'event_expired');
});
