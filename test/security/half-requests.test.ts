import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { keyedBytesMax } from '../../src/http/load/application-memory.ts';
import { usageBodyBytesMax } from '../../src/http/load/limits.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { startIdentityProvider } from '../support/identity-provider.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';
import { eventOf } from '../support/webhook-events.ts';

/** More than a crowd: with fewer, requests are never shed. */
const senders = 150;
/** Longer than requests may take on average before webhooks, and then all others, are refused. */
const watchMs = 1_500;
const publicUrl = 'http://localhost:4999';
const callback = `${publicUrl}/console/sign-in/callback`;

// Before Till stops, which would wait for them.
const sockets: Socket[] = [];
after(() => {
  for (const socket of sockets) socket.destroy();
});

const provider = await startIdentityProvider({ after }, { redirectUri: callback });
const till = await startTill({
  in: 'process',
  for: { after },
  console: { publicUrl, hasKeySignIn: true, oidc: provider.settings },
});
const port = Number(new URL(till.url).port);

/** Opens connections that send the beginning of a request. */
async function sendHalves(count: number, half: string | Buffer): Promise<Socket[]> {
  const opened = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
  sockets.push(...opened);
  await Promise.all(
    opened.map(async (socket) => {
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write(half);
    }),
  );
  return opened;
}

/** For a while, reads and signed webhooks come through, one after the other. */
async function assertServes(): Promise<void> {
  const untilMs = performance.now() + watchMs;
  // Without the pauses of `until`, this would keep a processor core busy.
  await until(async () => {
    await assertServesOnce();
    return performance.now() >= untilMs;
  });
}

async function assertServesOnce(): Promise<void> {
  const { status, body } = await till.tryGet('/payments?limit=1');
  assert.equal(status, 200, JSON.stringify(body));
  const webhook = await till.send(eventOf('invoice.paid.newer'));
  assert.equal(webhook.status, 200, await webhook.text());
}

const halfOf = (path: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nhost: ${new URL(till.url).host}\r\ncontent-type: application/json\r\n` +
  `origin: ${publicUrl}\r\nx-till-console: 1\r\ncontent-length: ${length}\r\n\r\n{"a`;

test('half a webhook from many senders keeps neither calls nor signed webhooks from being served', async () => {
  const halves = await sendHalves(senders, halfOf('/webhooks/processor', 1_000_000));
  await assertServes();
  const [answer] = await once(halves[0] ?? assert.fail(), 'data');
  assert.match(String(answer), /^HTTP\/1\.1 408 .*\r\nconnection: close/is, 'they are told, and cut off');
});

test('nor do halves whose length is not declared', async () => {
  const chunked = halfOf('/webhooks/processor', 1).replace('content-length: 1', 'transfer-encoding: chunked');
  await sendHalves(senders, chunked.replace('{"a', '3\r\n{"a\r\n'));
  await assertServes();
});

test('nor do half sign-ins, whose bodies are small', async () => {
  await sendHalves(senders, halfOf('/console/session', 1_000));
  await assertServes();
  const [large] = await sendHalves(1, halfOf('/console/session', 1_000_000));
  const [answer] = await once(large ?? assert.fail(), 'data');
  assert.match(String(answer), /^HTTP\/1\.1 413 /);
});

test('nor do sign-ins that wait for an identity provider that says nothing', async () => {
  provider.hang();
  const halves = `GET /console/sign-in HTTP/1.1\r\nhost: ${new URL(till.url).host}\r\n\r\n`;
  await sendHalves(senders, halves);
  await assertServes();
});

test('webhooks that lack one byte take no more memory than all of them may', async () => {
  const megabyte = 1_048_576;
  const usedBytes = () => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  const before = usedBytes();
  const half = Buffer.concat([
    Buffer.from(halfOf('/webhooks/processor', megabyte).slice(0, -3)),
    Buffer.alloc(megabyte - 1),
  ]);
  const opened = await sendHalves(senders, half);
  await Promise.all(
    opened.map((socket) => (socket.writableLength === 0 ? undefined : once(socket, 'drain').catch(() => {}))),
  );
  await assertServes();
  const grown = (usedBytes() - before) / megabyte;
  assert.ok(grown < 64, `${Math.round(grown)} MiB`);
});

test('halves of one application take no more memory than it may, and disturb no other application', async () => {
  const size = usageBodyBytesMax;
  const fitting = keyedBytesMax / size;
  const scopes = ['usage'];
  for (const declared of [`content-length: ${size}`, 'transfer-encoding: chunked']) {
    const name = declared.split(':', 1)[0];
    const { key } = await till.post<{ readonly key: string }>('/api-keys', { name, scopes });
    const half = halfOf('/api/v1/usage', 1).replace('content-length: 1', `x-api-key: ${key}\r\n${declared}`);
    const opened = await sendHalves(fitting + 1, half.slice(0, -3));
    // Whichever arrives last.
    const [answer] = await Promise.race(opened.map((socket) => once(socket, 'data')));
    assert.match(String(answer), /^HTTP\/1\.1 429 .*\r\nretry-after: 1\r\n/is);
    await assertServes();
    assert.equal(opened.filter(({ bytesRead }) => bytesRead > 0).length, 1);
    const small = {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: '{}',
    };
    const own = await fetch(`${till.url}/api/v1/usage`, small);
    assert.equal(own.status, 400, 'small requests of the same application are served');
    await assertServesOnce();
    // A body that will not arrive any more does not count.
    for (const socket of opened) socket.destroy();
    const url = `${till.url}/api/v1/usage`;
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const body = `"${'x'.repeat(size - 2)}"`;
    await until(async () => (await fetch(url, { method: 'POST', headers, body })).status === 400);
  }
});
