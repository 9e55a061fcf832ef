import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { SandboxControl } from '#operators/sandbox-control/sandbox-control.ts';
import { registerSandboxRoutes } from '#operators/sandbox-control/sandbox-routes.ts';
import { openPage } from '../../sandbox/test/page-support.ts';
import { createClient, testKey } from '../support/client.ts';
import { startFrame } from '../support/frame.ts';
import {
  createPayment,
  createSubscription,
  type InvoiceBody,
  type PageBody,
  readSubscription,
} from '../support/objects.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { startTill } from '../support/till.ts';
import { startWholeTill } from '../support/whole-till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
beforeEach(async () => {
  await till.clearFaults();
});

const newPayment = async () => (await createPayment(till)).id;

const remove = async (path: string) => {
  const response = await till.call('DELETE', path);
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

test('the sandbox returns its address and its state', async () => {
  const { now, ...state } = await till.get<{ now: string }>('/sandbox');
  assert.deepEqual(state, { url: till.processorUrl, account: 'acct_sandbox', deliveryMode: 'paused' });
  assert.equal(new Date(now).toISOString(), now);
});

test('the clock moves, and what was due by then is done before the response arrives', async () => {
  const before = await till.get<{ now: string; offsetSeconds: number }>('/sandbox/clock');
  const moved = await till.post<{ now: string; offsetSeconds: number }>('/sandbox/clock', {
    advanceSeconds: 86_400,
  });
  assert.ok(Math.abs(moved.offsetSeconds - before.offsetSeconds - 86_400) <= 1, JSON.stringify(moved));
  assert.ok(Date.parse(moved.now) - Date.parse(before.now) >= 86_400_000);
  for (const body of [
    {},
    { advanceSeconds: -1 },
    { advanceSeconds: 366 * 86_400 + 1 },
    { advanceSeconds: 1.5 },
    { advanceSeconds: 1, to: 5 },
  ]) {
    const refused = await till.tryPost('/sandbox/clock', body);
    assert.deepEqual([refused.status, refused.body['code']], [400, 'invalid_request'], JSON.stringify(body));
  }
});

test('the delivery mode changes, and a flush delivers what waits', async () => {
  assert.equal((await till.post<{ mode: string }>('/sandbox/delivery', { mode: 'shuffle' })).mode, 'shuffle');
  await till.post('/sandbox/delivery', { mode: 'paused' });
  await newPayment();
  const waiting = await till.get<{ mode: string; endpoints: Record<string, unknown>[] }>('/sandbox/delivery');
  assert.equal(waiting.mode, 'paused');
  const [endpoint] = waiting.endpoints;
  assert.equal(endpoint?.['url'], `${till.url}/webhooks/processor`);
  assert.ok(Number(endpoint?.['waiting']) > 0);
  const flushed = await till.post<{ endpoints: Record<string, unknown>[] }>('/sandbox/delivery/flush');
  assert.equal(flushed.endpoints[0]?.['waiting'], 0);
  const refused = await till.tryPost('/sandbox/delivery', { mode: 'never' });
  assert.equal(refused.status, 400);
  assert.match(String(refused.body['detail']), /normal, paused, duplicate, shuffle, drop/);
});

test('faults are listed, added and removed, one or all', async () => {
  const { operations } = await till.get<{ operations: string[] }>('/sandbox/operations');
  assert.ok(operations.includes('customers.create'));
  await till.post('/sandbox/faults', { operation: 'customers.create', kind: 'error', status: 400 });
  await till.post('/sandbox/faults', { operation: '*', kind: 'latency', latencyMs: 5, times: 2 });
  const { faults } = await till.get<{ faults: { id: string }[] }>('/sandbox/faults');
  const [{ id, ...first } = { id: '' }, second = { id: '' }] = faults;
  assert.deepEqual(first, {
    ...{ operation: 'customers.create', kind: 'error', times: 1, status: 400, code: null, latencyMs: null },
  });
  const refused = await till.tryPost('/customers', { email: 'jenny@example.com' });
  assert.equal(refused.status, 422);
  const gone = await remove(`/sandbox/faults/${id}`);
  assert.deepEqual([gone.status, gone.body['code']], [404, 'not_found']);
  assert.match(String(gone.body['detail']), /met its last request/);
  assert.deepEqual(await remove(`/sandbox/faults/${second.id}`), { status: 200, body: { faults: [] } });
  assert.equal((await remove('/sandbox/faults/none')).status, 404);
  await till.post('/sandbox/faults', { operation: '*', kind: 'hang' });
  assert.deepEqual((await remove('/sandbox/faults')).body, { faults: [] });
  for (const [body, reason] of [
    [{ operation: 'customer.create', kind: 'hang' }, /"operation" must be/],
    [{ operation: '*', kind: 'latency' }, /"latencyMs" must be/],
    [{ operation: '*', kind: 'explode' }, /must be one of error, latency/],
    [{ operation: '*', kind: 'hang', sometimes: true }, /not a known field/],
  ] as const) {
    const { status, body: problem } = await till.tryPost('/sandbox/faults', body);
    assert.deepEqual([status, problem['code']], [400, 'invalid_request'], JSON.stringify(body));
    assert.match(String(problem['detail']), reason);
  }
});

test('the test cards have their numbers, their names and what they do', async () => {
  const { testCards } = await till.get<{ testCards: Record<string, string>[] }>('/sandbox/test-cards');
  assert.deepEqual(testCards[0], {
    ...{ number: '4242424242424242', paymentMethodId: 'pm_card_visa', brand: 'visa', funding: 'credit' },
    description: 'Succeeds.',
  });
  const declined = testCards.find(({ number }) => number === '4000000000009995');
  assert.equal(declined?.['description'], 'Declined: insufficient_funds.');
  assert.ok(testCards.every(({ description, paymentMethodId }) => description && paymentMethodId));
});

test('an operator pays like the customer: paid, declined, or sent to the bank', async () => {
  const id = await newPayment();
  const confirm = (body: object) => till.tryPost(`/sandbox/payments/${id}/confirm`, body);
  const declined = await confirm({ paymentMethodId: 'pm_card_visa_chargeDeclinedInsufficientFunds' });
  assert.deepEqual(declined.body, {
    status: 'requires_payment_method',
    authenticateUrl: null,
    error: {
      code: 'card_declined',
      declineCode: 'insufficient_funds',
      message: 'Your card has insufficient funds.',
    },
  });
  const waiting = await confirm({
    paymentMethodId: 'pm_card_authenticationRequired',
    returnUrl: 'https://shop.example/done',
  });
  assert.equal(waiting.body['status'], 'requires_action');
  assert.ok(String(waiting.body['authenticateUrl']).startsWith(till.processorUrl));
  const elsewhere = await confirm({ paymentMethodId: 'pm_card_authenticationRequired' });
  assert.ok(String(elsewhere.body['authenticateUrl']).startsWith(till.processorUrl));
  const paid = await confirm({ paymentMethodId: 'pm_card_visa' });
  assert.deepEqual(paid, {
    status: 200,
    replayed: false,
    body: { status: 'succeeded', authenticateUrl: null, error: null },
  });
  await till.settle();
  const payment = await till.get<{ status: string }>(`/payments/${id}`);
  assert.equal(payment.status, 'succeeded');

  const again = await confirm({ paymentMethodId: 'pm_card_visa' });
  assert.deepEqual([again.status, again.body['code']], [422, 'processor_rejected']);
  assert.match(String(again.body['detail']), /succeeded cannot be confirmed/);
  const other = await newPayment();
  const unknown = await till.tryPost(`/sandbox/payments/${other}/confirm`, { paymentMethodId: 'pm_none' });
  assert.deepEqual([unknown.status, unknown.body['code']], [422, 'processor_rejected']);
  for (const body of [{}, { paymentMethodId: '' }, { paymentMethodId: 'pm_card_visa', returnUrl: 'no' }])
    assert.equal((await confirm(body)).status, 400, JSON.stringify(body));
  const missing = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
  assert.equal((await till.tryPost(`/sandbox/payments/${missing}/confirm`, {})).status, 400);
  const absent = await till.tryPost(`/sandbox/payments/${missing}/confirm`, {
    paymentMethodId: 'pm_card_visa',
  });
  assert.equal(absent.status, 404);
});

test('the customer pays an invoice on its page, and Till follows by webhook', async () => {
  const { subscription } = await createSubscription(till);
  await till.settle();
  const readOnly = async () => {
    const { data } = await till.get<PageBody<InvoiceBody>>(`/invoices?customerId=${subscription.customerId}`);
    assert.ok(data[0] !== undefined);
    return data[0];
  };
  const open = await readOnly();
  const page = await openPage(String(open.hostedInvoiceUrl));
  const declined = await page.send({ payment_method: 'pm_card_visa_chargeDeclined' });
  assert.match(declined.page.text, /Your card was declined\./);
  await till.settle();
  assert.equal((await readSubscription(till, subscription)).status, 'incomplete');
  await page.send({ payment_method: 'pm_card_visa' });
  await till.settle();
  assert.equal((await readOnly()).status, 'paid');
  assert.equal((await readSubscription(till, subscription)).status, 'active');
  const pdf = await fetch(String(open.invoicePdfUrl));
  assert.equal(pdf.headers.get('content-type'), 'application/pdf');
});

test('the sandbox that Till embeds has controls and pages at the address that Till says', async (t) => {
  const database = await createTestDatabase();
  t.after(() => database.drop());
  const folder = await mkdtemp(join(tmpdir(), 'till-embedded-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const whole = await startWholeTill({
    ...{ DATABASE_URL: database.url, DATA_DIR: folder, API_KEYS: `tests:${testKey}` },
  });
  t.after(() => whole.stop());
  const { url } = await whole.get<{ url: string }>('/sandbox');
  const payment = await createPayment(whole);
  const { authenticateUrl } = await whole.post<{ authenticateUrl: string }>(
    `/sandbox/payments/${payment.id}/confirm`,
    { paymentMethodId: 'pm_card_authenticationRequired' },
  );
  assert.ok(authenticateUrl.startsWith(`${url}/`));
  const { page } = await (await openPage(authenticateUrl)).send({ result: 'succeeded' });
  assert.match(page.text, /The payment is now succeeded/);
});

test('the controls need the scope operate, and are not in the OpenAPI document', async () => {
  const { key } = await till.post<{ key: string }>('/api-keys', {
    name: 'shop',
    scopes: ['write', 'refund'],
  });
  const shop = createClient(till, key);
  for (const path of ['', '/clock', '/delivery', '/faults', '/operations', '/test-cards'])
    assert.equal((await shop.tryGet(`/sandbox${path}`)).status, 403, path);
  assert.equal((await shop.tryPost('/sandbox/clock', { advanceSeconds: 1 })).status, 403);
  const operator = await till.post<{ key: string }>('/api-keys', { name: 'console', scopes: ['operate'] });
  assert.equal((await createClient(till, operator.key).tryGet('/sandbox/clock')).status, 200);
  const document = await (await till.fetch('/api/docs/openapi.json')).text();
  assert.deepEqual(document.match(/\/api\/v1\/sandbox[/a-z]*/g), ['/api/v1/sandbox/reset']);
});

/** The controls of a processor that the test plays. */
async function useControls(t: TestContext, respond: RequestListener, timeoutMs?: number) {
  const server = createServer(respond).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const sandbox = new SandboxControl({
    url: `http://127.0.0.1:${port}`,
    secretKey: 'sk_test_x',
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  const frame = await startFrame(t, async (app) =>
    registerSandboxRoutes(app, sandbox, till.services.payments),
  );
  const get = async () => {
    const response = await frame.call('/api/v1/sandbox/clock');
    return { status: response.status, code: ((await response.json()) as { code: string }).code };
  };
  return { server, get };
}

test('a processor that is not the sandbox has no controls', async (t) => {
  const { get } = await useControls(t, (_request, response) => response.end('{"now":1,"offsetSeconds":0}'));
  assert.deepEqual(await get(), { status: 404, code: 'not_found' });
});

test('a sandbox that is down, silent or broken has its own error each', async (t) => {
  const silent = await useControls(t, () => {}, 50);
  assert.deepEqual(await silent.get(), { status: 504, code: 'processor_timeout' });
  const { server, get } = await useControls(t, (_request, response) =>
    response.writeHead(401, { 'till-sandbox': 'true' }).end('{}'),
  );
  assert.deepEqual(await get(), { status: 502, code: 'processor_bad_answer' });
  server.removeAllListeners('request');
  server.on('request', (_request, response) => response.writeHead(200, { 'till-sandbox': 'true' }).end('<'));
  assert.deepEqual(await get(), { status: 503, code: 'processor_unavailable' });
  server.close();
  server.closeAllConnections();
  assert.deepEqual(await get(), { status: 503, code: 'processor_unavailable' });
});

test('a redirect of the sandbox is not followed', async (t) => {
  const asked: (string | undefined)[] = [];
  const { get } = await useControls(t, ({ url }, response) => {
    asked.push(url);
    response.writeHead(307, { 'till-sandbox': 'true', location: '/elsewhere' }).end();
  });
  assert.deepEqual(await get(), { status: 503, code: 'processor_unavailable' });
  assert.deepEqual(asked, ['/sandbox/clock']);
});
