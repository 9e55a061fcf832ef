import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { scopes } from '#core/model/api-key.ts';
import { grants } from '#http/access/api-guard.ts';
import { keepJournal } from '../fuzz/change-journal.ts';
import { fieldsOf, queryOf } from '../fuzz/operation-parts.ts';
import { nextAddress } from '../fuzz/recipes/everywhere.ts';
import { createWireClient } from '../fuzz/wire-client.ts';
import { testKey } from '../support/client.ts';
import { type Documented, loadOpenapi } from '../support/openapi-document.ts';
import type { ProblemBody } from '../support/problem.ts';
import { type ApiRequest, exampleRequest, pathOf, unknownId } from '../support/right-requests.ts';
import { startTill } from '../support/till.ts';
import { type Mistake, MistakeMaker, rightQuery, rightText } from './matrix/mistakes.ts';

/**
 * What every operation refuses in the same way, from the document: each mistake in each place. What one operation
 * refuses for reasons of its own is in the file of its resource, and each documented code is reached by
 * test/fuzz/two-processes.test.ts.
 */
const till = await startTill({
  in: 'process',
  for: { after },
  mustNotLogErrors: true,
  trustProxy: ['127.0.0.1'],
});
const { send, close } = createWireClient(till.url);
after(close);
const document = await loadOpenapi(till.url);
const api = document.operations.filter(({ isApi }) => isApi);
const maker = new MistakeMaker();
const journal = await keepJournal(till);

/** The methods of HTTP that a path can have. */
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** What is no id of Till: ids of the processor, other spellings of an id, and hostile ones. */
const notIds = [
  'x',
  '0',
  '%20',
  '%00',
  'cus_123',
  'pi_123',
  '__proto__',
  `urn:uuid:${unknownId}`,
  'x'.repeat(300),
];

interface Sent extends ApiRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request that must be refused in this way. */
async function refused(
  operation: Documented,
  { method = operation.method, raw, headers, ...request }: Sent,
  status: number,
  code: string,
) {
  const text = raw ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  const path = pathOf(operation, request);
  const response = await send({
    ...{ method, path, isChunked: false },
    headers: Object.entries({
      'x-api-key': testKey,
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    }),
    body: text === undefined ? null : Buffer.from(text),
  });
  const what = `${method} ${path.slice(0, 300)} with ${text?.slice(0, 300)}: ${response.text.slice(0, 500)}`;
  assert.equal(response.status, status, what);
  if (method === operation.method) {
    const contentType = response.headers['content-type'] ?? null;
    document.assertDocumented(operation, { status, contentType, text: response.text });
  }
  const problem: ProblemBody = JSON.parse(response.text);
  assert.equal(problem.code, code, what);
  return { problem, headers: response.headers, what };
}

