import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { createClient } from '../support/client.ts';
import { skipWithoutRedis, startOwnRedis } from '../support/redis-server.ts';
import { skipWithoutProgram } from '../support/require-program.ts';
import { backendEnvironment } from '../support/till-in-child.ts';
import { startWholeTill } from '../support/whole-till.ts';
import { startProxy } from './support/proxy.ts';

const skip = skipWithoutProgram('haproxy');

interface StandIn {
  readonly port: number;
  readonly requests: IncomingMessage[];
  isHealthy: boolean;
  /** Ends the connection of a request instead of responding. */
  isBroken: boolean;
  /** Resolves with the health check after so many more. */
  checked(count: number): Promise<void>;
}

/** What the proxy sees of a Till. Which of them fails, and when, is up to the test. */
async function startStandIn(t: TestContext): Promise<StandIn> {
  let left = 0;
  let resolve = () => {};
  const server: Server = createServer((request, response) => {
    if (request.url === '/health/ready') {
      response.writeHead(self.isHealthy ? 200 : 503).end();
      left -= 1;
      if (left === 0) resolve();
      return;
    }
    self.requests.push(request);
    if (self.isBroken) request.socket.destroy();
    else response.end('served');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const self: StandIn = {
    port: (server.address() as AddressInfo).port,
    requests: [],
    isHealthy: true,
    isBroken: false,
    checked: (count) => {
      left = count;
      return new Promise((done) => {
        resolve = done;
      });
    },
  };
  return self;
}

test('the proxy sends requests only to healthy processes, and repeats none that may have been carried out', {
  skip,
}, async (t) => {
  const [first, second] = [await startStandIn(t), await startStandIn(t)];
  first.isHealthy = false;
  const { url } = await startProxy(t, [first, second]);
  // The check after two that failed.
  await first.checked(3);
  const post = () => fetch(url, { method: 'POST', body: '{}' });

  assert.deepEqual(
    (await Promise.all([post(), post(), post()])).map(({ status }) => status),
    [200, 200, 200],
  );
  assert.deepEqual([first.requests.length, second.requests.length], [0, 3]);

  const forwarded = await fetch(`${url}/api/v1/customers`, { headers: { 'x-forwarded-for': '203.0.113.7' } });
  assert.equal(forwarded.status, 200);
  assert.equal(second.requests.at(-1)?.headers['x-forwarded-for'], '127.0.0.1');
  for (const path of ['/metrics', '/%6detrics'])
    assert.equal((await fetch(`${url}${path}`)).status, 404, path);

  second.isBroken = true;
  second.requests.length = 0;
  // Where the client's connection served a request before, the proxy closes it without a response.
  const outcome = await post().then(
    ({ status }) => status,
    () => 502,
  );
  assert.equal(outcome, 502);
  assert.equal(second.requests.length, 1);
  first.isHealthy = true;
  await first.checked(2);
  assert.equal((await fetch(url)).status, 200);
});

test('without Redis the API goes on behind the proxy, although /health says that the cache is down', {
  skip: skip || skipWithoutRedis(),
}, async (t) => {
  const redis = await startOwnRedis();
  assert.ok(redis);
  t.after(() => redis.stop());
  const environment = { ...backendEnvironment(await startBackend(t)), REDIS_URL: redis.url };
  const tills = [await startWholeTill(environment), await startWholeTill(environment)];
  for (const till of tills) t.after(() => till.stop());
  const ports = tills.map(({ url }) => new URL(url).port);
  const watch = watchChecks(t, ports);
  const { url } = await startProxy(
    t,
    ports.map((port) => ({ port })),
  );
  const { tryPost } = createClient({ url });
  await watch.each(2);
  assert.equal((await tryPost('/customers', { email: 'a@example.com' })).status, 201);

  await redis.stop();
  // The check after two that could have failed.
  await watch.each(3);
  for (const till of tills) assert.equal((await fetch(`${till.url}/health`)).status, 503);
  const ready = await fetch(`${url}/health/ready`);
  assert.deepEqual([ready.status, await ready.json()], [200, { status: 'ok' }]);
  assert.equal((await tryPost('/customers', { email: 'b@example.com' })).status, 201);
});

/** Counts the health checks at servers of this process. */
function watchChecks(t: TestContext, ports: readonly string[]) {
  const counts = new Map(ports.map((port) => [port, 0]));
  const counted = new EventEmitter();
  const count = (message: unknown) => {
    const { request } = message as { readonly request: IncomingMessage };
    const port = String(request.socket.localPort);
    // Requests of the proxy itself, not those that it forwards.
    if (request.headers.host !== 'till') return;
    counts.set(port, (counts.get(port) ?? 0) + 1);
    counted.emit('check');
  };
  subscribe('http.server.request.start', count);
  t.after(() => unsubscribe('http.server.request.start', count));
  return {
    /** Resolves when each server got so many more checks. */
    each: async (more: number) => {
      const wanted = ports.map((port) => [port, (counts.get(port) ?? 0) + more] as const);
      while (wanted.some(([port, enough]) => (counts.get(port) ?? 0) < enough)) await once(counted, 'check');
    },
  };
}
