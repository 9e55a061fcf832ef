/** Web pages that a developer happens to open must not steer a sandbox on the same machine. */
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { type Sandbox, type SandboxOptions, startSandbox } from '../sandbox.ts';
import { clientOf } from './support.ts';

const json = { 'content-type': 'application/json' };
const advance = '{"advanceSeconds":60}';

/** Every control that changes something, with a body that it accepts. */
const changes = [
  ['POST', 'clock', advance],
  ['POST', 'delivery', '{"mode":"paused"}'],
  ['POST', 'delivery/flush', ''],
  ['POST', 'dunning', '{"afterwards":"unpaid"}'],
  ['POST', 'search', '{"lagSeconds":60}'],
  ['POST', 'faults', '{"operation":"*","kind":"hang","times":9}'],
  ['DELETE', 'faults', ''],
  ['POST', 'fixtures', '{"customers":[{"id":"cus_foreign"}]}'],
  ['POST', 'reset', ''],
] as const;

async function start(t: TestContext, options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const sandbox = await startSandbox({ port: 0, ...options });
  t.after(() => sandbox.close());
  return sandbox;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Unlike `fetch`, it sends any Host, and no content type of its own. */
async function send({ port }: Sandbox, path: string, { method = 'GET', headers = {}, body = '' }: Sent = {}) {
  const sent = request({ host: '127.0.0.1', port, path, method, headers });
  const { promise, resolve, reject } = Promise.withResolvers<{
    readonly status: number;
    readonly text: string;
    readonly headers: Readonly<Record<string, unknown>>;
  }>();
  sent.on('error', reject);
  sent.on('response', async (response) =>
    resolve({ status: response.statusCode ?? 0, text: await text(response), headers: response.headers }),
  );
  sent.end(body);
  return promise;
}

/** What the controls change, as they show it. */
async function stateOf(sandbox: Sandbox): Promise<unknown> {
  const paths = ['clock', 'delivery', 'dunning', 'search', 'faults'];
  const states = await Promise.all(paths.map((path) => send(sandbox, `/sandbox/${path}`)));
  const { text: overview } = await send(sandbox, '/sandbox');
  return [...states.map((state) => state.text.replace(/"now":\d+/, '')), overview.replace(/"now":\d+/, '')];
}

test('403: a Host that is not an address, localhost or an allowed name, such as a rebound name', async (t) => {
  const sandbox = await start(t);
  const before = await stateOf(sandbox);
  const { port } = sandbox;
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    `sandbox:${port}`,
    `localhost.evil.example:${port}`,
    `evil.localhost:${port}`,
    `127.0.0.1.evil.example:${port}`,
    'user@127.0.0.1',
    '127.0.0.1:x',
  ]) {
    for (const [method, path, body] of changes) {
      const headers = { host, ...(body === '' ? {} : json) };
      const refused = await send(sandbox, `/sandbox/${path}`, { method, body, headers });
      assert.equal(refused.status, 403, `${host} ${path}`);
      assert.match(refused.text, /SANDBOX_ALLOWED_HOSTS/);
    }
    for (const path of ['/sandbox', '/sandbox/nothing', '/worlds/x/sandbox/clock'])
      assert.equal((await send(sandbox, path, { headers: { host } })).status, 403, `${host} ${path}`);
  }
  assert.deepEqual(await stateOf(sandbox), before);
  for (const host of ['127.0.0.1', `10.1.2.3:${port}`, `[::1]:${port}`, 'localhost', `LocalHost:${port}`])
    assert.equal((await send(sandbox, '/sandbox', { headers: { host } })).status, 200, host);
});

test('200: the name that the sandbox listens on, and the names that are allowed', async (t) => {
  const sandbox = await start(t, { host: 'localhost', allowedHosts: ['sandbox', 'Tests.Example'] });
  for (const host of ['localhost', `sandbox:${sandbox.port}`, 'SANDBOX', 'tests.example', 'tests.example.'])
    assert.equal((await send(sandbox, '/sandbox', { headers: { host } })).status, 200, host);
  assert.equal((await send(sandbox, '/sandbox', { headers: { host: 'example' } })).status, 403);
});

test('403: an Origin of another page, and no permission for it to send more', async (t) => {
  const sandbox = await start(t);
  const before = await stateOf(sandbox);
  const host = `localhost:${sandbox.port}`;
  for (const origin of [
    'https://evil.example',
    'null',
    'http://localhost:3000',
    `http://127.0.0.1:${sandbox.port}`,
  ]) {
    for (const [method, path, body] of changes) {
      const headers = { host, origin, ...(body === '' ? {} : json) };
      const refused = await send(sandbox, `/sandbox/${path}`, { method, body, headers });
      assert.equal(refused.status, 403, `${origin} ${path}`);
      const preflight = {
        ...{ host, origin, 'access-control-request-method': method },
        'access-control-request-headers': 'content-type',
      };
      const asked = await send(sandbox, `/sandbox/${path}`, { method: 'OPTIONS', headers: preflight });
      assert.equal(asked.status, 403);
      for (const name of Object.keys(asked.headers)) assert.doesNotMatch(name, /^access-control/);
    }
    assert.equal((await send(sandbox, '/sandbox', { headers: { host, origin } })).status, 403);
  }
  assert.deepEqual(await stateOf(sandbox), before);
  for (const origin of [`http://${host}`, `https://${host}`])
    assert.equal((await send(sandbox, '/sandbox', { headers: { host, origin } })).status, 200);
});

test('415: a body that a form can send', async (t) => {
  const sandbox = await start(t);
  const before = await stateOf(sandbox);
  for (const type of [
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain',
    'text/plain; charset=application/json',
    'application/jsonx',
    undefined,
  ])
    for (const [method, path, body] of changes) {
      if (type === undefined && body === '') continue;
      const headers = type === undefined ? {} : { 'content-type': type };
      const refused = await send(sandbox, `/sandbox/${path}`, { method, body, headers });
      assert.equal(refused.status, 415, `${type} ${path}`);
    }
  assert.deepEqual(await stateOf(sandbox), before);
  for (const type of ['application/json', 'Application/JSON; charset=utf-8']) {
    const headers = { 'content-type': type };
    const moved = await send(sandbox, '/sandbox/clock', { method: 'POST', body: advance, headers });
    assert.equal(moved.status, 200);
  }
});

test('pages for people have forms, and work under every name; the wire API needs its secret key', async (t) => {
  const sandbox = await start(t);
  const stripe = clientOf(sandbox.port);
  const { id: customer } = await stripe.customers.create({});
  await stripe.invoiceItems.create({ customer, amount: 1_200, currency: 'usd' });
  const draft = await stripe.invoices.create({ customer, pending_invoice_items_behavior: 'include' });
  const invoice = await stripe.invoices.finalizeInvoice(draft.id);
  const { pathname, search } = new URL(String(invoice.hosted_invoice_url));
  const headers = { host: 'shop.example', origin: 'null' };
  assert.equal((await send(sandbox, pathname + search, { headers })).status, 200);
  const paid = await send(sandbox, pathname + search, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'payment_method=pm_card_visa',
  });
  assert.equal(paid.status, 303, paid.text);
  assert.equal((await stripe.invoices.retrieve(draft.id)).status, 'paid');
  assert.equal((await send(sandbox, '/v1/customers', { headers })).status, 401);
});
