import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { testKey } from '../support/client.ts';
import { loadOpenapi } from '../support/openapi-document.ts';
import { createPromotionCode } from '../support/promotion-codes.ts';
import { seedOf } from '../support/seeds.ts';
import { startTill } from '../support/till.ts';
import { type Change, keepJournal } from './change-journal.ts';
import { fuzz } from './fuzz.ts';
import { IdPool } from './id-pool.ts';
import { type FuzzRequest, knownText } from './operation-parts.ts';
import { requestsTo } from './request-values.ts';
import { createWireClient, type WireResponse } from './wire-client.ts';

/** Rounds of one request of each kind to each operation, about 180 together. */
const amount = { short: 2, long: 120 };
/** Far more than any operation needs until a request of a kind gets the response that it should. */
const attemptsMax = 400;
/** Requests use up what there is: after so many of them there is something fresh again. */
const refillEvery = 25;

/** Every header that a response may have. Any other header was injected. */
const responseHeaders = [
  ...[
    'allow',
    'cache-control',
    'connection',
    'content-length',
    'content-security-policy',
    'content-type',
    'date',
  ],
  ...[
    'idempotent-replayed',
    'keep-alive',
    'permissions-policy',
    'referrer-policy',
    'retry-after',
    'transfer-encoding',
  ],
  ...['strict-transport-security', 'x-content-type-options', 'x-frame-options', 'x-request-id'],
  ...[
    'cross-origin-opener-policy',
    'cross-origin-resource-policy',
    'vary',
    'location',
    'etag',
    'last-modified',
  ],
];

const till = await startTill({ in: 'process', for: { after } });
const { send: sendOverWire, close } = createWireClient(till.url);
after(close);
const document = await loadOpenapi(till.url);
const idPool = new IdPool(till);
await idPool.refill();
await till.post('/customers', { email: 'k@example.com', externalId: knownText });
await createPromotionCode(till, { code: knownText });
const journal = await keepJournal(till);

const requests = document.operations.flatMap((operation) => [...requestsTo(operation).values()]);
const places = [...requests.keys()];
const rounds = fc
  .record({
    requests: fc.tuple(...requests),
    order: fc.shuffledSubarray(places, { minLength: places.length }),
  })
  .map((round) => round.order.flatMap((place) => round.requests[place] ?? []));

/** What depends on another field, the object, the time, or which plans have replaced the placeholders of a request. */
const refusedByState =
  /query\.currency is required with|body\.(metadata must leave at most|expiresAt must be in the future|group must be null|addOns|subscriptionId (is required with|must be sent only with))/;

/** The request was valid and the charge was attempted, but the bank refused it. That is kept under the idempotency key. */
const declined = 402;

/** How often each operation gave each kind of request each status. */
const seen = new Map<string, number>();

test(`no request, valid, nearly valid or hostile, gets a 5xx or an undocumented response, and a refused one changes no row`, async () => {
  await fuzz(amount, rounds, async (round) => {
    // Requests cancel, delete, refund and archive what there is.
    await idPool.refill();
    await journal.take();
    for (const request of round) await tryOne(request);
  });
  assert.deepEqual(
    till.lines.filter(({ level }) => level === 'error' || level === 'fatal'),
    [],
  );
});

test('every operation was reached by valid requests that succeeded and by others that were refused', async () => {
  const wanted = { valid: '2xx', nearly: '4xx', hostile: '4xx' };
  let sent = 0;
  for (const operation of document.operations.filter(({ isApi }) => isApi))
    for (const [kind, requests] of requestsTo(operation)) {
      // The sandbox is not embedded here.
      const isRefused = operation.name === 'POST /api/v1/sandbox/reset';
      const result = `${operation.name} ${kind} ${isRefused ? '4xx' : wanted[kind]}`;
      for (let attempts = 0; !seen.has(result) && attempts < attemptsMax; attempts += 1, sent += 1) {
        if (sent % refillEvery === 0) {
          await idPool.refill();
          await journal.take();
        }
        const [request] = fc.sample(requests, { seed: seedOf('FUZZ') + attempts, numRuns: 1 });
        await tryOne(request ?? assert.fail());
      }
      assert.ok(seen.has(result), `never: ${result}`);
    }
});

async function tryOne(request: FuzzRequest): Promise<void> {
  const response = await send(request);
  // What is still written after a response belongs to that response.
  await till.services.idempotency.stop();
  await till.services.resyncRuns.stop();
  const changes = await journal.take();
  const what = describe(request, response);
  assert.ok(response.status >= 200 && response.status < 500, what);
  assertResponse(request, response, what);
  assertFits(request, response, what);
  if (response.status === declined) assertOnlyClaims(changes, what);
  else if (response.status >= 400 || isRead(request)) assertNothing(changes, what);
  const key = `${request.operation.name} ${request.kind} ${Math.trunc(response.status / 100)}xx`;
  seen.set(key, (seen.get(key) ?? 0) + 1);
}

async function send({ method, path, headers, body, isChunked }: FuzzRequest): Promise<WireResponse> {
  const hasOwnKey = headers.some(([name]) => name === 'x-api-key');
  return sendOverWire({
    method,
    path: idPool.insertIds(path),
    headers: hasOwnKey ? headers : [['x-api-key', testKey], ...headers],
    body: typeof body === 'string' ? Buffer.from(idPool.insertIds(body)) : body,
    isChunked,
  });
}

function assertResponse(request: FuzzRequest, { status, headers, text }: WireResponse, what: string): void {
  assert.deepEqual(
    Object.keys(headers).filter((name) => !responseHeaders.includes(name)),
    [],
    what,
  );
  const requestId = headers['x-request-id'];
  assert.match(String(requestId), /^[\w.:-]{1,128}$/, what);
  if (request.method === 'HEAD') {
    assert.equal(text, '', what);
    return;
  }
  if (request.isRouted) {
    document.assertDocumented(request.operation, {
      status,
      contentType: headers['content-type'] ?? null,
      text,
    });
  }
  if (status < 400) return;
  assert.equal(headers['content-type'], 'application/problem+json', what);
  const problem = JSON.parse(text);
  assert.equal(problem.status, status, what);
  assert.equal(problem.requestId, requestId, what);
  assert.ok(typeof problem.detail === 'string' && typeof problem.code === 'string', what);
}

function assertFits({ kind, operation }: FuzzRequest, { status, text }: WireResponse, what: string): void {
  if (!operation.isApi) return;
  if (kind === 'nearly') assert.equal(status, 400, what);
  // Valid in itself, it may still be about what is gone, in another state, or refused by the processor.
  const isRefused = status === 400 && refusedByState.test(text);
  if (kind === 'valid')
    assert.ok(status < 300 || [declined, 404, 409, 422].includes(status) || isRefused, what);
}

function assertOnlyClaims(changes: readonly Change[], what: string): void {
  assertNothing(
    changes.filter(({ table }) => table !== 'idempotency_claims'),
    what,
  );
}

function assertNothing(changes: readonly Change[], what: string): void {
  assert.deepEqual(changes, [], `rows changed by ${what}`);
}

function isRead({ method }: FuzzRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

function describe({ kind, method, path, body }: FuzzRequest, { status, text }: WireResponse): string {
  const sentBody = body === null ? 'no body' : body.toString().slice(0, 500);
  return `${kind} ${method} ${idPool.insertIds(path).slice(0, 300)} with ${sentBody}: ${status} ${text.slice(0, 500)}`;
}
