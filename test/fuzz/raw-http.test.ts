import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { testKey } from '../support/client.ts';
import { type Frame, startFrame } from '../support/frame.ts';
import { type RawResponse, sendRawForAll } from '../support/raw-http.ts';
import { fuzz } from './fuzz.ts';

const amount = { short: 200, long: 3_000 };

/** What comes behind, on the same connection: it must be met as it is, or not at all. */
const next = request('GET /health/live', ['x-request-id: next', 'connection: close']);

function request(line: string, headers: readonly string[] = [], body = ''): string {
  return [`${line} HTTP/1.1`, 'host: till.example', ...headers, '', body].join('\r\n');
}

function post(headers: readonly string[], body: string): string {
  return request(
    'POST /api/v1/echo',
    [`x-api-key: ${testKey}`, 'content-type: application/json', ...headers],
    body,
  );
}

function get(...headers: readonly string[]): string {
  return request('GET /health/live', headers);
}

async function startEcho(t: Parameters<typeof startFrame>[0]): Promise<Frame> {
  return startFrame(t, async (app) => {
    app.post('/api/v1/echo', { schema: { body: { type: 'object' } } }, async ({ body }) => ({ body }));
  });
}

function assertProblem({ status, headers, body }: RawResponse, expected: number, what: string): void {
  assert.equal(status, expected, what);
  assert.equal(headers['content-type'], 'application/problem+json', what);
  assert.equal(headers['connection'], 'close', what);
  const problem = JSON.parse(body);
  assert.deepEqual([problem.status, problem.requestId], [status, headers['x-request-id']], what);
}

const chunked = 'transfer-encoding: chunked';
/** Requests whose end two readers could see in different places, and other broken ones. */
const refused: Readonly<Record<string, string>> = {
  'a length and chunks': post(['content-length: 4', chunked], '0\r\n\r\n'),
  'chunks and a length': post([chunked, 'content-length: 4'], '0\r\n\r\n'),
  'two lengths': post(['content-length: 2', 'content-length: 3'], '{} '),
  'the same length twice': post(['content-length: 2', 'content-length: 2'], '{}'),
  'a list of lengths': post(['content-length: 2, 2'], '{}'),
  'a signed length': post(['content-length: +2'], '{}'),
  'a negative length': post(['content-length: -2'], '{}'),
  'a hexadecimal length': post(['content-length: 0x2'], '{}'),
  'a length past all numbers': post(['content-length: 99999999999999999999'], '{}'),
  'a space behind the name': post(['content-length : 2'], '{}'),
  'a coding that is nearly chunked': post(['transfer-encoding: xchunked'], '0\r\n\r\n'),
  'an unknown coding': post(['transfer-encoding: identity'], '0\r\n\r\n'),
  'chunked twice': post([chunked, chunked], '0\r\n\r\n'),
  'chunked, and not at the end': post(['transfer-encoding: chunked, identity'], '0\r\n\r\n'),
  'chunked behind a control character': post(['transfer-encoding: \x0bchunked'], '0\r\n\r\n'),
  'chunked on a folded line': post(['transfer-encoding:', ' chunked'], '0\r\n\r\n'),
  'chunks that end in bare line feeds': post([chunked], '2\n{}\n0\n\n'),
  'a chunk of negative size': post([chunked], '-2\r\n{}\r\n0\r\n\r\n'),
  'a chunk past all numbers': post([chunked], 'fffffffffffffffff\r\n{}\r\n0\r\n\r\n'),
  'a folded header': get('x: a', ' b'),
  'bare line feeds': 'GET /health/live HTTP/1.1\nhost: x\n\n',
  'bare carriage returns': 'GET /health/live HTTP/1.1\rhost: x\r\r',
  'NUL in a header': get('x: a\0b'),
  'a carriage return in a header': get('x: a\rb'),
  'a header with a space in its name': get('x y: a'),
  'a header without a name': get(': a'),
  'no host': 'GET /health/live HTTP/1.1\r\n\r\n',
  'two hosts': get('host: other.example'),
  'HTTP/0.9': 'GET /health/live\r\n\r\n',
  'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'an unknown version': 'GET /health/live HTTP/9.9\r\nhost: x\r\n\r\n',
  'a method in lower case': request('get /health/live'),
  'an unknown method': request('BREW /health/live'),
  'a path that is not ASCII': request('GET /h\u00e9'),
  'the beginning of TLS': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc',
};

test('malformed HTTP gets a problem and ends its connection; what comes after it is not served', async (t) => {
  const { port } = await startEcho(t);
  for (const [what, text] of Object.entries(refused)) {
    const [response, ...more] = await sendRawForAll(port, Buffer.from(text + next, 'latin1'));
    assert.ok(response !== undefined, what);
    assertProblem(response, 400, what);
    assert.deepEqual(more, [], what);
  }
  for (const text of [
    get(`x: ${'y'.repeat(17_000)}`),
    request(`GET /${'y'.repeat(17_000)}`),
    get(...Array(5_000).fill('a:')),
  ]) {
    const [response, ...more] = await sendRawForAll(port, text + next);
    assert.ok(response !== undefined);
    assertProblem(response, 431, text.slice(0, 60));
    assert.deepEqual(more, []);
  }
});

