/** Idempotency keys belong to an application: the name of its API key. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { type Answer, type Client, createClient } from '../support/client.ts';
import { createCustomer, createPayment } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { backendEnvironment } from '../support/till-in-child.ts';
import { startWholeTill } from '../support/whole-till.ts';

const callers = 10;
const environmentKeys = ['first', 'second', 'shop:third', 'shop:fourth'].map(
  (entry) => `${entry}-${'x'.repeat(24)}`,
);

const backend = await startBackend({ after });
const till = await startTill({ in: 'process', on: backend });
const other = await startWholeTill({
  ...backendEnvironment(backend),
  ROLE: 'api',
  API_KEYS: environmentKeys.join(','),
});
backend.atEnd(() => other.stop());
const [positional, positionalToo, shop, shopToo] = environmentKeys.map((entry) =>
  createClient(other, entry.slice(entry.indexOf(':') + 1)),
) as [Client, Client, Client, Client];

/** Applications with API keys of these names, at one of the two processes. */
async function applications(...names: readonly string[]): Promise<readonly Client[]> {
  return Promise.all(
    names.map(async (name, index) => {
      const { key } = await till.post<{ readonly key: string }>('/api-keys', {
        name,
        scopes: ['write', 'refund'],
      });
      return createClient(index % 2 === 0 ? till : other, key);
    }),
  );
}

const idOf = ({ body }: Answer): string => String(Object(body['payment'])['id']);

async function order(): Promise<(client: Client, key: string, values?: object) => Promise<Answer>> {
  const { id: customerId } = await createCustomer(till);
  return (client, key, values = {}) =>
    client.tryPost('/payments', { customerId, amount: 1_500, currency: 'eur', ...values }, key);
}

test('applications that use the same idempotency key at once do not affect each other, and each has one payment', async () => {
  const clients = await applications('a', 'b', 'c');
  const pay = await order();
  const key = randomUUID();
  const rounds = Array.from({ length: callers }, () => clients).flat();
  const responses = await Promise.all(rounds.map((client) => pay(client, key)));
  assert.deepEqual([...new Set(responses.map(({ status }) => status))], [201]);
  const idsOf = (client: Client) =>
    new Set(responses.filter((_, index) => rounds[index] === client).map(idOf));
  for (const client of clients) assert.equal(idsOf(client).size, 1);
  assert.equal(new Set(responses.map(idOf)).size, clients.length);
  assert.equal(responses.filter(({ replayed }) => !replayed).length, clients.length);
  // Later, in any order, and with other values.
  for (const client of clients.toReversed()) {
    assert.deepEqual(new Set([idOf(await pay(client, key))]), idsOf(client));
    assert.equal((await pay(client, key, { amount: 1 })).status, 422);
  }
});

test('API keys of one name are one application, wherever they come from, and so are API keys without a name', async () => {
  const pay = await order();
  const key = randomUUID();
  const [stored] = (await applications('shop')) as [Client];
  const ids = [];
  for (const client of [shop, shopToo, stored, positional, positionalToo])
    ids.push(idOf(await pay(client, key)));
  assert.equal(new Set(ids.slice(0, 3)).size, 1);
  assert.equal(new Set(ids.slice(3)).size, 1);
  assert.notEqual(ids[0], ids[3]);
});

test('a refused request frees only the idempotency key of its own application', async () => {
  const [first, second] = (await applications('refused', 'lucky')) as [Client, Client];
  const payment = await createPayment(till);
  const pay = await order();
  const key = randomUUID();
  const proceed = Promise.withResolvers<void>();
  // The first holds the idempotency key while the second claims it, and is refused afterwards.
  await backend.setFault({ operation: 'payment_intents.create', kind: 'latency', latencyMs: 500, times: 1 });
  const refused = pay(first, key, { amount: 1 }).finally(proceed.resolve);
  await backend.faultsTaken();
  const created = await pay(second, key);
  assert.equal(created.status, 201);
  assert.equal((await refused).status, 422);
  await proceed.promise;
  const corrected = await pay(first, key);
  assert.deepEqual([corrected.status, corrected.replayed], [201, false]);
  assert.deepEqual(
    [idOf(await pay(first, key)), idOf(await pay(second, key))],
    [idOf(corrected), idOf(created)],
  );
  assert.equal(new Set([idOf(corrected), idOf(created), payment.id]).size, 3);
});

test('no request can repeat an idempotency key that Till generated', async () => {
  const pay = await order();
  const created = await createPayment(till);
  const response = await pay(till, created.id);
  assert.deepEqual([response.status, response.replayed], [201, false]);
  assert.notEqual(idOf(response), created.id);
});
