import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { isTillError, TillConnectionError, TillTimeoutError } from '../errors.ts';
import type { Retry, TillOptions } from '../options.ts';
import { Till } from '../till.ts';

const apiKey = 'a-key-that-must-not-be-shown-0123456789';
const customer = { email: 'ada@example.com' };
/** Longer than any test takes. */
const neverMs = 60_000;

type Respond = (response: ServerResponse, count: number, request: IncomingMessage) => void;

/** A server that responds as the test says, and a client of it. */
async function start(t: TestContext, respond: Respond, options: Partial<TillOptions> = {}) {
  const requests: IncomingMessage[] = [];
  const retries: Retry[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    request.resume();
    respond(response, requests.length, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const till = new Till({
    url,
    apiKey,
    retryDelayMs: 1,
    onRetry: (retry) => retries.push(retry),
    ...options,
  });
  return { till, url, server, requests, retries };
}

function answer(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

const ok = (response: ServerResponse) => answer(response, 200, { id: 'cus' });
const problem = (response: ServerResponse, status: number, code: string, headers?: Record<string, string>) =>
  answer(
    response,
    status,
    { code, status, title: 'A title', detail: 'A detail.', requestId: 'r-1' },
    headers,
  );

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    assert.ok(!inspect(error, { depth: 10, showHidden: true }).includes(apiKey), 'no error shows the key');
    return error;
  }
  return assert.fail('the call succeeded');
}

test('a POST or PATCH has one idempotency key for all its attempts, and other methods have none', async (t) => {
  const { till, requests } = await start(t, (response, count) =>
    count % 2 === 1 ? problem(response, 503, 'overloaded') : ok(response),
  );
  await till.customers.create(customer);
  await till.customers.update('cus', { name: 'Ada' });
  await till.customers.create(customer, { idempotencyKey: 'order-1' });
  await till.customers.get('cus');
  const keys = requests.map(({ headers }) => headers['idempotency-key']);
  assert.equal(keys[0], keys[1]);
  assert.equal(keys[2], keys[3]);
  assert.match(keys[0] as string, /^[0-9a-f-]{36}$/);
  assert.notEqual(keys[0], keys[2]);
  assert.deepEqual(keys.slice(4), ['order-1', 'order-1', undefined, undefined]);
  for (const { headers } of requests) assert.equal(headers['x-api-key'], apiKey);
});

test('an idempotency key in the body, as the HTTP API allows it, is used', async (t) => {
  const { till, requests } = await start(t, ok);
  const withKey = { ...customer, idempotencyKey: 'order-2' };
  await till.customers.create(withKey);
  assert.equal(requests[0]?.headers['idempotency-key'], 'order-2');
});

test('an error of Till has its code, its fields and what is needed to repeat the call', async (t) => {
  const { till } = await start(t, (response) =>
    answer(
      response,
      402,
      {
        code: 'payment_declined',
        status: 402,
        title: 'T',
        detail: 'No funds.',
        requestId: 'r-1',
        declineCode: 'x',
      },
      { 'idempotent-replayed': 'true' },
    ),
  );
  const error = await failureOf(till.subscriptions.pay('sub', {}, { idempotencyKey: 'k-1' }));
  assert.ok(isTillError(error, 'payment_declined'));
  const { declineCode, status, detail, requestId, idempotencyKey, attempts, isReplay, message } = error;
  assert.deepEqual([declineCode, status, detail, requestId], ['x', 402, 'No funds.', 'r-1']);
  assert.deepEqual([idempotencyKey, attempts, isReplay], ['k-1', 1, true]);
  assert.equal(message, 'POST /api/v1/subscriptions/{id}/pay: No funds. (payment_declined, status 402)');
  assert.equal(isTillError(error, 'not_found'), false);
});

test('a failure that lasts is thrown after the last retry, and each retry is reported', async (t) => {
  const { till, requests, retries } = await start(t, (response) => problem(response, 503, 'overloaded'));
  const error = await failureOf(till.customers.get('cus', { retries: 2 }));
  assert.ok(isTillError(error, 'overloaded') && error.attempts === 3);
  assert.equal(requests.length, 3);
  assert.deepEqual(
    retries.map(({ attempts }) => attempts),
    [1, 2],
  );
});

test('a refusal is not retried', async (t) => {
  const { till, requests } = await start(t, (response) => problem(response, 409, 'plan_archived'));
  assert.ok(isTillError(await failureOf(till.plans.archive('p')), 'plan_archived'));
  assert.equal(requests.length, 1);
});

test('Retry-After is obeyed, and a call whose time it exceeds fails at once', async (t) => {
  const { till, requests, retries } = await start(t, (response, count) =>
    count === 1
      ? problem(response, 503, 'overloaded', { 'retry-after': '1' })
      : problem(response, 429, 'rate_limited', { 'retry-after': '60' }),
  );
  const startedAtMs = performance.now();
  const error = await failureOf(till.customers.get('cus', { totalTimeoutMs: 30_000 }));
  assert.ok(performance.now() - startedAtMs >= 1_000);
  assert.ok(isTillError(error, 'rate_limited') && error.retryAfterSeconds === 60);
  assert.equal(requests.length, 2);
  assert.ok((retries[0]?.delayMs ?? 0) >= 1_000);
});

test('a server that does not respond meets the timeout of an attempt, and of the whole call', async (t) => {
  const { till } = await start(t, () => {});
  const one = await failureOf(
    till.customers.create(customer, { timeoutMs: 20, retries: 1, idempotencyKey: 'k' }),
  );
  assert.ok(one instanceof TillTimeoutError && one.attempts === 2 && one.idempotencyKey === 'k');
  const whole = await failureOf(till.customers.get('cus', { timeoutMs: neverMs, totalTimeoutMs: 20 }));
  assert.ok(whole instanceof TillTimeoutError && whole.attempts === 1);
});

test('the timeout includes the body of the response', async (t) => {
  const { till } = await start(t, (response) => void response.writeHead(200).write('{'));
  assert.ok(
    (await failureOf(till.customers.get('cus', { timeoutMs: 50, retries: 0 }))) instanceof TillTimeoutError,
  );
});

test('an abort ends a call before it, during an attempt and during the wait for a retry, with the reason', async (t) => {
  const stopped = new Error('stopped');
  const silent = await start(t, () => abort.abort(stopped), { timeoutMs: neverMs });
  const abort = new AbortController();
  assert.equal(await failureOf(silent.till.customers.create(customer, { signal: abort.signal })), stopped);
  assert.equal(await failureOf(silent.till.customers.create(customer, { signal: abort.signal })), stopped);
  assert.equal(silent.requests.length, 1);
  const waiting = new AbortController();
  const busy = await start(t, (response) => problem(response, 503, 'overloaded', { 'retry-after': '60' }), {
    onRetry: () => queueMicrotask(() => waiting.abort(stopped)),
  });
  assert.equal(await failureOf(busy.till.customers.get('cus', { signal: waiting.signal })), stopped);
});

test('a redirect is not followed, so that the API key is sent nowhere else', async (t) => {
  const other = await start(t, ok);
  const { till } = await start(t, (response) => void response.writeHead(307, { location: other.url }).end());
  const error = await failureOf(till.customers.create(customer));
  assert.ok(error instanceof TillConnectionError && error.status === 307 && /redirect/.test(error.message));
  assert.deepEqual(other.requests, []);
});

test('a response that is not from Till is a connection error with its status', async (t) => {
  const html = { 'content-type': 'text/html' };
  const { till, requests } = await start(
    t,
    (response, count) =>
      void response.writeHead([502, 200, 404][count - 1] ?? 500, html).end('<h1>Proxy</h1>'),
  );
  const page = await failureOf(till.customers.get('cus'));
  assert.ok(page instanceof TillConnectionError && page.status === 200, 'after a retry of the 502');
  const missing = await failureOf(till.customers.get('cus'));
  assert.ok(missing instanceof TillConnectionError && missing.status === 404);
  assert.equal(requests.length, 3);
});

test('a problem cannot replace other fields of an error, and a field that is missing has its empty value', async (t) => {
  const hostile = '{"code":"invalid_request","status":200,"stack":"s","name":"n","__proto__":{"attempts":9}}';
  const { till } = await start(t, (response) => void response.writeHead(400).end(hostile));
  const error = await failureOf(till.plans.list());
  assert.ok(isTillError(error, 'invalid_request'));
  assert.deepEqual([error.status, error.name, error.attempts, error.errors], [400, 'TillError', 1, []]);
  assert.notEqual(error.stack, 's');
});

test('health is a result even if something is down, and a problem of the service is an error', async (t) => {
  const down = { status: 'error', info: {}, error: {}, details: {} };
  const { till } = await start(t, (response, count) =>
    count === 1 ? answer(response, 503, down) : problem(response, 503, 'overloaded'),
  );
  assert.deepEqual(await till.health(), down);
  assert.ok(isTillError(await failureOf(till.health()), 'overloaded'));
  assert.ok(isTillError(await failureOf(till.readiness()), 'overloaded'));
  const { till: stopping } = await start(t, (response) => answer(response, 503, { status: 'error' }));
  assert.deepEqual(await stopping.readiness(), { status: 'error' });
});

test('a deletion whose first response was lost succeeds if the retry finds nothing', async (t) => {
  const { till } = await start(t, (response, count) =>
    count === 1 ? void response.socket?.destroy() : problem(response, 404, 'not_found'),
  );
  await till.customers.delete('cus');
  assert.ok(isTillError(await failureOf(till.customers.delete('cus')), 'not_found'));
});

test('nothing listens: a connection error says so, and shows no API key', async (t) => {
  const { till, server } = await start(t, ok);
  server.close();
  await once(server, 'close');
  const error = await failureOf(till.payments.get('pay'));
  assert.ok(error instanceof TillConnectionError && !(error instanceof TillTimeoutError));
  assert.match(error.message, /GET \/api\/v1\/payments\/\{id\}: no response: .*ECONNREFUSED/);
  assert.equal(error.attempts, 4);
  assert.ok(!inspect(till, { depth: 10, showHidden: true }).includes(apiKey));
});

test('an id cannot lead to another path, and options are checked', async (t) => {
  const { till, url, requests } = await start(t, ok);
  for (const id of ['', '.', '..'])
    await assert.rejects(till.customers.paymentMethods(id).delete('pm'), TypeError, id);
  assert.equal(requests.length, 0);
  await till.customers.get('a/../b?c#d');
  assert.equal(requests[0]?.url, '/api/v1/customers/a%2F..%2Fb%3Fc%23d');
  await assert.rejects(till.customers.create(customer, { idempotencyKey: 'a b' }), TypeError);
  await assert.rejects(till.customers.get('cus', { timeoutMs: Number.POSITIVE_INFINITY }), TypeError);
  const wrong: Partial<TillOptions>[] = [
    { url: undefined },
    { url: 'till.example.com:3000' },
    { url: `http://user:${apiKey}@127.0.0.1` },
    { url: 'http://127.0.0.1/?a=1' },
    { url: 'http://127.0.0.1/api/v1/' },
    { apiKey: undefined },
    { apiKey: '' },
    { apiKey: `${apiKey}\n` },
    { retries: -1 },
    { timeoutMs: Number.NaN },
  ];
  for (const options of wrong)
    assert.throws(
      () => new Till({ url, apiKey, ...options }),
      (error) => error instanceof TypeError && !error.message.includes(apiKey),
    );
});

test('a path in the url is kept, for a proxy that serves Till below one', async (t) => {
  const { url } = await start(t, (response, _count, { url: path }) => answer(response, 200, { path }));
  const below = new Till({ url: `${url}/till/`, apiKey });
  assert.deepEqual(await below.liveness(), { path: '/till/health/live' });
});
