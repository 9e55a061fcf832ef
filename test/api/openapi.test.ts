import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { scopes } from '#core/model/api-key.ts';
import { testKey } from '../support/client.ts';
import { type Documented, loadOpenapi } from '../support/openapi-document.ts';
import { type ApiRequest, pathOf, rightRequest } from '../support/right-requests.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });

const { operations, assertDocumented } = await loadOpenapi(till.url);
/** The sandbox is not embedded here, and its reset would delete what these tests create. */
const withTestsElsewhere = ['POST /api/v1/sandbox/reset'];
const api = operations.filter(({ isApi, name }) => isApi && !withTestsElsewhere.includes(name));

/** Sends the request and checks the response against what is documented for its status and type. */
async function send(operation: Documented, request: ApiRequest): Promise<number> {
  const body = request.raw ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  const response = await fetch(`${till.url}${pathOf(operation, request)}`, {
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
  return response.status;
}

test('every operation below /api/v1 succeeds with its documented example and an API key that has only its scope', async () => {
  assert.ok(api.length >= 20);
  const keys = new Map<string, string>();
  for (const scope of scopes) {
    const { key } = await till.post<{ key: string }>('/api-keys', { name: scope, scopes: [scope] });
    keys.set(scope, key);
  }
  for (const operation of api) {
    const headers = { 'x-api-key': keys.get(String(operation.scope)) ?? '' };
    const status = await send(operation, { ...(await rightRequest(till, operation)), headers });
    assert.ok(status < 300, `${operation.name} returned ${status}`);
    assert.match(operation.description ?? '', new RegExp(`scope \`${operation.scope}\``));
  }
});

test('every operation outside of it responds as documented', async () => {
  for (const operation of operations.filter(({ isApi }) => !isApi)) await send(operation, {});
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
      calling.map(async (operation) => ({ operation, request: await rightRequest(till, operation) })),
    );
    await till.control('faults', { operation: '*', times: 1_000, ...fault });
    await Promise.all(
      requests.map(async ({ operation, request }) =>
        assert.equal(await send(operation, request), status, operation.name),
      ),
    );
    await till.clearFaults();
  }
});
