import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { type ConnectionLimits, connectionLimits } from '../../src/http/load/limits.ts';
import { testKey } from '../support/client.ts';
import { type Frame, startFrame } from '../support/frame.ts';

/** Far more than a loopback connection buffers, so that a response of this size is never sent at once. */
const largeBytes = 64 * 1_048_576;

/** As in production, a hundred times as fast. */
const fast: Partial<ConnectionLimits> = {
  headersTimeoutMs: 100,
  requestTimeoutMs: 300,
  timeoutCheckIntervalMs: 50,
  keepAliveTimeoutMs: 720,
  stalledTimeoutMs: 450,
  incompleteMs: 10,
};
/** Slow enough to last for ever, fast enough that a limit on silence alone would never be met. */
const dripDelayMs = 20;
/** A connection that is not closed fails the test. */
const options = { timeout: 30_000 };

const routes = async (app: FastifyInstance) => {
  app.post('/api/v1/things', { schema: { body: {} } }, async () => ({}));
  app.get('/api/v1/large', async (_request, reply) => reply.type('text/plain').send('x'.repeat(largeBytes)));
};

test('the limits are those that are promised', async (t) => {
  const { server } = (await startFrame(t)).app;
  assert.equal(server.headersTimeout, 10_000);
  assert.equal(server.requestTimeout, 30_000);
  assert.equal(server.keepAliveTimeout, 72_000);
  assert.equal(server.timeout, 45_000);
  assert.equal(connectionLimits.connectionsMax, 10_000);
});

test('a connection on which nothing is ever sent is closed', options, async (t) => {
  const frame = await startFrame(t, routes, { connectionLimits: fast });
  assert.match(await readToEnd(open(t, frame)), /^$|^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
});

test('headers that drip in for ever get a 408, and the connection is closed', options, async (t) => {
  const frame = await startFrame(t, routes, { connectionLimits: fast });
  const socket = open(t, frame);
  socket.write('GET /health HTTP/1.1\r\nhost: till\r\nx-drip: ');
  drip(t, socket);
  assert.match(await readToEnd(socket), /^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
});

test('a body that drips in for ever ends with its connection, and is never handled', options, async (t) => {
  const frame = await startFrame(t, routes, { connectionLimits: fast });
  const socket = open(t, frame);
  socket.write(
    `POST /api/v1/things HTTP/1.1\r\nhost: till\r\nx-api-key: ${testKey}\r\n` +
      'content-type: application/json\r\ncontent-length: 1000000\r\n\r\n',
  );
  drip(t, socket);
  assert.doesNotMatch(await readToEnd(socket), /^HTTP\/1\.1 2/);
});

test('a connection that is kept alive and not used is closed', options, async (t) => {
  const frame = await startFrame(t, routes, { connectionLimits: fast });
  const socket = open(t, frame);
  socket.write('GET /health/live HTTP/1.1\r\nhost: till\r\n\r\n');
  assert.match(await readToEnd(socket), /^HTTP\/1\.1 200 /);
});

test('a client that does not read its response is disconnected', options, async (t) => {
  const frame = await startFrame(t, routes, { connectionLimits: fast });
  const accepted = once(frame.app.server, 'connection');
  const socket = open(t, frame).pause();
  socket.write(`GET /api/v1/large HTTP/1.1\r\nhost: till\r\nx-api-key: ${testKey}\r\n\r\n`);
  const [other] = (await accepted) as [Socket];
  await once(other, 'close');
  assert.ok(other.bytesWritten > 0 || socket.bytesRead === 0);
});

test(
  'past the maximum, connections that serve nothing make room, and those of unknown callers first',
  options,
  async (t) => {
    const frame = await startFrame(t, routes, { connectionLimits: { connectionsMax: 4 } });
    const opened: Socket[] = [];
    const openNext = async () => {
      const socket = open(t, frame);
      await once(socket, 'connect');
      opened.push(socket);
      return socket;
    };
    const known = await openNext();
    assert.match(await ask(known), /^HTTP\/1\.1 404 /);
    const strangers = [await openNext(), await openNext(), await openNext()];
    // One of them has been of use since the others were opened.
    assert.match(await ask(strangers[0] ?? assert.fail(), '/health/live'), /^HTTP\/1\.1 200 /);
    // It has begun a request.
    strangers[1]?.write('GET /health/live HTTP/1.1\r\nho');
    for (const number of [1, 2, 0]) {
      const closed = readToEnd(strangers[number] ?? assert.fail());
      assert.match(await ask(await openNext(), '/health/live'), /^HTTP\/1\.1 200 /);
      assert.equal(await closed, '', `number ${number} makes room`);
    }
    assert.match(await ask(known), /^HTTP\/1\.1 404 /, 'it can still be used');
    for (const socket of opened) socket.destroy();
  },
);

async function ask(socket: Socket, path = '/api/v1/nothing'): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nhost: till\r\nx-api-key: ${testKey}\r\n\r\n`);
  const [data] = await once(socket, 'data');
  return String(data);
}

function open(t: TestContext, { port }: Frame): Socket {
  const socket = connect(port, '127.0.0.1');
  // One that the server has closed may still be written to.
  socket.on('error', () => {});
  // When the test runs out of time, so that the server need not wait for it; and at the end.
  t.signal.addEventListener('abort', () => socket.destroy());
  t.after(() => socket.destroy());
  return socket;
}

function drip(t: TestContext, socket: Socket): void {
  const timer = setInterval(() => socket.write('x'), dripDelayMs);
  t.after(() => clearInterval(timer));
}

async function readToEnd(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  if (!socket.closed) await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

test('a connection on which nothing was ever sent does not hold up a stop', async (t) => {
  const { app, port } = await startFrame(t);
  const silent = connect(port, '127.0.0.1');
  await once(silent, 'connect');
  const ended = once(silent, 'close');
  await app.close();
  await ended;
});

test(
  'a request that has not arrived as a whole does not hold up a stop; one that has gets its response',
  options,
  async (t) => {
    const arrived = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const { app, port } = await startFrame(
      t,
      async (scope) => {
        scope.directRoutes.add('/webhooks/processor', async () => ({}));
        scope.post('/api/v1/things', { schema: { body: {} } }, async () => {
          arrived.resolve();
          await answer.promise;
          return {};
        });
      },
      { connectionLimits: { incompleteMs: 10 } },
    );
    const head =
      `POST /api/v1/things HTTP/1.1\r\nhost: till\r\nx-api-key: ${testKey}\r\nconnection: close\r\n` +
      'content-type: application/json\r\n';
    const texts = {
      head: 'POST /api/v1/things HTTP/1.1\r\nx-dr',
      body: `${head}content-length: 9\r\n\r\n{`,
      webhook: 'POST /webhooks/processor HTTP/1.1\r\nhost: till\r\ncontent-length: 9\r\n\r\n{',
      whole: `${head}content-length: 2\r\n\r\n{}`,
    };
    const sockets = Object.values(texts).map((text) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write(text);
      return socket;
    });
    const whole = sockets.pop() ?? assert.fail();
    await arrived.promise;
    const ended = app.close();
    await Promise.all(sockets.map(readToEnd));
    answer.resolve();
    assert.match(await readToEnd(whole), /^HTTP\/1\.1 200 /);
    await ended;
  },
);
