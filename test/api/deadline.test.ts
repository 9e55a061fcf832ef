import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { Failure } from '#core/errors.ts';
import { testKey } from '../support/client.ts';
import { startFrame } from '../support/frame.ts';
import { readProblem } from '../support/problem.ts';
import { sendRaw } from '../support/raw-http.ts';
import { until } from '../support/until.ts';

test('503: a request that is not finished in time still gets a response, with or without a body', async (t) => {
  const work = Promise.withResolvers<object>();
  const { call, lines } = await startFrame(
    t,
    async (app) => {
      app.post('/api/v1/things', () => work.promise);
      app.get('/api/v1/things', () => work.promise);
    },
    { requestDeadlineMs: 50 },
  );
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
  for (const init of [post, {}]) {
    const late = await call('/api/v1/things', init);
    assert.equal(late.headers.get('retry-after'), '1');
    await readProblem(late, 503, 'overloaded');
  }
  work.resolve({});
  // The late result is dropped, and the next request is served as usual.
  // Without a body nothing can happen between its arrival and its response, so its deadline cannot pass.
  assert.equal((await call('/api/v1/things')).status, 200);
  assert.deepEqual(
    lines.filter((line) => line.level === 'error'),
    [],
  );
});

test('408: a body that arrives too slowly, even of a webhook, and no handler runs for it', async (t) => {
  let handled = 0;
  const handler = async () => {
    handled += 1;
    return {};
  };
  const { port, lines } = await startFrame(
    t,
    async (app) => {
      app.post('/api/v1/things', handler);
      app.post('/webhooks/processor', handler);
    },
    { requestDeadlineMs: 50 },
  );
  for (const path of ['/api/v1/things', '/webhooks/processor'])
    for (const length of ['content-length: 100', 'transfer-encoding: chunked']) {
      const head = `POST ${path} HTTP/1.1\r\nhost: till\r\nx-api-key: ${testKey}\r\ncontent-type: application/json\r\n`;
      const { status, headers, body } = await sendRaw(port, `${head}${length}\r\n\r\n`);
      assert.deepEqual([status, JSON.parse(body).code], [408, 'request_timeout'], path);
      assert.equal(headers['connection'], 'close');
    }
  assert.equal(handled, 0);
  assert.deepEqual(
    lines.filter(({ level }) => level === 'error' || level === 'warn'),
    [],
  );
});

test('a webhook that has its 408 gets no second one when its body is given up', async (t) => {
  const { app, port } = await startFrame(
    t,
    async (scope) => scope.directRoutes.add('/webhooks/processor', async () => ({})),
    { requestDeadlineMs: 50 },
  );
  const half = 'POST /webhooks/processor HTTP/1.1\r\nhost: till\r\ncontent-length: 100\r\n\r\n{';
  assert.equal((await sendRaw(port, half)).status, 408);
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + 60_000);
  await until(() => app.unverifiedBodies.count === 0);
});

/** Passes the deadline of one request whose handler waits for `work`, then lets the handler end. */
async function endLate(
  t: TestContext,
  register: (app: FastifyInstance, work: Promise<object>) => void,
  settle: (work: PromiseWithResolvers<object>) => void,
) {
  const work = Promise.withResolvers<object>();
  const { call, lines } = await startFrame(t, async (app) => register(app, work.promise), {
    requestDeadlineMs: 50,
  });
  const headers = { 'x-request-id': 'late-request' };
  const late = await call('/api/v1/things', { headers });
  await readProblem(late, 503, 'overloaded');
  const before = lines.length;
  settle(work);
  // Whatever is logged about the late outcome has been logged before this request is served.
  assert.equal((await call('/health/live')).status, 200);
  return lines.slice(before).filter(({ route }) => route !== '/health/live');
}

const handlers = {
  'returns its response': (app: FastifyInstance, work: Promise<object>) =>
    void app.get('/api/v1/things', () => work),
  'sends its response': (app: FastifyInstance, work: Promise<object>) =>
    void app.get('/api/v1/things', async (_request, reply) => reply.code(201).send(await work)),
};

for (const [how, register] of Object.entries(handlers)) {
  test(`a handler that ${how} and fails as expected after the deadline is logged once, as a warning with the request id`, async (t) => {
    const failure = new Failure('processor_timeout', 'The processor did not respond in time.');
    const lines = await endLate(t, register, ({ reject }) => reject(failure));
    assert.deepEqual(
      lines.map(({ level, msg, requestId, code }) => ({ level, msg, requestId, code })),
      [
        {
          level: 'warn',
          msg: 'request failed after its deadline',
          requestId: 'late-request',
          code: 'processor_timeout',
        },
      ],
    );
  });

  test(`a handler that ${how} and has a defect after the deadline is logged once, as an error with its cause and the request id`, async (t) => {
    const lines = await endLate(t, register, ({ reject }) =>
      reject(new TypeError('x is not a function', { cause: new Error('the reason') })),
    );
    assert.deepEqual(
      lines.map(({ level, msg, requestId }) => ({ level, msg, requestId })),
      [{ level: 'error', msg: 'request failed after its deadline', requestId: 'late-request' }],
    );
    assert.match(JSON.stringify(lines[0]), /x is not a function.*the reason/);
  });

  test(`a handler that ${how} and succeeds after the deadline is logged once, for information, with the request id`, async (t) => {
    const lines = await endLate(t, register, ({ resolve }) => resolve({}));
    assert.deepEqual(
      lines.map(({ level, msg, requestId }) => ({ level, msg, requestId })),
      [{ level: 'info', msg: 'request completed after its deadline', requestId: 'late-request' }],
    );
  });
}

/** Holds the audit entry of a request back, and with it the response, until another request has passed its deadline. */
async function answerLate(t: TestContext, handler: (entry: Promise<number>) => Promise<object>) {
  const written = Promise.withResolvers<void>();
  const entry = Promise.withResolvers<number>();
  const audit = {
    write: () => {},
    writeAlone: ({ outcome }: { readonly outcome: number }) => {
      entry.resolve(outcome);
      return written.promise;
    },
  };
  const never = new Promise(() => {});
  const of = { action: 'createThing', objectType: 'thing', outcomes: [200], of: 'everyone' } as const;
  const { call, lines } = await startFrame(
    t,
    async (app) => {
      app.post('/api/v1/things', { config: { audit: of } }, () => handler(entry.promise));
      app.get('/api/v1/things', () => never);
    },
    { requestDeadlineMs: 50, audit },
  );
  const response = call('/api/v1/things', { method: 'POST' });
  const outcome = await entry.promise;
  await readProblem(await call('/api/v1/things'), 503, 'overloaded');
  written.resolve();
  const answer = await response;
  assert.equal((await call('/health/live')).status, 200);
  assert.deepEqual(
    lines.filter(({ level }) => level === 'error'),
    [],
  );
  return { outcome, answer };
}

test('a deadline that passes while the audit entry of its 503 is written, and a result of that time, change nothing', async (t) => {
  const { outcome, answer } = await answerLate(t, async (entry) => ({ outcome: await entry }));
  assert.equal(outcome, 503);
  await readProblem(answer, 503, 'overloaded');
});

test('a response whose audit entry is being written when its deadline passes is sent', async (t) => {
  const { outcome, answer } = await answerLate(t, async () => ({ done: true }));
  assert.deepEqual([outcome, answer.status, await answer.json()], [200, 200, { done: true }]);
});
