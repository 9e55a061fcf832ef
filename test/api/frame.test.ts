import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { Failure } from '#core/errors.ts';
import { currentCause } from '#core/platform/cause.ts';
import { Type } from '#core/platform/schemas.ts';
import { testKey } from '../support/client.ts';
import { startFrame } from '../support/frame.ts';
import { readProblem } from '../support/problem.ts';
import { sendRaw, sendRawForAll } from '../support/raw-http.ts';

const Thing = Type.Object(
  {
    name: Type.String({ maxLength: 10 }),
    amount: Type.Integer({ minimum: 1 }),
    kind: Type.Optional(Type.Enum(['a', 'b'])),
    owner: Type.Optional(Type.String({ format: 'uuid' })),
  },
  { additionalProperties: false },
);
const Page = Type.Object(
  { page: Type.Optional(Type.Integer({ minimum: 1 })) },
  { additionalProperties: false },
);
const Params = Type.Object({ id: Type.String({ format: 'uuid' }) });

async function thingRoutes(app: FastifyInstance): Promise<void> {
  app.post('/api/v1/things', { schema: { body: Thing } }, async (request) => request.body);
  app.get('/api/v1/things', { schema: { querystring: Page } }, async (request) => request.query);
  app.get('/api/v1/things/:id', { schema: { params: Params } }, async () => ({}));
  app.post('/api/v1/things/:id/touch', async (request) => ({ body: request.body ?? null }));
  app.get('/api/v1/defect', async () => {
    throw new Error('relation "secret_table" does not exist');
  });
  app.get('/api/v1/outage', async () => {
    throw new Failure('database_unavailable', 'Please try again.', { retryAfterSeconds: 1 });
  });
}

const json = (body: string | Buffer): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: typeof body === 'string' ? body : new Uint8Array(body),
});

test('200: a valid request passes, with the request id and the security headers', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  const response = await call('/api/v1/things', {
    ...json('{"name":"x","amount":1}'),
    headers: { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'abc-1' },
  });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-request-id'), 'abc-1');
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(response.headers.get('cache-control'), 'no-store');
  assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  assert.equal(response.headers.get('x-powered-by'), null);
  assert.equal(response.headers.get('server'), null);
});

test('400: every mistake of a body is named at once, unknown fields included', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  const body = { name: 'x'.repeat(11), amount: '1', kind: 'c', owner: 'me', idempotencykey: 'k' };
  const problem = await readProblem(
    await call('/api/v1/things', json(JSON.stringify(body))),
    400,
    'invalid_request',
  );
  const paths = problem.errors?.map((error) => error.path);
  assert.deepEqual(paths?.sort(), [
    'body.amount',
    'body.idempotencykey',
    'body.kind',
    'body.name',
    'body.owner',
  ]);
  assert.ok(problem.errors?.some((error) => error.message === 'must be one of a, b'));
});

test('400: a missing field, a missing body, and a body that is not an object', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  const missing = await readProblem(await call('/api/v1/things', json('{}')), 400, 'invalid_request');
  assert.deepEqual(missing.errors, [
    { path: 'body.name', message: 'is required' },
    { path: 'body.amount', message: 'is required' },
  ]);
  await readProblem(await call('/api/v1/things', { method: 'POST' }), 400, 'invalid_request');
  for (const body of ['[]', '"x"', '7', 'null', 'true', '[[[]]]']) {
    await readProblem(await call('/api/v1/things', json(body)), 400, 'invalid_request');
  }
});

test('400: a number must be a whole JSON number: no strings, fractions, overflowing exponents or signs', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  for (const amount of ['"1"', '1.5', '0', '-1', '1e400', 'true', 'null', '[1]']) {
    const response = await call('/api/v1/things', json(`{"name":"x","amount":${amount}}`));
    const problem = await readProblem(response, 400, 'invalid_request');
    assert.ok(
      problem.errors?.every((error) => error.path === 'body.amount'),
      amount,
    );
  }
});

test('400: a wrong, repeated or unknown query parameter is named', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  assert.deepEqual(await (await call('/api/v1/things?page=2')).json(), { page: 2 });
  for (const query of ['page=0', 'page=x', 'page=', 'page=1.5', 'page=1&page=2']) {
    const problem = await readProblem(await call(`/api/v1/things?${query}`), 400, 'invalid_request');
    assert.equal(problem.errors?.[0]?.path, 'query.page', query);
  }
  const unknown = await readProblem(await call('/api/v1/things?pgae=1'), 400, 'invalid_request');
  assert.deepEqual(unknown.errors, [{ path: 'query.pgae', message: 'is not a known field' }]);
});

