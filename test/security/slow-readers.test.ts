/** Callers that request much and read nothing. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, afterEach, test } from 'node:test';
import { collectGarbage } from '../support/collect-garbage.ts';
import { startTill } from '../support/till.ts';

const megabyte = 1_048_576;
const till = await startTill({ in: 'process', for: { after } });
const { port, host } = new URL(till.url);

const sockets: Socket[] = [];
const closeAll = () => {
  for (const socket of sockets.splice(0)) socket.destroy();
};
afterEach(closeAll);

/** The largest that an object can have: 40 KB. */
const metadata = Object.fromEntries(
  Array.from({ length: 20 }, (_, index) => [`key-${index}`, '\u{1F600}'.repeat(500)]),
);
async function createCustomers(count: number): Promise<void> {
  for (let number = 0; number < count; number += 1)
    await till.post('/customers', { email: `reader-${number}@example.com`, metadata });
}

/** Sends requests one after the other, each on a connection of its own, and reads no response. */
async function requestAll(count: number, path: string, accept: string, keys: readonly string[]) {
  for (let number = 0; number < count; number += 1) {
    const socket = connect(Number(port), '127.0.0.1').pause();
    sockets.push(socket);
    socket.on('error', () => {});
    await once(socket, 'connect');
    const key = keys[number % keys.length];
    socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\naccept: ${accept}\r\nx-api-key: ${key}\r\n\r\n`);
    await once(socket, 'readable');
  }
}

async function newKeys(name: string, count: number): Promise<readonly string[]> {
  const made = Array.from({ length: count }, async (_, index) => {
    const values = { name: `${name}-${index}`, scopes: ['read'] };
    return (await till.post<{ readonly key: string }>('/api-keys', values)).key;
  });
  return Promise.all(made);
}

function usedBytes(): number {
  collectGarbage();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + Math.max(external, arrayBuffers);
}

test('a stream that waits for new events keeps none of the old ones in memory', async () => {
  // Fewer than a stream reads at once, so that the last batch that it gets is a large one.
  await createCustomers(90);
  const before = usedBytes();
  await followToEnd(5, await newKeys('followers', 1));
  const grown = (usedBytes() - before) / megabyte;
  assert.ok(grown < 8, `${Math.round(grown)} MiB`);
});

const cases = [
  { name: 'pages', path: '/api/v1/customers?limit=100', accept: 'application/json', count: 14, names: 1 },
  { name: 'streams', path: '/api/v1/events', accept: 'text/event-stream', count: 20, names: 1 },
  { name: 'exports', path: '/api/v1/customers', accept: 'text/csv', count: 12, names: 6 },
];
for (const { name, path, accept, count, names } of cases)
  test(`large ${name} that applications do not read take no more memory than they may`, async () => {
    await createCustomers(10);
    const keys = await newKeys(name, names);
    const before = usedBytes();
    await requestAll(count, path, accept, keys);
    // It takes turns with the others.
    await followToEnd(1, await newKeys(`${name}-reader`, 1));
    const grown = (usedBytes() - before) / megabyte;
    assert.ok(grown < 64, `${Math.round(grown)} MiB`);
  });

/** Opens streams that read everything there is, and then stay open. */
async function followToEnd(count: number, keys: readonly string[]): Promise<void> {
  const opened = sockets.length;
  await requestAll(count, '/api/v1/events', 'text/event-stream', keys);
  const { data } = await till.get<{ readonly data: readonly { readonly id: string }[] }>(
    '/events?sort=-createdAt&limit=1',
  );
  const last = data[0]?.id ?? assert.fail();
  await Promise.all(sockets.slice(opened).map((socket) => readUntil(socket, `id: ${last}`)));
}

async function readUntil(socket: Socket, text: string): Promise<void> {
  let end = '';
  for (;;) {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) await once(socket, 'readable');
    end = end.slice(-text.length) + String(chunk ?? '');
    if (end.includes(text)) return;
  }
}
