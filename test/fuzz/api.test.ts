import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { testKey } from '../support/client.ts';
import { loadOpenapi } from '../support/openapi-document.ts';
import { createPromotionCode } from '../support/promotion-codes.ts';
import { seedOf } from '../support/seeds.ts';
import { startTill } from '../support/till.ts';
import { type Change, keepJournal } from './change-journal.ts';
import { fuzz, inAnyOrder } from './fuzz.ts';
import { IdPool } from './id-pool.ts';
import { declined, describeExchange, judgeResponse, judgeStatus } from './judge-response.ts';
import { type FuzzRequest, knownText } from './operation-parts.ts';
import { requestsTo } from './request-values.ts';
import { createWireClient, type WireResponse } from './wire-client.ts';

/** Rounds of one request of each kind to each operation, about 180 together. */
const amount = { short: 2, long: 120 };
/** Far more than any operation needs until a request of a kind gets the response that it should. */
const attemptsMax = 400;
/** Requests use up what there is: after so many of them there is something fresh again. */
const refillEvery = 25;

const till = await startTill({ in: 'process', for: { after }, events: { allowPrivate: true } });
const { send: sendOverWire, close } = createWireClient(till.url);
after(close);
const document = await loadOpenapi(till.url);
const idPool = new IdPool({
  ...till,
  take: async (event) => till.take(event),
  stopResyncs: () => till.services.resyncRuns.stop(),
});
await idPool.refill();
await till.post('/customers', { email: 'k@example.com', externalId: knownText });
await createPromotionCode(till, { code: knownText });
const journal = await keepJournal(till);

const requests = document.operations.flatMap((operation) => [...requestsTo(operation).values()]);

/** How often each operation gave each kind of request each status. */
const seen = new Map<string, number>();

test(`no request, valid, nearly valid or hostile, gets a 5xx or an undocumented response, and a refused one changes no row`, async () => {
  await fuzz(amount, inAnyOrder(requests), async (round) => {
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

async function tryOne(unfilled: FuzzRequest): Promise<void> {
  const request = idPool.fillIn(unfilled);
  const response = await send(request);
  // What is still written after a response belongs to that response.
  await till.services.idempotency.stop();
  await till.services.resyncRuns.stop();
  const changes = await journal.take();
  const what = describeExchange(request, response);
  judgeResponse(document, request, response, what);
  judgeStatus(request, response, what);
  if (response.status === declined) assertOnlyClaims(changes, what);
  else if (response.status >= 400 || isRead(request)) assertNothing(changes, what);
  const key = `${request.operation.name} ${request.kind} ${Math.trunc(response.status / 100)}xx`;
  seen.set(key, (seen.get(key) ?? 0) + 1);
}

async function send({ method, path, headers, body, isChunked }: FuzzRequest): Promise<WireResponse> {
  const hasOwnKey = headers.some(([name]) => name === 'x-api-key');
  return sendOverWire({
    method,
    path,
    headers: hasOwnKey ? headers : [['x-api-key', testKey], ...headers],
    body: typeof body === 'string' ? Buffer.from(body) : body,
    isChunked,
  });
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
