import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { DeliveryOutcome } from '#engine/events/deliveries/delivery.ts';
import { EventSender } from '#engine/events/deliveries/event-sender.ts';
import { AddressResolver, type Resolve } from '#engine/events/endpoints/address-resolver.ts';
import { newSecret } from '#engine/events/endpoints/endpoint-secret.ts';
import { respond, startScriptedServer } from '../processor/scripted-server.ts';
import { makeCertificates } from '../support/certificates.ts';
import { skipWithoutProgram } from '../support/require-program.ts';

interface SenderOptions {
  readonly allowPrivate?: boolean;
  readonly resolve?: Resolve;
  readonly limits?: { readonly timeoutMs: number };
}

const noNames: Resolve = async (host) => assert.fail(`${host} was resolved`);
/** Much shorter than a test may take. */
const shortTimeoutMs = 300;

function startSender(t: TestContext, options: SenderOptions = {}): (url: string) => Promise<DeliveryOutcome> {
  const { allowPrivate = true, resolve = noNames, limits } = options;
  const sender = new EventSender(new AddressResolver({ allowPrivate }, resolve), limits);
  t.after(() => sender.close());
  return async (url) => {
    const message = { url, secrets: [newSecret()], id: 'evt_1', body: '{}' };
    const outcome = await sender.send(message, new AbortController().signal);
    assert(outcome !== undefined);
    return outcome;
  };
}

/** What a server that speaks no HTTP library sends. `part` is sent again and again if there is an interval. */
async function startRawServer(t: TestContext, start: string, drip?: { part: string; everyMs: number }) {
  const sockets = new Set<{ destroy(): void }>();
  let closed = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    let timer: NodeJS.Timeout | undefined;
    socket.on('error', () => {});
    socket.on('close', () => {
      closed += 1;
      clearInterval(timer);
    });
    socket.once('data', () => {
      socket.write(start);
      timer = drip && setInterval(() => socket.write(drip.part), drip.everyMs);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, closed: () => closed, connections: () => sockets.size };
}

test('any 2xx is a success, and nothing else is; no redirect is followed', async (t) => {
  const send = startSender(t);
  const inside = await startScriptedServer(t, (response) => respond(response, 200, {}));
  for (const status of [200, 201, 202, 204, 299, 301, 302, 303, 307, 308, 304, 400, 404, 410, 500, 503]) {
    const endpoint = await startScriptedServer(t, (response) =>
      respond(response, status, status === 204 || status === 304 ? '' : 'text', {
        location: inside.url.href,
      }),
    );
    const outcome = await send(endpoint.url.href);
    assert.equal(outcome.succeeded, status < 300, String(status));
    assert.equal(outcome.responseStatus, status);
  }
  assert.deepEqual(inside.seen, []);
});

test('of a long response the first kilobyte is read, and then the connection is closed', async (t) => {
  const send = startSender(t);
  const endless = await startRawServer(t, `HTTP/1.1 200 OK\r\n\r\n${'a'.repeat(900)}`, {
    part: '\0\xff'.repeat(500),
    everyMs: 5,
  });
  const outcome = await send(endless.url);
  assert.equal(outcome.succeeded, true);
  assert.equal(Buffer.byteLength(outcome.responseBody ?? '') >= 900, true);
  assert.match(outcome.responseBody ?? '', /^a{900}\ufffd/);
  assert.ok(!outcome.responseBody?.includes('\0'));
});

test('a response that drips, stops or never comes ends at the time limit for the whole exchange', async (t) => {
  const send = startSender(t, { limits: { timeoutMs: shortTimeoutMs } });
  const drips = { part: 'x', everyMs: 20 };
  for (const [start, drip] of [
    ['', undefined],
    ['HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf', undefined],
    ['HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n', drips],
    ['HTTP/1.1 200 OK\r\nx-header: ', drips],
  ] as const) {
    const { url } = await startRawServer(t, start, drip);
    const outcome = await send(url);
    assert.deepEqual([outcome.succeeded, outcome.error], [false, 'TIMEOUT'], start);
    assert.ok(outcome.durationMs < 20 * shortTimeoutMs);
  }
  const hanging = startSender(t, {
    limits: { timeoutMs: shortTimeoutMs },
    resolve: () => new Promise(() => {}),
  });
  assert.equal((await hanging('http://never.example.com')).error, 'TIMEOUT');
});

test('a request that timed out on a connection that was used before is not sent once more', async (t) => {
  // The exchange before the slow ones may take its time.
  const limits = { timeoutMs: 600_000 };
  const send = startSender(t, { limits });
  let isSlow = false;
  const slow = await startScriptedServer(t, (response) =>
    isSlow ? undefined : respond(response, 200, 'ok'),
  );
  assert.equal((await send(slow.url.href)).succeeded, true);
  isSlow = true;
  limits.timeoutMs = shortTimeoutMs;
  assert.equal((await send(slow.url.href)).error, 'TIMEOUT');
  assert.equal((await send(slow.url.href)).error, 'TIMEOUT');
  assert.equal(slow.seen.length, 3);
});

test('a broken response, a refused connection and an unknown name are failures with a reason', async (t) => {
  const send = startSender(t, {
    resolve: async () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })),
  });
  const { port } = await startRawServer(t, 'nonsense\r\n\r\n');
  assert.match(String((await send(`http://127.0.0.1:${port}`)).error), /^HPE_/);
  assert.equal((await send('http://127.0.0.1:1')).error, 'ECONNREFUSED');
  assert.equal((await send('http://unknown.example.com')).error, 'ENOTFOUND');
});

