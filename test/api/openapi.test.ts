import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { grants, type Scope, scopes } from '../../src/model/api-key.ts';
import { eventFixture } from '../fixtures/event-fixture.ts';
import { createCheckout, pages } from '../support/checkouts.ts';
import { testKey } from '../support/client.ts';
import {
  confirmPayment,
  createCustomer,
  createPaidPayment,
  createPayment,
  createPlan,
  createSubscription,
  readSubscription,
  saveCard,
} from '../support/objects.ts';
import { type Documented, loadOpenapi, type Schema } from '../support/openapi-document.ts';
import { appendForIds, idOfPlace } from '../support/stored-events.ts';
import { startTill } from '../support/till.ts';
import { createMeter, type UsageBody, usageOf } from '../support/usage.ts';

interface Request {
  /** Replaces `{id}`. */
  readonly id?: string;
  /** Replaces `{paymentMethodId}`. */
  readonly paymentMethodId?: string;
  readonly query?: string;
  readonly body?: unknown;
  /** A body as it is, in place of JSON. */
  readonly raw?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const limited = await startTill({
  in: 'process',
  for: { after },
  requestsPerMinute: 1,
  usageRequestsPerMinute: 1,
  mustNotLogErrors: true,
});
/** It does not wait for its turn. */
const impatient = await startTill({ in: 'process', on: till, turnWaitMs: 1, mustNotLogErrors: true });
const { sql, control, call } = till;

const { operations, assertDocumented } = await loadOpenapi(till.url);
/** The sandbox is not embedded here, and its reset would delete what these tests create. */
const withTestsElsewhere = ['POST /api/v1/sandbox/reset'];
const api = operations.filter(({ isApi, name }) => isApi && !withTestsElsewhere.includes(name));

const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
/** The statuses that each operation has returned. */
const seen = new Map<string, Set<string>>(api.map(({ name }) => [name, new Set()]));

/** Sends the request and checks the response against what is documented for its status and type. */
async function send(operation: Documented, request: Request, to = till): Promise<number> {
  const path = operation.path
    .replace('{id}', request.id ?? unknownId)
    .replace('{paymentMethodId}', request.paymentMethodId ?? 'pm_unknown');
  const body = request.raw ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  const response = await fetch(`${to.url}${path}${request.query ?? ''}`, {
    method: operation.method,
    headers: {
      'x-api-key': testKey,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  // Only one resync runs at a time, and it goes on after its response.
  await till.services.resyncRuns.stop();
  assertDocumented(operation, {
    status: response.status,
    contentType: response.headers.get('content-type'),
    text,
  });
  seen.get(operation.name)?.add(String(response.status));
  return response.status;
}

/** A request that must succeed: the documented example, with ids of objects that were created for it. */
async function rightRequest(operation: Documented): Promise<Request> {
  const example = operation.requestBody?.content['application/json']?.example;
  const target = operation.path.includes('{id}') ? { id: await makeTarget(operation.path) } : {};
  const needsCard = [operation.path, JSON.stringify(example)].some((text) =>
    text?.includes('paymentMethodId'),
  );
  const card =
    needsCard && target.id !== undefined
      ? { paymentMethodId: (await saveCard(till, await holderOf(operation.path, target.id))).paymentMethodId }
      : {};
  const created = { ...target, ...card };
  // Without `fresh`, entitlements need no call to the processor.
  if (operation.path === '/api/v1/entitlements')
    return { ...created, query: `${await makeExternalId()}&fresh=true` };
  if (operation.path.endsWith('/entitlements')) return { ...created, query: '?fresh=true' };
  if (operation.path.startsWith('/api/v1/usage') && operation.method === 'GET')
    return { ...created, query: `?customerId=${(await createCustomer(till)).id}&meter=${await makeMeter()}` };
  if (operation.path === '/api/v1/search') return { ...created, query: '?q=ada@example.com' };
  if (operation.path === '/api/v1/overview/moves') return { ...created, query: '?move=new&currency=eur' };
  if (operation.path === '/api/v1/overview/subscribers') return { ...created, query: '?currency=eur' };
  if (example === undefined) return created;
  if ('events' in example) return { ...created, body: { events: [await newUsage()] } };
  if ('meter' in example) return { ...created, body: await newUsage() };
  const ids = {
    ...('after' in example ? { after: (await appendForIds(sql, [{}]))[0] } : {}),
    ...('paymentMethodId' in example ? card : {}),
    ...('endpointId' in example ? { endpointId: await makeEndpoint() } : {}),
    ...('customerId' in example ? { customerId: (await createCustomer(till)).id } : {}),
    ...('planId' in example ? { planId: (await createPlan(till)).id } : {}),
    ...('addOns' in example
      ? { addOns: [{ planId: (await createPlan(till, { addOn: true })).id, quantity: 2 }] }
      : {}),
    ...('externalId' in example ? { externalId: randomUUID() } : {}),
    ...('resets' in example ? { key: randomUUID() } : {}),
  };
  return { ...created, body: { ...example, ...ids } };
}

/** A request about nothing that exists, for refusals that come before anything is looked for. */
function exampleRequest({ requestBody }: Documented): Request {
  return { body: requestBody?.content['application/json']?.example };
}

/** A query that names a customer. */
async function makeExternalId(): Promise<string> {
  const externalId = randomUUID();
  await call('POST', '/customers', { email: 'ada@example.com', externalId });
  return `?externalId=${externalId}`;
}

async function makeTarget(path: string): Promise<string> {
  const [, , , resource = '', , action] = path.split('/');
  const makers: Readonly<Record<string, () => Promise<string>>> = {
    customers: async () => (await createCustomer(till)).id,
    plans: async () => (await createPlan(till)).id,
    payments: () => makePayment(action),
    subscriptions: () => makeSubscription(action),
    invoices: makeInvoice,
    checkouts: async () =>
      (await createCheckout(till, { customerId: (await createCustomer(till)).id, saveCard: true })).checkout
        .id,
    'webhook-events': makeWebhookEvent,
    'api-keys': async () => (await createKey(['read'])).id,
    'event-endpoints': makeEndpoint,
    events: async () => (await appendForIds(sql, [{}]))[0] ?? '',
    resyncs: makeResync,
    meters: async () => (await createMeter(till)).id,
  };
  const make = makers[resource];
  assert.ok(make !== undefined, `no test creates ${resource}: ${path}`);
  return make();
}

function createKey(scopes: readonly Scope[]): Promise<{ readonly id: string; readonly key: string }> {
  return till.post('/api-keys', { name: scopes.join('.'), scopes });
}

/** The scope that the document names for an operation. */
function scopeOf({ name, security }: Documented): Scope {
  const [scope, ...more] = security?.[0]?.['apiKey'] ?? [];
  assert.ok(scope !== undefined && more.length === 0, `${name} declares one scope`);
  const known = scopes.find((candidate) => candidate === scope);
  assert.ok(known !== undefined, `${name}: ${scope}`);
  return known;
}

/** The customer whose cards the target of the path can charge. */
async function holderOf(path: string, id: string): Promise<{ readonly id: string }> {
  if (!path.startsWith('/api/v1/subscriptions/')) return { id };
  return { id: (await readSubscription(till, { id })).customerId };
}

/** One that waits for its first payment can be paid, and cannot be changed. */
async function makeSubscription(action: string | undefined): Promise<string> {
  if (action !== 'pay') return (await createSubscription(till, { trialPeriodDays: 7 })).subscription.id;
  const customer = await createCustomer(till);
  const { paymentMethodId } = await saveCard(till, customer);
  await call('PUT', `/customers/${customer.id}/default-payment-method`, { paymentMethodId });
  return (await createSubscription(till, { customerId: customer.id })).subscription.id;
}

async function makePayment(action: string | undefined): Promise<string> {
  if (action === 'refund') return (await createPaidPayment(till)).id;
  const payment = await createPayment(till, action === 'capture' ? { captureMethod: 'manual' } : {});
  if (action === 'capture') await confirmPayment(till, payment);
  return payment.id;
}

async function makeInvoice(): Promise<string> {
  const { id: customer } = await till.stripe.customers.create({});
  const { id: processorInvoiceId } = await till.stripe.invoices.create({ customer });
  const [row] = await sql<{ id: string }>(
    `insert into till.invoices (id, processor_invoice_id, amount_due, amount_paid, amount_remaining, currency, status,
       attempt_count, processor_as_of, processor_as_of_latest, created_at, updated_at)
     values (gen_random_uuid(), $1, 1900, 0, 1900, 'eur', 'open', 0, now(), now(), now(), now()) returning id`,
    [processorInvoiceId],
  );
  return row?.id ?? '';
}

async function makeEndpoint(): Promise<string> {
  // There is a maximum.
  await sql('delete from till.event_endpoints');
  const { id } = await till.post<{ id: string }>('/event-endpoints', { url: 'https://shop.example.com/' });
  return id;
}

/** Returns its key. */
async function makeMeter(): Promise<string> {
  // There is a maximum.
  await sql('delete from till.meters');
  return (await createMeter(till)).key;
}

async function newUsage(): Promise<UsageBody> {
  return usageOf(await createCustomer(till), { key: await makeMeter() });
}

/** One that has ended: only one runs at a time. */
async function makeResync(): Promise<string> {
  const [row] = await sql<{ id: string }>(
    `insert into till.resyncs (id, status, started_at, ended_at)
     values (gen_random_uuid(), 'finished', now(), now()) returning id`,
  );
  return row?.id ?? '';
}

/** The endpoint that the first request with the idempotency key created is gone. */
async function createDeleted(operation: Documented, right: Request): Promise<void> {
  const request = { ...right, headers: { 'idempotency-key': 'deleted-meanwhile' } };
  assert.equal(await send(operation, request), 201);
  await sql('delete from till.event_endpoints');
  assert.equal(await send(operation, request), 404);
}

async function makeWebhookEvent(): Promise<string> {
  const [row] = await sql<{ id: string }>(
    `insert into till.webhook_events (id, type, created_at, payload, state, next_try_at, received_at)
     values ('evt_' || gen_random_uuid(), 'balance.available', now(), $1, 'ignored', now(), now()) returning id`,
    [eventFixture('balance.available')],
  );
  return row?.id ?? '';
}

/** Values that do not fit a schema, for every kind of field that the document has. */
function wrongValues(schema: Schema): readonly unknown[] {
  // An empty list is right unless it needs an item.
  const isList = schema.type === 'array' && schema.minItems === undefined;
  return [
    isList ? {} : [],
    ...(schema.type === 'integer' || schema.type === 'number' ? ['x', 1.5] : []),
    ...(schema.minimum === undefined ? [] : [schema.minimum - 1]),
    ...(schema.maximum === undefined ? [] : [schema.maximum + 1]),
    ...(schema.enum === undefined ? [] : ['none of these']),
  ];
}

test('every operation below /api/v1 succeeds with its documented example and an API key that has only its scope', async () => {
  assert.ok(api.length >= 20);
  const keys = new Map<Scope, string>();
  for (const scope of scopes) keys.set(scope, (await createKey([scope])).key);
  for (const operation of api) {
    const headers = { 'x-api-key': keys.get(scopeOf(operation)) ?? '' };
    const status = await send(operation, { ...(await rightRequest(operation)), headers });
    assert.ok(status < 300, `${operation.name} returned ${status}`);
  }
});

test('an operation that documents a 304 returns it to a caller that has the response already', async () => {
  for (const operation of api.filter(({ responses }) => '304' in responses)) {
    const headers = { 'if-none-match': '*' };
    assert.equal(await send(operation, { ...(await rightRequest(operation)), headers }), 304);
  }
});

test('every operation outside of it responds as documented', async () => {
  for (const operation of operations.filter(({ isApi }) => !isApi)) await send(operation, {});
});

test('optional fields can be left out, and required ones cannot', async () => {
  for (const operation of api) {
    const right = exampleRequest(operation);
    const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query');
    if (parameters.some(({ required }) => required))
      assert.equal(await send(operation, {}), 400, `${operation.name} requires a parameter`);
    if (operation.requestBody === undefined) continue;
    const { body: _, ...bodiless } = right;
    const status = await send(operation, bodiless);
    assert.equal(
      status === 400,
      operation.requestBody.required,
      `${operation.name} without a body: ${status}`,
    );
    const schema = operation.requestBody.content['application/json']?.schema;
    for (const name of schema?.required ?? []) {
      const body = { ...(right.body as object), [name]: undefined };
      assert.equal(await send(operation, { ...right, body }), 400, `${operation.name} without ${name}`);
    }
  }
});

test('400: each field and parameter, wrong in each way, and one that is unknown', async () => {
  for (const operation of api) {
    const right = exampleRequest(operation);
    for (const parameter of (operation.parameters ?? []).filter(({ in: place }) => place === 'query')) {
      if (parameter.schema.type === 'string') continue;
      for (const value of wrongValues(parameter.schema)) {
        const query = `?${parameter.name}=${encodeURIComponent(String(value))}`;
        assert.equal(await send(operation, { ...right, query }), 400, `${operation.name}${query}`);
      }
    }
    assert.equal(await send(operation, { ...right, query: '?unknown=1' }), 400, operation.name);
    if (operation.method === 'GET') continue;
    const unknown = { ...(right.body as object | undefined), unknown: 1 };
    assert.equal(await send(operation, { ...right, body: unknown }), 400, operation.name);
    assert.equal(await send(operation, { ...right, raw: '{' }), 400, operation.name);
    const fields = operation.requestBody?.content['application/json']?.schema.properties ?? {};
    for (const [name, schema] of Object.entries(fields)) {
      for (const value of wrongValues(schema)) {
        const body = { ...(right.body as object), [name]: value };
        assert.equal(await send(operation, { ...right, body }), 400, `${operation.name} ${name}: ${value}`);
      }
    }
  }
});

test('401: without a valid API key', async () => {
  // Two processes, because each accepts only so many wrong API keys a minute.
  for (const [index, operation] of api.entries()) {
    const to = index % 2 === 0 ? till : impatient;
    assert.equal(await send(operation, { headers: { 'x-api-key': 'wrong' } }, to), 401, operation.name);
  }
});

test('403: an API key that has every scope except those that imply the one of the operation', async () => {
  for (const scope of scopes) {
    const ofScope = api.filter((operation) => scopeOf(operation) === scope);
    assert.ok(ofScope.length > 0, scope);
    const others = scopes.filter((other) => !grants([other], scope));
    const headers = { 'x-api-key': (await createKey(others)).key };
    for (const operation of ofScope) {
      assert.equal(await send(operation, { headers }), 403, operation.name);
      assert.match(operation.description ?? '', new RegExp(`scope \`${scope}\``));
    }
  }
});

test('404: an unknown id, one that is not an id, and one in a body', async () => {
  for (const operation of api) {
    const { body: example } = exampleRequest(operation);
    if (operation.path.includes('{id}')) {
      for (const id of [unknownId, 'x'])
        assert.equal(await send(operation, { body: example, id }), 404, operation.name);
    }
    for (const name of ['customerId', 'planId'].filter((name) => name in Object(example))) {
      const { body, ...known } = await rightRequest(operation);
      const unknown = { ...(body as object), [name]: unknownId };
      assert.equal(await send(operation, { ...known, body: unknown }), 404, operation.name);
    }
    if (operation.name === 'POST /api/v1/event-endpoints')
      await createDeleted(operation, await rightRequest(operation));
    if (operation.path.startsWith('/api/v1/usage') && operation.method === 'GET')
      assert.equal(await send(operation, { query: `?customerId=${unknownId}&meter=x` }), 404, operation.name);
    if (operation.path === '/api/v1/entitlements')
      assert.equal(await send(operation, { query: '?externalId=unknown' }), 404, operation.name);
  }
});

test('200, 402, 409 and 410: what exists, a declined charge, a change that the current state forbids, and an event that is gone', async () => {
  const operation = (name: string) => {
    const found = api.find((candidate) => candidate.name === name);
    assert.ok(found !== undefined, name);
    return found;
  };
  const paid = await createPaidPayment(till);
  assert.equal(await send(operation('POST /api/v1/payments/{id}/cancel'), { id: paid.id }), 409);
  const payment = await createPayment(till);
  assert.equal(await send(operation('POST /api/v1/payments/{id}/refund'), { id: payment.id }), 409);
  assert.equal(await send(operation('POST /api/v1/payments/{id}/capture'), { id: payment.id }), 409);
  const { subscription } = await createSubscription(till, { trialPeriodDays: 7 });
  const id = subscription.customerId;
  const pay = operation('POST /api/v1/subscriptions/{id}/pay');
  assert.equal(await send(pay, { id: subscription.id }), 409);
  const { subscription: unpaid } = await createSubscription(till);
  const declined = await saveCard(till, { id: unpaid.customerId }, 'pm_card_chargeCustomerFail');
  const { paymentMethodId: bad } = declined;
  assert.equal(await send(pay, { id: unpaid.id, body: { paymentMethodId: bad } }), 402);
  const { paymentMethodId } = await saveCard(till, { id });
  // Another process has the turn of the subscription.
  await sql(
    `insert into till.subscription_turns (subscription_id, writer_id, owner, leased_until)
     values ($1, $2, 1, now() + interval '1 day')`,
    [subscription.id, unknownId],
  );
  const setDefault = operation('PUT /api/v1/customers/{id}/default-payment-method');
  assert.equal(await send(setDefault, { id, body: { paymentMethodId } }, impatient), 409);
  const cancel = operation('DELETE /api/v1/subscriptions/{id}');
  assert.equal(await send(cancel, { id: subscription.id }, impatient), 409);
  await sql('delete from till.subscription_turns where subscription_id = $1', [subscription.id]);
  await call('PUT', `/customers/${id}/default-payment-method`, { paymentMethodId });
  const remove = operation('DELETE /api/v1/customers/{id}/payment-methods/{paymentMethodId}');
  assert.equal(await send(remove, { id, paymentMethodId }), 409);
  const other = await createCustomer(till);
  const { checkout } = await createCheckout(till, { customerId: other.id, saveCard: true });
  await control('faults', { operation: 'checkout_sessions.expire', kind: 'error', status: 400 });
  assert.equal(await send(operation('DELETE /api/v1/customers/{id}'), { id: checkout.customerId }), 409);
  await till.clearFaults();
  const { id: planId } = await createPlan(till);
  await call('POST', `/plans/${planId}/archive`);
  const subscribe = operation('POST /api/v1/subscriptions');
  const right = await rightRequest(subscribe);
  assert.equal(await send(subscribe, { ...right, body: { ...(right.body as object), planId } }), 409);
  const grouped = await createPlan(till, { group: 'documented' });
  const sale = { ...pages, customerId: other.id, planId: grouped.id };
  const sell = operation('POST /api/v1/checkouts');
  assert.equal(await send(sell, { body: sale }), 201);
  assert.equal(await send(sell, { body: sale }), 200);
  const signUp = operation('POST /api/v1/customers');
  const { body } = await rightRequest(signUp);
  assert.equal(await send(signUp, { body }), 201);
  assert.equal(await send(signUp, { body }), 200);
  assert.equal(await send(signUp, { body: { ...(body as object), email: 'other@example.com' } }), 409);
  const replay = { id: await makeEndpoint(), body: { after: await idOfPlace(till.sql, 1, 1) } };
  assert.equal(await send(operation('POST /api/v1/event-endpoints/{id}/replay'), replay), 410);
  const resend = operation('POST /api/v1/events/{id}/resend');
  assert.equal(await send(resend, { id: replay.body.after }), 410);
  await call('PATCH', `/event-endpoints/${replay.id}`, { enabled: false });
  const [eventId = ''] = await appendForIds(sql, [{}]);
  assert.equal(await send(resend, { id: eventId, body: { endpointId: replay.id } }), 409);
  const resendFailed = operation('POST /api/v1/event-endpoints/{id}/resend-failed');
  assert.equal(await send(resendFailed, { id: replay.id }), 409);
  const { externalId } = Object(body);
  const change = { id: other.id, body: { externalId } };
  assert.equal(await send(operation('PATCH /api/v1/customers/{id}'), change), 409);
});

test('410: an event that is no longer kept', async () => {
  for (const operation of api.filter(({ method, responses }) => method === 'GET' && '410' in responses)) {
    const id = await idOfPlace(till.sql, 1, 0);
    const request = operation.path.includes('{id}') ? { id } : { query: `?after=${id}` };
    assert.equal(await send(operation, request), 410, operation.name);
  }
});

test('413 and 415: a body that is too large, or is not JSON', async () => {
  for (const operation of api.filter(({ method }) => method !== 'GET')) {
    // A batch of usage may be larger than the body of any other operation.
    const bytesMax = operation.name === 'POST /api/v1/usage' ? 4_194_304 : 1_048_576;
    const raw = JSON.stringify({ unknown: 'x'.repeat(bytesMax) });
    assert.equal(await send(operation, { raw }), 413, operation.name);
    const headers = { 'content-type': 'text/plain' };
    assert.equal(await send(operation, { raw: 'hello', headers }), 415, operation.name);
  }
});

test('422: an idempotency key that was used for another request', async () => {
  for (const operation of api) {
    const fields = operation.requestBody?.content['application/json']?.schema.properties ?? {};
    if (!('idempotencyKey' in fields)) continue;
    const headers = { 'idempotency-key': operation.name.replaceAll(' ', '_') };
    assert.ok((await send(operation, { ...(await rightRequest(operation)), headers })) < 300);
    const other = await rightRequest(operation);
    const change =
      'amount' in fields
        ? { amount: 1_001 }
        : 'email' in fields
          ? { email: 'b@example.com' }
          : 'scopes' in fields
            ? { name: 'another' }
            : 'url' in fields
              ? { url: 'https://b.example.com/' }
              : {};
    const body = { ...(other.body as object), ...change };
    assert.equal(await send(operation, { ...other, body, headers }), 422, operation.name);
  }
});

test('429: more requests than allowed', async () => {
  await limited.call('GET', '/plans');
  await limited.call('POST', '/usage');
  for (const operation of api) assert.equal(await send(operation, {}, limited), 429, operation.name);
});

test('502 and 503: whatever the processor does', async (t) => {
  t.after(() => till.clearFaults());
  const calling = api.filter(({ responses }) => '502' in responses);
  assert.ok(calling.length >= 10);
  for (const [fault, status] of [
    [{ kind: 'error', status: 401 }, 502],
    [{ kind: 'error', status: 503 }, 503],
  ] as const) {
    const requests = await Promise.all(
      calling.map(async (operation) => ({ operation, request: await rightRequest(operation) })),
    );
    await control('faults', { operation: '*', times: 1_000, ...fault });
    await Promise.all(
      requests.map(async ({ operation, request }) =>
        assert.equal(await send(operation, request), status, operation.name),
      ),
    );
    await till.clearFaults();
  }
});

test('every documented status has been seen, except those that need a defect or an outage of Till', () => {
  for (const { name, method, responses } of api) {
    const documented = Object.keys(responses).filter((status) => {
      const isOutage = status === '500' || (status === '503' && !('502' in responses));
      // A declined charge, an idempotency key in use, a value that only the processor refuses and a time-out, which takes
      // ten seconds, have tests of their own.
      const isTestedElsewhere =
        (status === '409' && ['POST', 'PATCH'].includes(method)) || ['402', '422', '504'].includes(status);
      return !isOutage && !isTestedElsewhere;
    });
    const missing = documented.filter((status) => !seen.get(name)?.has(status));
    assert.deepEqual(missing, [], `${name} never returned it`);
  }
});