test('odd but valid HTTP is served, and so is what comes after it', async (t) => {
  const { port } = await startEcho(t);
  const served: Readonly<Record<string, readonly [text: string, status: number]>> = {
    'a chunk with an extension': [post([chunked], '2;a=b\r\n{}\r\n0\r\n\r\n'), 200],
    'a trailer': [post([chunked], '2\r\n{}\r\n0\r\nx-api-key: y\r\n\r\n'), 200],
    'a body for GET': [request('GET /health/live', ['content-length: 5'], 'hello'), 200],
    'a whole address': [request('GET http://other.example/health/live'), 200],
    'a whole address below the API': [request('POST http://other.example/api/v1/echo'), 401],
    'blank lines before it': [`\r\n\r\n${get()}`, 200],
    'an unknown expectation': [get('expect: miracles'), 200],
    'every address at once': [request('OPTIONS *'), 404],
    'a request in place of a body': [post(['content-length: 0'], ''), 400],
  };
  for (const [what, [text, status]] of Object.entries(served)) {
    const responses = await sendRawForAll(port, text + next);
    assert.deepEqual(
      responses.map((response) => response.status),
      [status, 200],
      what,
    );
    assert.equal(responses[1]?.headers['x-request-id'], 'next', what);
  }
});

test('pipelined requests get their responses in order, each with its own id', async (t) => {
  const { port } = await startEcho(t);
  const ids = Array.from({ length: 50 }, (_, index) => `r${index}`);
  const texts = ids.map((id, index) =>
    index % 2 === 0 ? get(`x-request-id: ${id}`) : post([`x-request-id: ${id}`, 'content-length: 2'], '{}'),
  );
  const responses = await sendRawForAll(port, texts.join('') + next);
  assert.deepEqual(
    responses.map(({ headers }) => headers['x-request-id']),
    [...ids, 'next'],
  );
});

test('no header of a request can add one to the response, or a line to the log', async (t) => {
  const { port, lines } = await startEcho(t);
  const evil = [
    'a%0d%0aset-cookie: x=1',
    'a\\r\\nset-cookie: x=1',
    'a\u0085b',
    '{"level":"fatal"}',
    '\x1b[31m',
    'a,b',
    'a b',
    'x'.repeat(129),
  ];
  for (const value of evil) {
    const text = get(
      `x-request-id: ${value}`,
      `user-agent: ${value}`,
      `origin: ${value}`,
      `x-forwarded-for: ${value}`,
      'connection: close',
    );
    const [response] = await sendRawForAll(port, Buffer.from(text, 'latin1'));
    // A header must not contain an escape character, so that one is refused.
    assert.ok(response?.status === 200 || response?.status === 400, value);
    assert.equal(response.headers['set-cookie'], undefined);
    assert.match(String(response.headers['x-request-id']), /^[\da-f-]{36}$/);
  }
  const known = ['Server listening', 'request'];
  const forged = lines.filter(
    ({ msg, level }) => level !== 'info' || !known.some((text) => msg.startsWith(text)),
  );
  assert.deepEqual(forged, []);
  assert.doesNotMatch(JSON.stringify(lines), /cookie|fatal|\\u001b|\u0085/);
});

test('no change of single bytes makes a request hang, fail with a 5xx or get an unreadable response', async (t) => {
  const { port, url, lines } = await startEcho(t);
  const texts = [
    ...Object.values(refused),
    get(),
    post(['content-length: 2'], '{}'),
    post([chunked], '2\r\n{}\r\n0\r\n\r\n'),
  ];
  const change = fc.tuple(
    fc.nat(),
    fc.constantFrom('set', 'drop', 'double'),
    fc.integer({ min: 0, max: 255 }),
  );
  const broken = fc.tuple(fc.constantFrom(...texts), fc.array(change, { minLength: 1, maxLength: 4 }));
  await fuzz(amount, broken, async ([text, changes]) => {
    const bytes = changes.reduce(
      (before, [place, kind, byte]) => {
        const at = place % before.length;
        const middle = kind === 'drop' ? [] : kind === 'set' ? [byte] : [before[at] ?? 0, before[at] ?? 0];
        return Buffer.concat([before.subarray(0, at), Buffer.from(middle), before.subarray(at + 1)]);
      },
      Buffer.from(text, 'latin1'),
    );
    // Once another request has been served, this one has been handled. A client that would send more then disconnects.
    const heard = fetch(`${url}/health/live`).then((response) => response.text());
    for (const response of await sendRawForAll(port, bytes, heard))
      assert.ok(response.status < 500, JSON.stringify(response));
    const defects = lines.splice(0).filter(({ level }) => level === 'error' || level === 'fatal');
    assert.deepEqual(defects, [], bytes.toString('latin1'));
  });
});