test('400: a route that declares no query or no body takes none', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  const path = `/api/v1/things/${crypto.randomUUID()}`;
  const query = await readProblem(await call(`${path}?idempotencyKey=k`), 400, 'invalid_request');
  assert.deepEqual(query.errors, [{ path: 'query.idempotencyKey', message: 'is not a known field' }]);
  const body = await call(`${path}/touch`, json('{"idempotencyKey":"k"}'));
  const { errors } = await readProblem(body, 400, 'invalid_request');
  assert.deepEqual(errors, [{ path: 'body.idempotencyKey', message: 'is not a known field' }]);
  for (const text of ['[]', '7', 'null', '"x"']) {
    await readProblem(await call(`${path}/touch`, json(text)), 400, 'invalid_request');
  }
  assert.equal((await call(`${path}/touch`, json('{}'))).status, 200);
});

test('400: broken JSON, broken UTF-8, keys that reach for a prototype and NUL', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  const malformed = [
    '{"name":',
    '{name:1}',
    'undefined',
    '{"__proto__":{"x":1}}',
    '{"constructor":{"prototype":{"x":1}}}',
    Buffer.from([0x22, 0xff, 0xfe, 0x22]),
    Buffer.from('{"name":"a\0b","amount":1}'),
  ];
  for (const body of malformed) {
    await readProblem(await call('/api/v1/things', json(body)), 400, 'malformed_request');
  }
  const nul = await call('/api/v1/things', json('{"name":"a\\u0000b","amount":1}'));
  assert.equal((await readProblem(nul, 400, 'invalid_request')).errors?.[0]?.path, 'body.name');
  await readProblem(await call('/api/v1/things?page=%00'), 400, 'invalid_request');
  const half = await call('/api/v1/things', json('{"name":"a\\ud800b","amount":1}'));
  assert.equal((await readProblem(half, 400, 'invalid_request')).errors?.[0]?.path, 'body.name');
  const whole = await call('/api/v1/things', json('{"name":"\\ud83d\\ude00","amount":1}'));
  assert.equal(whole.status, 200);
});

test('400: JSON a thousand levels deep and a body of ten thousand unknown fields get a short response', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  const deep = `${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}`;
  await readProblem(await call('/api/v1/things', json(deep)), 400, 'invalid_request');
  const deepNul = `${'{"a":'.repeat(1_000)}"\\u0000"${'}'.repeat(1_000)}`;
  await readProblem(await call('/api/v1/things', json(deepNul)), 400, 'invalid_request');
  const wide = JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`f${i}`, i])));
  const problem = await readProblem(await call('/api/v1/things', json(wide)), 400, 'invalid_request');
  assert.ok((problem.errors?.length ?? 0) <= 50);
});

test('400: text that cannot be stored, a hundred thousand times below a long name, gets a short response', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  const many = (text: string, count: number) => `[${Array.from({ length: count }, () => text).join(',')}]`;
  const bodies = [
    `{"name":${many('"\\u0000"', 100_000)}}`,
    `{"${'k'.repeat(500_000)}":${many('"\\ud800"', 50_000)}}`,
    `{"${'k'.repeat(500_000)}\\u0000":1}`,
    `{"${'k'.repeat(500_000)}":1}`,
  ];
  for (const body of bodies) {
    const response = await call('/api/v1/things', json(body));
    assert.equal(response.status, 400);
    const text = await response.text();
    assert.ok(text.length < 50_000, `${text.length} characters`);
    assert.ok(JSON.parse(text).errors.length <= 50);
  }
});

test('400: a parse error does not quote the body', async (t) => {
  const { call, lines } = await startFrame(t, thingRoutes);
  const response = await call('/api/v1/things', json('{"email":"eve@example.test",}'));
  const problem = await readProblem(response, 400, 'malformed_request');
  assert.ok(!JSON.stringify(problem).includes('eve@'));
  assert.ok(!JSON.stringify(lines).includes('eve@'));
});

test('401: a missing, wrong or repeated API key gets the same response, even for an unknown route below /api/v1', async (t) => {
  const { url } = await startFrame(t, thingRoutes);
  const details = new Set<string>();
  for (const headers of [{}, { 'x-api-key': '' }, { 'x-api-key': 'wrong' }, { 'x-api-key': `${testKey}x` }]) {
    for (const path of ['/api/v1/things', '/api/v1/nothing', '/api/v1']) {
      const problem = await readProblem(await fetch(`${url}${path}`, { headers }), 401, 'unauthorized');
      details.add(problem.detail);
    }
  }
  assert.equal(details.size, 1);
});

test('404: an unknown address, an id that is not a UUID, and strange paths', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  const paths = [
    '/nothing',
    '/api/v1/nothing',
    '/api/v1/things/not-a-uuid',
    '/api/v1/things/%00',
    `/api/v1/things/urn:uuid:${crypto.randomUUID()}`,
    `/api/v1/things/${'x'.repeat(5_000)}`,
    '/health/',
    '/__proto__',
    '/api/docs/static/../../package.json',
    '/api/docs/static/%2e%2e/%2e%2e/package.json',
  ];
  for (const path of paths) await readProblem(await call(path), 404, 'not_found');
});

