import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { createClient, readJson, testKey } from '../support/client.ts';
import { callConsole, cookieOf, openSession, signIn } from '../support/console-session.ts';
import { startIdentityProvider } from '../support/identity-provider.ts';
import { createCustomer, createPaidPayment, createPayment } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';
import { eventOf, idOf } from '../support/webhook-events.ts';

interface Entry {
  readonly id: string;
  readonly createdAt: string;
  readonly actor: { readonly keyName: string | null; readonly person: string | null };
  readonly action: string;
  readonly objectType: string | null;
  readonly objectId: string | null;
  readonly address: string | null;
  readonly requestId: string | null;
  readonly outcome: number;
}

const publicUrl = 'http://localhost:4998';
const backend = await startBackend({ after });
const provider = await startIdentityProvider(
  { after },
  { redirectUri: `${publicUrl}/console/sign-in/callback`, showsClaims: true },
);
const till = await startTill({
  in: 'process',
  on: backend,
  console: { publicUrl, oidc: provider.settings, hasKeySignIn: true },
  trustProxy: ['loopback'],
});

async function entries(query = ''): Promise<readonly Entry[]> {
  return (await till.get<{ data: readonly Entry[] }>(`/audit-log?limit=100${query}`)).data;
}

/** The last entries about an object, oldest first. */
async function actionsOn(objectId: string): Promise<readonly (string | number)[][]> {
  return (await entries(`&objectId=${objectId}`))
    .map(({ action, outcome }) => [action, outcome])
    .toReversed();
}

/** Asserts that one transaction wrote the newest entry of an action and a row. */
async function assertSameTransaction(
  action: string,
  table: string,
  id: string,
  condition = 'id = $2',
): Promise<void> {
  const [row] = await till.sql<{ same: boolean }>(
    `select (select xmin from till.audit_log where action = $1 order by id desc limit 1)
       = (select xmin from till.${table} where ${condition}) as same`,
    [action, id],
  );
  assert.equal(row?.same, true, action);
}

test('API keys: what they do to keys, refunds, exports, replays and deletions is logged with its transaction', async () => {
  const created = await till.post<{ id: string; key: string }>('/api-keys', {
    name: 'shop',
    scopes: ['write', 'refund'],
  });
  await assertSameTransaction('createApiKey', 'api_keys', created.id);
  const shop = createClient(till, created.key);
  const { id: customerId } = await createCustomer(shop, { email: 'ada@example.com', name: 'Ada' });
  const payment = await createPaidPayment(till, { customerId });
  assert.deepEqual(await entries('&action=createPayment'), [], 'events have the cause of each payment');
  const refunded = await readJson<{ refund: { id: string } }>(
    await shop.call(
      'POST',
      `/payments/${payment.id}/refund`,
      { amount: 100 },
      { 'x-forwarded-for': '192.0.2.7' },
    ),
    200,
  );
  await assertSameTransaction('refundPayment', 'refunds', refunded.refund.id);
  assert.equal((await shop.tryPost(`/payments/${payment.id}/refund`, { amount: 10_000_000 })).status, 409);
  const [failed, done] = await entries(`&objectId=${payment.id}`);
  assert.deepEqual([failed?.action, failed?.outcome], ['refundPayment', 409]);
  const { id, createdAt, requestId, ...rest } = done ?? assert.fail();
  assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000 && id !== requestId);
  assert.deepEqual(rest, {
    actor: { keyName: 'shop', person: null },
    action: 'refundPayment',
    objectType: 'payment',
    objectId: payment.id,
    address: '192.0.2.7',
    outcome: 200,
  });
  await till.services.keys.refresh();
  const [first] = await entries(`&action=key.first_used&objectId=${created.id}`);
  assert.deepEqual([first?.actor.keyName, first?.address, first?.outcome], ['shop', '127.0.0.1', 201]);
  await (await till.call('GET', '/payments', undefined, { accept: 'text/csv' })).text();
  assert.deepEqual(
    (await entries('&action=listPayments')).map(({ outcome }) => outcome),
    [200],
  );
  await till.get('/payments');
  assert.equal((await entries('&action=listPayments')).length, 1, 'a page is no export');
  await (await till.call('GET', '/plans', undefined, { accept: 'text/csv' })).text();
  assert.equal((await entries('&action=listPlans')).length, 1);
  const event = eventOf('invoice.paid.newer', { id: 'in_audited' });
  await till.take(event);
  await till.post(`/webhook-events/${idOf(event)}/replay`);
  await till.post('/webhook-events/replay-failed');
  assert.deepEqual(await actionsOn(idOf(event)), [['replayWebhookEvent', 200]]);
  const resync = await till.post<{ id: string }>('/resyncs', { customerId });
  assert.deepEqual(
    (await actionsOn(resync.id)).map(([action]) => action),
    ['startResync'],
  );
  const endpoint = await till.post<{ id: string }>('/event-endpoints', {
    url: 'https://shop.example.com/till',
  });
  await till.call('PATCH', `/event-endpoints/${endpoint.id}`, { enabled: false });
  await till.post(`/event-endpoints/${endpoint.id}/rotate-secret`);
  await till.post(`/event-endpoints/${endpoint.id}/replay`, { after: null });
  await till.call('DELETE', `/event-endpoints/${endpoint.id.toUpperCase()}`);
  assert.deepEqual(await actionsOn(endpoint.id), [
    ['createEventEndpoint', 201],
    ['updateEventEndpoint', 200],
    ['rotateEventEndpointSecret', 200],
    ['replayEvents', 200],
    ['deleteEventEndpoint', 204],
  ]);
  await till.call('DELETE', `/customers/${customerId}`);
  assert.deepEqual(await actionsOn(customerId), [['deleteCustomer', 204]]);
  await till.call('DELETE', `/api-keys/${created.id}`);
  await assertSameTransaction('revokeApiKey', 'api_keys', created.id);
  assert.deepEqual((await actionsOn(created.id)).map(([action]) => action).toSorted(), [
    'createApiKey',
    'key.first_used',
    'revokeApiKey',
  ]);
});