test('a name that resolves to another address at the connection than at the check is refused', async (t) => {
  const target = await startRawServer(t, 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
  const responses = [['93.184.215.14'], ['127.0.0.1']];
  const resolve: Resolve = async () => responses.shift() ?? ['127.0.0.1'];
  const addresses = new AddressResolver({ allowPrivate: false }, resolve);
  const url = `https://rebinding.example.com:${target.port}/`;
  assert.equal(await addresses.mistakeOf(new URL(url)), undefined, 'the check sees a public address');
  const sender = new EventSender(addresses);
  t.after(() => sender.close());
  const message = { url, secrets: [newSecret()], id: 'evt_1', body: '{}' };
  const outcome = await sender.send(message, new AbortController().signal);
  assert.deepEqual([outcome?.succeeded, outcome?.error], [false, 'ADDRESS_REFUSED']);
  assert.equal(target.connections(), 0);
});

test('an address that is not public is not connected to, in any spelling, by name or in a list with public ones', async (t) => {
  const target = await startRawServer(t, 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
  const spellings = [
    '127.0.0.1',
    '2130706433',
    '0177.0.0.1',
    '0x7f.1',
    '127.0.0.1.',
    '[::ffff:127.0.0.1]',
    '[::1]',
  ];
  const literal = startSender(t, { allowPrivate: false });
  for (const host of spellings)
    assert.equal((await literal(`https://${host}:${target.port}/`)).error, 'ADDRESS_REFUSED', host);
  for (const addresses of [
    ['::ffff:127.0.0.1'],
    ['::1'],
    ['93.184.215.14', '127.0.0.1'],
    ['64:ff9b::7f00:1'],
  ]) {
    const named = startSender(t, { allowPrivate: false, resolve: async () => addresses });
    const { error, responseBody } = await named(`https://name.example.com:${target.port}/`);
    assert.equal(error, 'ADDRESS_REFUSED');
    assert.match(String(responseBody), /^Not sent: .* not public/);
    for (const address of addresses) assert.ok(!responseBody?.includes(address), 'the address is not shown');
  }
  assert.equal(target.connections(), 0);
});

test('an http URL from a time when private networks were allowed gets nothing, and the outcome says why', async (t) => {
  const target = await startScriptedServer(t, (response) => respond(response, 200, 'ok'));
  for (const url of [target.url.href, 'http://93.184.215.14/', 'http://public.example.com/']) {
    const { error, succeeded, responseStatus, responseBody } = await startSender(t, { allowPrivate: false })(
      url,
    );
    assert.deepEqual([succeeded, error, responseStatus], [false, 'URL_REFUSED', null], url);
    assert.match(String(responseBody), /^Not sent: .*https:\/\/.*EVENT_ENDPOINTS_ALLOW_PRIVATE/);
  }
  assert.equal((await startSender(t)(target.url.href)).responseBody, 'ok');
  assert.equal(target.seen.length, 1);
});

test('localhost is this machine, and no name server is asked for it', async () => {
  const beside = new AddressResolver({ allowPrivate: false, allowLoopback: true });
  assert.equal(await beside.mistakeOf(new URL('http://localhost:4000/')), undefined);
});

test('a connection is used again, a closed one is replaced, and names are resolved once for those that begin together', async (t) => {
  let resolved = 0;
  const resolve: Resolve = async () => {
    resolved += 1;
    return ['127.0.0.1'];
  };
  const send = startSender(t, { resolve });
  const endpoint = await startScriptedServer(t, (response) => respond(response, 200, 'ok'));
  const url = `http://name.example.com:${endpoint.url.port}/`;
  const first = await Promise.all([send(url), send(url), send(url)]);
  assert.ok(first.every(({ succeeded }) => succeeded));
  assert.equal(resolved, 1);
  await send(url);
  assert.equal(resolved, 1, 'the connection is still open');
  endpoint.server.closeAllConnections();
  assert.equal((await send(url)).succeeded, true);
});

test('https verifies the certificate', { skip: skipWithoutProgram('openssl') }, async (t) => {
  const certificates = makeCertificates('shop.example.com');
  t.after(() => certificates.remove());
  const server = createSecureServer(
    { key: certificates.key, cert: certificates.certificate },
    (_, response) => response.end('ok'),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const send = startSender(t, { resolve: async () => ['127.0.0.1'] });
  const outcome = await send(`https://shop.example.com:${port}/`);
  assert.equal(outcome.succeeded, false);
  assert.match(String(outcome.error), /UNABLE_TO_VERIFY|SELF_SIGNED|CERT/);
});
