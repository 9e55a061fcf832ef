import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { toNodeHandler } from './node-handler.ts';
import { tillEvents } from './till-events.ts';

const key = Buffer.from('a secret of thirty-two bytes ...');
const secret = `whsec_${key.toString('base64')}`;

/** The headers of a signed request. */
function sign(body: string): Record<string, string> {
  const seconds = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac('sha256', key).update(`evt_1.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': 'evt_1', 'webhook-timestamp': seconds, 'webhook-signature': `v1,${signature}` };
}

const bodyOf = (type: string) => JSON.stringify({ id: 'evt_1', type, data: { name: 'Zoë' } });

function start() {
  const calls: string[] = [];
  const errors: unknown[] = [];
  const handler = tillEvents({
    secret,
    on: {
      'plan.created': async ({ data }) => void calls.push(data.name),
      'plan.updated': async () => {
        throw new Error('the database is down');
      },
    },
    onError: (error, event) => errors.push([String(error), event?.type]),
  });
  return { calls, errors, handler };
}

const url = 'http://shop.example.com/till-events';
const requestOf = (body: string, headers: Record<string, string> = sign(body)) =>
  new Request(url, { method: 'POST', body, headers });

test('an event of Till is verified and given to the function of its type; other types are acknowledged', async () => {
  const { calls, errors, handler } = start();
  assert.equal((await handler(requestOf(bodyOf('plan.created')))).status, 200);
  assert.equal((await handler(requestOf(bodyOf('plan.archived')))).status, 200);
  assert.equal((await handler(requestOf(bodyOf('toString')))).status, 200);
  assert.deepEqual([calls, errors], [['Zoë'], []]);
});

test('400, 405 and 413: what is not from Till reaches no function', async () => {
  const { calls, errors, handler } = start();
  const body = bodyOf('plan.created');
  assert.equal((await handler(requestOf(body.replace('Zoë', 'Ada'), sign(body)))).status, 400);
  assert.equal((await handler(requestOf(body, {}))).status, 400);
  assert.equal((await handler(new Request(url, { method: 'POST' }))).status, 400);
  const got = await handler(new Request(url));
  assert.deepEqual([got.status, got.headers.get('allow')], [405, 'POST']);
  const large = JSON.stringify({ id: 'evt_1', type: 'plan.created', data: { name: 'a'.repeat(1_048_576) } });
  assert.equal((await handler(requestOf(large))).status, 413);
  assert.deepEqual([calls, errors], [[], []]);
});

test('500: a function that throws, so that Till sends the event again; and a body that was read before', async () => {
  const { errors, handler } = start();
  const failed = await handler(requestOf(bodyOf('plan.updated')));
  assert.equal(failed.status, 500);
  assert.ok(!(await failed.text()).includes('database'));
  const read = requestOf(bodyOf('plan.created'));
  await read.text();
  assert.equal((await handler(read)).status, 500);
  assert.deepEqual(errors, [
    ['Error: the database is down', 'plan.updated'],
    ['TypeError: the body was read before it could be verified', undefined],
  ]);
});

/** A server of `node:http` with the handler. `parse` is what a framework does before it. */
async function serve(t: TestContext, parse?: (request: IncomingMessage) => Promise<void>) {
  const { handler, ...seen } = start();
  const handle = toNodeHandler(handler);
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    await parse?.(request);
    await handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const post = (body: string, headers = sign(body)) => fetch(address, { method: 'POST', body, headers });
  return { ...seen, address, post };
}

test('under node:http it takes the raw body, and responds the same', async (t) => {
  const { calls, errors, address, post } = await serve(t);
  const body = bodyOf('plan.created');
  assert.equal((await post(body)).status, 200);
  assert.equal((await post(body, {})).status, 400);
  assert.equal((await post(bodyOf('plan.updated'))).status, 500);
  assert.equal((await fetch(address)).status, 405);
  assert.deepEqual([calls, errors.length], [['Zoë'], 1]);
});

test('under node:http a body that is too large is refused before its end', async (t) => {
  const { address } = await serve(t);
  // One byte too many, and no end. Nothing is unread when the server closes the connection: unread bytes would reset
  // it, and the client may lose the response.
  const chunks = [...Array.from({ length: 16 }, () => new Uint8Array(65_536)), new Uint8Array(1)];
  const stream = new ReadableStream({
    pull: async (controller) => {
      const chunk = chunks.shift();
      if (chunk === undefined) await new Promise(() => {});
      else controller.enqueue(chunk);
    },
  });
  const request = { method: 'POST', body: stream, duplex: 'half' };
  const response = await fetch(address, request as RequestInit);
  assert.deepEqual([response.status, response.headers.get('connection')], [413, 'close']);
});

test('with Express it takes the bytes of express.raw(), and explains a body that express.json() has parsed', async (t) => {
  const read = async (request: IncomingMessage) => Buffer.concat(await Array.fromAsync(request));
  const raw = await serve(t, async (request) => {
    Object.assign(request, { body: await read(request) });
  });
  assert.equal((await raw.post(bodyOf('plan.created'))).status, 200);
  assert.deepEqual(raw.calls, ['Zoë']);
  const parsed = await serve(t, async (request) => {
    Object.assign(request, { body: JSON.parse(String(await read(request))) });
  });
  const refused = await parsed.post(bodyOf('plan.created'));
  assert.equal(refused.status, 500);
  assert.match(await refused.text(), /before express\.json/);
  assert.deepEqual(parsed.calls, []);
});
