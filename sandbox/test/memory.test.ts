import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { effort } from '../../test/support/effort.ts';
import { heapUsedBytes, useReceiver, useSandbox, worldOf } from './support.ts';

/** The short form lowers the limits of what a world remembers, so that it reaches them quickly. */
const { requests, retention } = effort({
  short: { requests: 2_700, retention: { eventsMax: 400, memosMax: 200, spentMax: 80 } },
  long: { requests: 1_000_000, retention: undefined },
});
const atOnce = 8;
/** The heap is measured after the warm-up, when everything that is remembered has reached its limit. */
const warmUpShare = 0.4;
/** Less than ten bytes for each request of the long form. Keeping anything of each request would take far more. */
const growthBytesMax = effort({ short: 1_500_000, long: 8_000_000 });

test('memory stays flat in a world that deletes what it creates', async (t) => {
  const { sandbox } = await useSandbox(t, retention === undefined ? {} : { retention });
  const receiver = await useReceiver(t);
  const { stripe, control } = worldOf(sandbox, 'busy');
  await stripe.webhookEndpoints.create({ url: receiver.url, enabled_events: ['product.deleted'] });
  const send = clientFor(t, sandbox.port);
  let sent = 0;
  const run = async (until: number) => {
    const worker = async () => {
      while (sent < until) {
        sent += requestsPerLife;
        await lifecycle(send, sent);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    // Delivered events would otherwise wait in the queue of the endpoint.
    await control('POST', 'delivery/flush');
    receiver.received.length = 0;
    return heapUsedBytes();
  };

  const before = await run(requests * warmUpShare);
  const after = await run(requests);
  const growth = after - before;
  t.diagnostic(
    `${sent} requests: ${(before / 1e6).toFixed(1)} MB after the warm-up, ${(after / 1e6).toFixed(1)} MB at the end`,
  );
  assert.ok(growth < growthBytesMax, `the heap grew by ${growth} bytes`);
  const { holds } = (await control('GET', '')).body as { holds: Record<string, number> };
  assert.deepEqual([holds['products'], holds['subscriptions'], holds['test_clocks']], [0, 0, 0]);
});

type Send = (method: string, path: string, body?: string) => Promise<{ id: string }>;

const requestsPerLife = 9;

/** Creates objects of several kinds and deletes them. */
async function lifecycle(send: Send, number: number): Promise<void> {
  const customer = await send(
    'POST',
    'customers',
    `email=a${number}@example.com&payment_method=pm_card_visa`,
  );
  await send('POST', `customers/${customer.id}`, `metadata[number]=${number}`);
  await send('DELETE', `customers/${customer.id}`);
  const product = await send('POST', 'products', 'name=Product');
  await send('DELETE', `products/${product.id}`);
  const clock = await send('POST', 'test_helpers/test_clocks', 'frozen_time=1600000000');
  const onClock = await send('POST', 'customers', `test_clock=${clock.id}&payment_method=pm_card_visa`);
  await send('POST', 'setup_intents', `customer=${onClock.id}`);
  await send('DELETE', `test_helpers/test_clocks/${clock.id}`);
}

function clientFor(t: { after(work: () => void): void }, port: number): Send {
  const agent = new http.Agent({ keepAlive: true, maxSockets: atOnce });
  t.after(() => agent.destroy());
  let count = 0;
  return (method, path, body = '') =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: 'Bearer sk_test_world_busy',
        'content-length': Buffer.byteLength(body),
        ...(method === 'POST' ? { 'idempotency-key': `key-${count++}` } : {}),
      };
      const request = http.request({ port, host: '127.0.0.1', agent, method, path: `/v1/${path}`, headers });
      request.on('error', reject);
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          if (response.statusCode === 200) resolve(JSON.parse(text));
          else reject(new Error(text));
        });
      });
      request.end(body);
    });
}