test('404: sent before the body is read, so its type and content do not matter', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  const init = { method: 'POST', headers: { 'content-type': 'text/xml' }, body: '<x/>' };
  await readProblem(await call('/api/v1/nothing', init), 404, 'not_found');
});

test('405: a wrong method on a known address names the right ones', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  const response = await call('/api/v1/things', { method: 'DELETE' });
  assert.equal(response.headers.get('allow'), 'GET, HEAD, POST');
  await readProblem(response, 405, 'method_not_allowed');
  const one = await call(`/api/v1/things/${crypto.randomUUID()}`, { method: 'PUT', body: 'x' });
  assert.equal(one.headers.get('allow'), 'GET, HEAD');
  await readProblem(one, 405, 'method_not_allowed');
  await readProblem(await call('/health', { method: 'POST' }), 405, 'method_not_allowed');
});

test('413: one byte more than 1 MiB, declared or streamed', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  const tooLarge = JSON.stringify({ name: 'x'.repeat(1_048_577 - 11) });
  assert.equal(tooLarge.length, 1_048_577);
  await readProblem(await call('/api/v1/things', json(tooLarge)), 413, 'payload_too_large');
  const streamed = await call('/api/v1/things', {
    ...json(''),
    body: new Blob([tooLarge]).stream(),
    duplex: 'half',
  } as RequestInit);
  await readProblem(streamed, 413, 'payload_too_large');
  const justRight = JSON.stringify({ name: 'x'.repeat(1_048_576 - 11) });
  await readProblem(await call('/api/v1/things', json(justRight)), 400, 'invalid_request');
});

test('415: a body that is not JSON', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'nonsense',
    'a/b/c',
  ]) {
    const init = { method: 'POST', headers: { 'content-type': type }, body: '{"name":"x","amount":1}' };
    await readProblem(await call('/api/v1/things', init), 415, 'unsupported_media_type');
  }
});

test('415: a body with a content-encoding, whatever is in it', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  const body = '{"name":"x","amount":1}';
  for (const sent of [body, new Uint8Array(gzipSync(body))]) {
    const init = { method: 'POST', headers, body: sent };
    await readProblem(await call('/api/v1/things', init), 415, 'unsupported_media_type');
  }
  const plain = { ...headers, 'content-encoding': 'Identity' };
  const response = await call('/api/v1/things', { method: 'POST', headers: plain, body });
  assert.equal(response.status, 200);
});