async function assertNamed(operation: Documented, { path, isDeep, query = '', body: raw }: Mistake) {
  const request = { query, ...(raw === undefined ? {} : { raw }) };
  const { problem, what } = await refused(operation, request, 400, 'invalid_request');
  const named = problem.errors?.map((mistake) => mistake.path) ?? [];
  const isHere = (one: string) => one === path || (isDeep && /^[.[]/.test(one.slice(path.length)));
  assert.ok(
    named.length > 0 && named.every((one) => one.startsWith(path) && isHere(one)),
    `${path}: ${what}`,
  );
  if (!problem.detail.includes('cannot be stored')) assert.ok(problem.detail.includes(path), what);
}

test('400: each field of each body, wrong in each way, missing, or unknown, is named, and nothing else', async () => {
  let tried = 0;
  for (const operation of api.filter(({ method }) => method !== 'GET'))
    for (const mistake of maker.inBody(operation)) {
      await assertNamed(operation, mistake);
      tried += 1;
    }
  assert.ok(tried > 1_500, `only ${tried} bodies were tried`);
});

test('400: each parameter of each query, wrong in each way, sent twice, missing, or unknown, is named', async () => {
  let tried = 0;
  for (const operation of api)
    for (const mistake of maker.inQuery(operation)) {
      await assertNamed(operation, mistake);
      tried += 1;
    }
  assert.ok(tried > 1_200, `only ${tried} queries were tried`);
});

test('a right value of each parameter is never named', async () => {
  for (const operation of api.filter(({ method }) => method === 'GET'))
    for (const [name, schema] of Object.entries(queryOf(operation))) {
      // Not every text is a cursor, the id of an event, or a list of types.
      if (schema.type === 'string' && schema.format === undefined) continue;
      const others = rightQuery(operation)
        .slice(1)
        .split('&')
        .filter((pair) => !pair.startsWith(`${name}=`));
      const query = `?${[`${name}=${rightText(schema)}`, ...others].join('&')}`;
      const response = await till.fetch(pathOf(operation, { query }));
      const { errors = [] } = Object(await response.json());
      assert.ok(
        !errors.some(({ path }: { path: string }) => path === `query.${name}`),
        `${operation.name}${query}`,
      );
    }
});

test('400: a body that is not JSON, or missing where one is needed', async () => {
  for (const operation of api.filter(({ method }) => method !== 'GET')) {
    for (const raw of ['{', '{"a":1,}', '{"__proto__":{"x":1}}', 'undefined'])
      await refused(operation, { ...exampleRequest(operation), raw }, 400, 'malformed_request');
    if (operation.requestBody?.required !== true) continue;
    const { problem } = await refused(operation, {}, 400, 'invalid_request');
    assert.ok(
      problem.errors?.every(({ path }) => /^body\b/.test(path)),
      operation.name,
    );
  }
});

test('400: an idempotency key in the header that is malformed, or differs from the one in the body', async () => {
  for (const operation of api.filter((one) => 'idempotencyKey' in fieldsOf(one))) {
    const { body } = exampleRequest(operation);
    for (const [key, inBody] of [['x'.repeat(256)], ['a b'], ['two', 'one']] as const) {
      const request = {
        body: { ...Object(body), idempotencyKey: inBody },
        headers: { 'idempotency-key': key },
      };
      const { problem, what } = await refused(operation, request, 400, 'invalid_request');
      assert.deepEqual(
        problem.errors?.map(({ path }) => path),
        ['header.idempotency-key'],
        what,
      );
    }
  }
});

test('401: without an API key, and with a wrong one', async () => {
  for (const operation of api)
    for (const key of ['', `${testKey}x`]) {
      const headers = { 'x-api-key': key, 'x-forwarded-for': nextAddress() };
      await refused(operation, { ...exampleRequest(operation), headers }, 401, 'unauthorized');
    }
});

test('403: with an API key of each scope that is not enough, and the problem names the missing one', async () => {
  for (const scope of scopes) {
    const { key } = await till.post<{ key: string }>('/api-keys', { name: scope, scopes: [scope] });
    for (const operation of api) {
      const needed = scopes.find((one) => one === operation.scope);
      if (needed === undefined || grants([scope], needed)) continue;
      const request = { ...exampleRequest(operation), headers: { 'x-api-key': key } };
      const { problem, what } = await refused(operation, request, 403, 'forbidden');
      assert.ok(problem.detail.includes(`\`${needed}\``), what);
    }
  }
  await journal.take();
});

test('404: an unknown id, and what is not an id', async () => {
  for (const operation of api.filter(({ path }) => path.includes('{id}')))
    for (const id of [unknownId, ...notIds])
      await refused(
        operation,
        { ...exampleRequest(operation), query: rightQuery(operation), id },
        404,
        'not_found',
      );
});

test('405: another method, and the response names the right ones', async () => {
  const paths = new Set(api.map(({ path }) => path));
  for (const path of paths) {
    // Also those of a path that ends with an id, where this one ends with a word.
    const here = api.filter((one) => new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path));
    const [operation = assert.fail()] = here.filter((one) => one.path === path);
    const allowed = new Set(here.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : method)));
    for (const method of methods.filter((one) => !allowed.has(one))) {
      const { headers } = await refused(operation, { method }, 405, 'method_not_allowed');
      assert.equal(headers.allow, [...allowed].sort().join(', '), path);
    }
  }
});

test('415: a body of another type, or with a content-encoding', async () => {
  for (const operation of api.filter(({ method }) => method !== 'GET'))
    for (const headers of [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-encoding': 'gzip' },
    ])
      await refused(operation, { raw: '{}', headers }, 415, 'unsupported_media_type');
});

test('no refused request has changed a row, or called the processor', async () => {
  assert.deepEqual(await journal.take(), []);
  assert.equal(await till.count('processor_request_duration_seconds'), 0);
});
