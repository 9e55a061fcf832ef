import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { type Retry, Till } from '@till/client';
import { type Backend, startBackend } from '../support/backend.ts';
import { testKey } from '../support/client.ts';
import { appendEvents, newEvent } from '../support/event-feed.ts';
import { createCustomer } from '../support/objects.ts';
import { TcpLine } from '../support/tcp-line.ts';
import { startTill } from '../support/till.ts';
import { triesPerCall } from '../support/till-in-process.ts';

/** The client behind a network that loses responses, and through restarts of the service. */
const backend = await startBackend({ after });
const server = await startTill({ in: 'process', on: backend, mustNotLogErrors: true });
const port = (url: string) => Number(new URL(url).port);

/** A client whose responses pass a line, and what decides about each piece of a response: false loses it. */
async function connect(passes: (line: TcpLine) => Promise<unknown> | undefined) {
  const retries: Retry[] = [];
  const line: TcpLine = await TcpLine.open(port(server.url), { beforeResponse: () => passes(line) });
  backend.atEnd(() => line.close());
  const till = new Till({
    url: line.url,
    apiKey: testKey,
    retryDelayMs: 1,
    onRetry: (retry) => retries.push(retry),
  });
  return { till, line, retries };
}

/** Breaks the connection, as when a server or a proxy dies after it has carried out the request. */
function lose(line: TcpLine): undefined {
  line.cut();
  line.repair();
}

async function intentsOf(
  { stripe }: Backend,
  customer: { readonly processorCustomerId: string },
): Promise<number> {
  return (await stripe.paymentIntents.list({ customer: customer.processorCustomerId })).data.length;
}

test('a payment whose responses are lost twice is created once', async () => {
  let lost = 0;
  const { till, retries } = await connect((line) => {
    if (lost === 2) return undefined;
    lost += 1;
    return lose(line);
  });
  const customer = await createCustomer(server);
  const { payment } = await till.payments.create({ customerId: customer.id, amount: 2_000, currency: 'eur' });
  assert.equal(retries.length, 2);
  assert.equal(await intentsOf(backend, customer), 1);
  assert.deepEqual(
    (await Array.fromAsync(till.payments.list({ customerId: customer.id }))).map(({ id }) => id),
    [payment.id],
  );
});

test('a payment whose response does not come in time is created once', async () => {
  let asked = 0;
  const never = new Promise<never>(() => {});
  const { till, retries } = await connect(() => {
    asked += 1;
    return asked === 1 ? never : undefined;
  });
  const customer = await createCustomer(server);
  const order = { customerId: customer.id, amount: 2_000, currency: 'eur' };
  await till.payments.create(order, { timeoutMs: 1_000 });
  assert.deepEqual(retries.map(({ error }) => error.name).slice(0, 1), ['TillTimeoutError']);
  assert.equal(await intentsOf(backend, customer), 1);
});

test('a 503 of Till is retried after its Retry-After, and the payment is created once', async () => {
  const { till, retries } = await connect(() => undefined);
  const customer = await createCustomer(server);
  await backend.setFault({
    operation: 'payment_intents.create',
    kind: 'error',
    status: 429,
    times: triesPerCall,
  });
  await till.payments.create({ customerId: customer.id, amount: 2_000, currency: 'eur' });
  const [retry, ...more] = retries;
  assert.ok(retry?.error.name === 'TillError' && retry.delayMs >= 1_000, JSON.stringify(retries));
  assert.deepEqual(more, []);
  assert.equal(await intentsOf(backend, customer), 1);
});

test('a reader that follows the events gets each once and in order, through lost responses, a killed Till and its successor', async () => {
  const killed = await startTill({ in: 'child', on: backend });
  let responses = 0;
  const { till, line, retries } = await connect((own) => {
    responses += 1;
    return responses % 3 === 0 ? lose(own) : undefined;
  });
  line.leadTo(port(killed.url));
  const start = await till.events.latestCursor();
  const customerId = randomUUID();
  const appended: string[] = [];
  const append = async (count: number) => {
    for (let created = 0; created < count; created += 1) {
      const objectId = randomUUID();
      appended.push(objectId);
      await appendEvents(backend.sql, newEvent({ objectId, customerId }), newEvent());
    }
  };
  await append(3);
  const feed = till.events.follow({ after: start, customerId });
  const got: string[] = [];
  for await (const { objectId, id } of feed) {
    got.push(objectId);
    assert.equal(feed.cursor, id);
    if (got.length === appended.length) {
      if (got.length === 3) await append(4);
      else if (got.length === 7) {
        await killed.stop('SIGKILL');
        await append(2);
        // Its successor, on the same database.
        line.leadTo(port(server.url));
      } else if (got.length === 9) {
        line.cut();
        await append(120);
        line.repair();
      } else break;
    }
  }
  assert.deepEqual(got, appended);
  assert.ok(retries.length >= 2, `${retries.length} retries`);
  // Another process continues after what this one has handled.
  await append(1);
  const [next] = await Array.fromAsync(till.events.list({ after: feed.cursor, customerId }));
  assert.equal(next?.objectId, appended.at(-1));
});

test('an abort ends a reader that waits for events', async () => {
  const { till } = await connect(() => undefined);
  const stop = new AbortController();
  const reading = till.events.follow({ after: await till.events.latestCursor(), signal: stop.signal });
  const next = reading[Symbol.asyncIterator]().next();
  const stopped = new Error('stopped');
  stop.abort(stopped);
  await assert.rejects(next, stopped);
});