test('an empty body counts as none, whatever its type, where none is needed', async (t) => {
  const { call, port } = await startFrame(t, thingRoutes);
  const path = `/api/v1/things/${crypto.randomUUID()}/touch`;
  assert.deepEqual(await (await call(path, { method: 'POST' })).json(), { body: null });
  assert.deepEqual(await (await call(path, json(''))).json(), { body: null });
  const typed = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '' };
  assert.deepEqual(await (await call(path, typed)).json(), { body: null });
  const streamed = await sendRaw(
    port,
    `POST ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${testKey}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  );
  assert.equal(streamed.status, 200);
});

test('431 and 400: malformed HTTP gets a problem too, and the connection is closed', async (t) => {
  const { port, lines } = await startFrame(t, thingRoutes);
  const headers = await sendRaw(port, `GET /health HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(16_384)}\r\n\r\n`);
  assert.equal(headers.status, 431);
  assert.equal(JSON.parse(headers.body).code, 'headers_too_large');
  const broken = [
    'NONSENSE\r\n\r\n',
    'GET /health HTTP/1.1\r\n\r\n',
    'GET /\0 HTTP/1.1\r\nhost: x\r\n\r\n',
    'GET /health HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n',
    'POST /health HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
  ];
  for (const request of broken) {
    const response = await sendRaw(port, request);
    assert.equal(response.status, 400, request);
    assert.equal(response.headers['x-content-type-options'], 'nosniff');
    assert.match(response.headers['strict-transport-security'] ?? '', /includeSubDomains/);
  }
  // The parser lets it through, but no route has the method: that is not a defect of Till.
  for (const { status } of await sendRawForAll(port, 'PRI *HTTP/2.0\r\n\r\n')) assert.equal(status, 400);
  assert.deepEqual(
    lines.filter(({ level }) => level === 'error'),
    [],
  );
  const path = await sendRaw(port, 'GET /%zz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  assert.equal(path.status, 400);
  assert.equal(path.headers['content-type'], 'application/problem+json');
  assert.equal(JSON.parse(path.body).code, 'malformed_request');
  assert.equal(JSON.parse(path.body).requestId, path.headers['x-request-id']);
});

test('a caller that disconnects in the middle of its body is not logged as a defect', async (t) => {
  const { port, lines, app } = await startFrame(t, thingRoutes);
  const { promise: answered, resolve } = Promise.withResolvers<void>();
  app.server.on('request', (_request, response) => response.on('close', resolve));
  const socket = connect(port, '127.0.0.1');
  socket.write(
    `POST /api/v1/things HTTP/1.1\r\nhost: x\r\nx-api-key: ${testKey}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{`,
  );
  await once(app.server, 'request');
  socket.destroy();
  await answered;
  await app.close();
  assert.deepEqual(
    lines.filter(({ level }) => level !== 'info'),
    [],
  );
});

test('500: a defect shows nothing but a request id, which the log explains', async (t) => {
  const { call, lines } = await startFrame(t, thingRoutes);
  const problem = await readProblem(await call('/api/v1/defect'), 500, 'internal_error');
  assert.ok(!JSON.stringify(problem).includes('secret_table'));
  const line = lines.find(
    (candidate) => candidate['requestId'] === problem.requestId && candidate.level === 'error',
  );
  assert.ok(JSON.stringify(line).includes('secret_table'));
});

test('503: an outage says when to retry', async (t) => {
  const { call } = await startFrame(t, thingRoutes);
  const response = await call('/api/v1/outage');
  assert.equal(response.headers.get('retry-after'), '1');
  await readProblem(response, 503, 'database_unavailable');
});

test('one log line per request: method, route, status, duration, API key name and request id, and no address', async (t) => {
  const { call, lines } = await startFrame(t, thingRoutes);
  const id = crypto.randomUUID();
  await call(`/api/v1/things/${id}`, { headers: { 'x-request-id': 'r1' } });
  const [line, ...more] = lines.filter((candidate) => candidate.msg === 'request');
  assert.deepEqual(more, []);
  assert.equal(line?.['method'], 'GET');
  assert.equal(line?.['route'], '/api/v1/things/:id');
  assert.equal(line?.['status'], 200);
  assert.equal(line?.['key'], 'tests');
  assert.equal(line?.['requestId'], 'r1');
  assert.equal(typeof line?.['durationMs'], 'number');
  assert.ok(!JSON.stringify(lines).includes(id) && !JSON.stringify(lines).includes('eve@'));
  assert.ok(!JSON.stringify(lines).includes(testKey));
});

test('every API request has its API key and its id, after any body, hook and wait, even beside others', async (t) => {
  const both = Promise.withResolvers<void>();
  let arrived = 0;
  const { call, url } = await startFrame(t, async (app) => {
    const preHandler = async () => void (await new Promise((resolve) => setImmediate(resolve)));
    app.post('/api/v1/causes', { preHandler, schema: { body: Type.String() } }, async () => {
      arrived += 1;
      if (arrived === 2) both.resolve();
      await both.promise;
      return currentCause();
    });
    app.get('/causes', async () => ({ cause: currentCause() ?? null }));
  });
  const streamed = (size: number): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-request-id': `r${size}` },
    // In two parts, so that the second arrives in an event of the socket.
    body: ReadableStream.from([Buffer.from('"'), Buffer.from(`${'x'.repeat(size)}"`)]),
    duplex: 'half',
  });
  const causes = await Promise.all(
    [10, 100_000].map(async (size) => (await call('/api/v1/causes', streamed(size))).json()),
  );
  assert.deepEqual(
    causes,
    ['r10', 'r100000'].map((requestId) => ({
      kind: 'api',
      keyName: 'tests',
      person: null,
      requestId,
      processorEventId: null,
    })),
  );
  assert.deepEqual(await (await fetch(`${url}/causes`)).json(), { cause: null });
});

test('400: HTTP/1.1 without a host is refused with a problem', async (t) => {
  const { port } = await startFrame(t, thingRoutes);
  const response = await sendRaw(port, 'GET /health/live HTTP/1.1\r\n\r\n');
  assert.equal(response.status, 400);
  assert.equal(response.headers['content-type'], 'application/problem+json');
  assert.equal(JSON.parse(response.body).code, 'malformed_request');
});

test('200: HTTP/1.0 needs no host, and an unknown expectation is ignored', async (t) => {
  const { port } = await startFrame(t, thingRoutes);
  const old = await sendRaw(port, 'GET /health/live HTTP/1.0\r\n\r\n');
  assert.equal(old.status, 200);
  const expecting = 'GET /health/live HTTP/1.1\r\nhost: x\r\nexpect: a-miracle\r\nconnection: close\r\n\r\n';
  assert.equal((await sendRaw(port, expecting)).status, 200);
});