/** A function that calls the API as Ada, who has signed in through the provider. */
async function signInAsAda() {
  const begun = await fetch(`${till.url}/console/sign-in`, { redirect: 'manual' });
  const returned = await provider.signIn(begun.headers.get('location') ?? '', 'ada');
  const entered = await fetch(returned.replace(publicUrl, till.url), {
    redirect: 'manual',
    headers: { cookie: cookieOf(begun, 'till-sign-in') },
  });
  const cookie = cookieOf(entered);
  return (method: string, path: string, body?: object) =>
    callConsole(till.url, `/api/v1${path}`, cookie, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
}

test('people: every write is logged, in its transaction where there is one, and reads are not', async () => {
  const call = await signInAsAda();
  const customer = await readJson<{ id: string }>(
    await call('POST', '/customers', { email: 'x@example.com' }),
    201,
  );
  await assertSameTransaction('createCustomer', 'customers', customer.id);
  const order = { customerId: customer.id, amount: 500, currency: 'eur' };
  const { payment } = await readJson<{ payment: { id: string } }>(
    await call('POST', '/payments', order),
    201,
  );
  await assertSameTransaction('createPayment', 'payments', payment.id);
  assert.equal((await call('POST', `/payments/${payment.id}/cancel`)).status, 200);
  await assertSameTransaction('cancelPayment', 'payments', payment.id);
  const page = { successUrl: 'https://shop.example.com/', cancelUrl: 'https://shop.example.com/' };
  const { checkout } = await readJson<{ checkout: { id: string } }>(
    await call('POST', '/checkouts', { customerId: customer.id, saveCard: true, ...page }),
    201,
  );
  assert.equal((await call('POST', `/checkouts/${checkout.id}/expire`)).status, 200);
  await assertSameTransaction('expireCheckout', 'checkouts', checkout.id);
  assert.equal((await call('PATCH', `/customers/${customer.id}`, { name: 'X' })).status, 200);
  assert.equal((await call('GET', `/customers/${customer.id}`)).status, 200);
  assert.equal((await call('POST', `/payments/${payment.id}/cancel`, { unknown: 1 })).status, 400);
  assert.equal((await call('DELETE', `/customers/${customer.id}`)).status, 204);
  const deletion = `object_id = $2 and type = 'customer.deleted'`;
  await assertSameTransaction('deleteCustomer', 'events', customer.id, deletion);
  const own = (await entries('&actor=ada@example.com')).toReversed();
  assert.deepEqual(
    own.map(({ action, objectType, outcome }) => [action, objectType, outcome]),
    [
      ['session.created', null, 303],
      ['createCustomer', 'customer', 201],
      ['createPayment', 'payment', 201],
      ['cancelPayment', 'payment', 200],
      ['createCheckout', 'checkout', 201],
      ['expireCheckout', 'checkout', 200],
      ['updateCustomer', 'customer', 200],
      ['cancelPayment', 'payment', 400],
      ['deleteCustomer', 'customer', 204],
    ],
  );
  assert.deepEqual(new Set(own.map(({ actor }) => actor.keyName)), new Set(['console']));
  assert.equal(own[1]?.objectId, customer.id);
  assert.doesNotMatch(JSON.stringify(await entries()), /x@example\.com/);
});

test('a refusal is logged, whatever the reason, unless the rate limit is exceeded', async () => {
  const reader = await till.post<{ id: string; key: string }>('/api-keys', {
    name: 'reader',
    scopes: ['read'],
  });
  const { key } = reader;
  const { id } = await createPayment(till);
  const sent = async (client: Pick<typeof till, 'call'>, path: string, body: object) =>
    (await client.call('POST', path, body)).status;
  assert.equal(await sent(createClient(till, key), `/payments/${id}/refund`, {}), 403);
  await till.services.keys.refresh();
  assert.deepEqual((await actionsOn(reader.id)).at(-1), ['key.first_used', 403]);
  assert.equal(await sent(till, `/payments/${id}/refund`, { amount: 'all' }), 400);
  assert.deepEqual(await actionsOn(id), [
    ['refundPayment', 403],
    ['refundPayment', 400],
  ]);
  assert.equal(await sent(till, '/api-keys', { name: 'x' }), 400);
  const call = await signInAsAda();
  assert.equal((await call('POST', '/customers', { email: 1 })).status, 400);
  const newest = await entries();
  assert.deepEqual(
    newest.slice(0, 3).map(({ action, outcome }) => [action, outcome]),
    [
      ['createCustomer', 400],
      ['session.created', 303],
      ['createApiKey', 400],
    ],
  );
  const limited = await startTill({ in: 'process', on: till, requestsPerMinute: 1 });
  const statuses = [];
  for (let sent = 0; sent < 2; sent += 1)
    statuses.push((await createClient(limited, key).tryPost(`/payments/${id}/refund`, {})).status);
  assert.deepEqual(statuses, [403, 429]);
  assert.equal((await actionsOn(id)).length, 3);
});

test('a refund that completes after the deadline of its request is logged with its transaction, after the 503', async (t) => {
  const { id } = await createPaidPayment(till);
  const called = Promise.withResolvers<void>();
  const slow = await startTill({
    in: 'process',
    on: backend,
    requestDeadlineMs: 50,
    crashPoints: { pass: (step) => (step === 'call.after' ? called.promise : undefined) },
  });
  t.after(() => slow.stop());
  const late = await slow.call('POST', `/payments/${id}/refund`, { amount: 100, idempotencyKey: 'late' });
  assert.equal(late.status, 503);
  called.resolve();
  await until(() => slow.lines.some(({ msg }) => msg === 'request completed after its deadline'));
  assert.deepEqual(await actionsOn(id), [
    ['refundPayment', 503],
    ['refundPayment', 200],
  ]);
  const [refund = assert.fail()] = (await till.get<{ data: { id: string }[] }>(`/payments/${id}/refunds`))
    .data;
  await assertSameTransaction('refundPayment', 'refunds', refund.id);
});

test('a repeated creation is logged with the object that it repeats', async () => {
  const call = await signInAsAda();
  const newCustomer = { email: 'y@example.com', idempotencyKey: 'repeated' };
  const attempts = [1, 2, 3, 4].map(() => call('POST', '/customers', newCustomer));
  const created = await Promise.all(attempts.map(async (sent) => readJson<{ id: string }>(await sent, 201)));
  const [{ id } = assert.fail()] = created;
  assert.deepEqual(await actionsOn(id), Array(4).fill(['createCustomer', 201]));
});

test('sign-ins are logged: opened, ended and refused', async () => {
  const [before] = await entries();
  const origin = { origin: publicUrl };
  assert.equal((await signIn(till.url, 'wrong', origin)).status, 401);
  const cookie = await openSession(till.url, testKey);
  await callConsole(till.url, '/session', cookie, { method: 'DELETE' });
  await callConsole(till.url, '/session', cookie, { method: 'DELETE' });
  const own = (await entries(`&createdAfter=${before?.createdAt}`)).filter(
    ({ id }) => id > (before?.id ?? ''),
  );
  assert.deepEqual(own.map(({ action, actor, outcome }) => [action, actor.keyName, outcome]).toReversed(), [
    ['session.refused', null, 401],
    ['session.created', 'tests', 204],
    ['session.ended', 'tests', 204],
  ]);
});

test('a path that cannot contain an id leaves no text in the log', async () => {
  const response = await till.call('POST', `/webhook-events/${encodeURIComponent('ada@example.com')}/replay`);
  assert.ok(response.status >= 400 && response.status < 500, String(response.status));
  const [entry] = await entries('&action=replayWebhookEvent');
  assert.deepEqual([entry?.objectId, entry?.outcome], [null, response.status]);
});

test('a page follows the other, filters combine, and malformed ones are refused', async () => {
  await createPayment(till);
  const all = await entries();
  const walked: string[] = [];
  let cursor: string | null = null;
  do {
    const page: { data: readonly Entry[]; nextCursor: string | null } = await till.get(
      `/audit-log?limit=3${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    walked.push(...page.data.map(({ id }) => id));
    cursor = page.nextCursor;
  } while (cursor !== null);
  assert.deepEqual(
    walked,
    all.map(({ id }) => id),
  );
  assert.deepEqual(walked, walked.toSorted().toReversed());
  const [newest] = all;
  assert.deepEqual(
    await entries(`&createdBefore=${newest?.createdAt}&createdAfter=${newest?.createdAt}`),
    [],
  );
  const both = await entries('&actor=tests&action=createApiKey');
  assert.ok(
    both.length > 0 &&
      both.every(({ action, actor }) => action === 'createApiKey' && actor.keyName === 'tests'),
  );
  assert.deepEqual(await entries('&actor=unknown'), []);
  for (const query of [
    'createdAfter=yesterday',
    'actor=',
    'cursor=x',
    'unknown=1',
    'limit=0',
    `action=${'a'.repeat(65)}`,
  ])
    assert.equal((await till.tryGet(`/audit-log?${query}`)).status, 400, query);
  const { key } = await till.post<{ key: string }>('/api-keys', {
    name: 'operator',
    scopes: ['operate', 'write'],
  });
  assert.equal((await createClient(till, key).tryGet('/audit-log')).status, 403);
});

test('no statement changes an entry, or deletes one before its time, not even one of the owner', async () => {
  const parts = await till.sql<{ name: string }>(
    `select format('%I.%I', relnamespace::regnamespace, relname) as name from pg_class
     where oid in (select inhrelid from pg_inherits where inhparent = 'till.audit_log'::regclass)`,
  );
  assert.ok(parts.length > 4, 'some weeks, and the default partition');
  for (const statement of [
    ...['till.audit_log', ...parts.map(({ name }) => name)].map((name) => `truncate ${name}`),
    `update till.audit_log set outcome = 200`,
    `delete from till.audit_log`,
    `delete from till.audit_log where created_at < now() - interval '399 days' or true`,
  ])
    await assert.rejects(till.sql(statement), /only written, never changed/);
  await till.sql(
    `insert into till.audit_log (id, created_at, action, outcome)
     select gen_random_uuid(), now() - make_interval(days => days), 'old', 200 from unnest(array[399, 401]) as days`,
  );
  await till.services.retention.run();
  const left = await till.sql<{ days: number }>(
    `select extract(day from now() - created_at)::int as days from till.audit_log where action = 'old'`,
  );
  assert.deepEqual(left, [{ days: 399 }]);
});
