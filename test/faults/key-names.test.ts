/** Idempotency keys belong to an application: the name of its API key. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ClaimStore } from '../../src/idempotency/claim-store.ts';
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
const { sql } = backend;
const [positional, positionalToo, shop, shopToo] = environmentKeys.map((entry) =>
  createClient(other, entry.slice(entry.indexOf(':') + 1)),
) as [Client, Client, Client, Client];

/** Applications with keys of these names, at one of the two processes. */
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

test('applications that use the same key at once never meet, and each has one payment', async () => {
  const clients = await applications('a', 'b', 'c');
  const pay = await order();
  const key = randomUUID();
  const rounds = Array.from({ length: callers }, () => clients).flat();
  const answers = await Promise.all(rounds.map((client) => pay(client, key)));
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
  const idsOf = (client: Client) => new Set(answers.filter((_, index) => rounds[index] === client).map(idOf));
  for (const client of clients) assert.equal(idsOf(client).size, 1);
  assert.equal(new Set(answers.map(idOf)).size, clients.length);
  assert.equal(answers.filter(({ replayed }) => !replayed).length, clients.length);
  // Later, in any order, and with other values.
  for (const client of clients.toReversed()) {
    assert.deepEqual(new Set([idOf(await pay(client, key))]), idsOf(client));
    assert.equal((await pay(client, key, { amount: 1 })).status, 422);
  }
});

test('the first application has its claim where the previous release finds it', async () => {
  const [first, second] = (await applications('early', 'late')) as [Client, Client];
  const pay = await order();
  const key = randomUUID();
  await pay(first, key);
  await pay(second, key);
  const stored = await sql(
    'select key, key_name from till.idempotency_claims where key in ($1, $2) order by key',
    [key, `late ${key}`],
  );
  assert.deepEqual(
    new Set(stored.map((row) => JSON.stringify(row))),
    new Set([
      JSON.stringify({ key, key_name: 'early' }),
      JSON.stringify({ key: `late ${key}`, key_name: 'late' }),
    ]),
  );
});

test('a claim from before names is found by every name', async () => {
  const pay = await order();
  const key = randomUUID();
  const before = await pay(till, key);
  await sql('update till.idempotency_claims set key_name = null where key = $1', [key]);
  for (const client of [...(await applications('any', 'body')), positional, shop, till]) {
    const again = await pay(client, key);
    assert.deepEqual([again.status, again.replayed, idOf(again)], [201, true, idOf(before)]);
    assert.equal((await pay(client, key, { amount: 1 })).status, 422);
  }
});

test('keys of one name are one application, wherever they come from, and keys without a name are one too', async () => {
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

test('a refused request frees the key of its own application alone', async () => {
  const [first, second] = (await applications('refused', 'lucky')) as [Client, Client];
  const payment = await createPayment(till);
  const pay = await order();
  const key = randomUUID();
  const proceed = Promise.withResolvers<void>();
  // The first holds the key while the second claims it, and is refused afterwards.
  await backend.setFault({ operation: 'payment_intents.create', kind: 'latency', latencyMs: 500, times: 1 });
  const refused = pay(first, key, { amount: 1 }).finally(proceed.resolve);
  await backend.faultsTaken();
  const made = await pay(second, key);
  assert.equal(made.status, 201);
  assert.equal((await refused).status, 422);
  await proceed.promise;
  const corrected = await pay(first, key);
  assert.deepEqual([corrected.status, corrected.replayed], [201, false]);
  assert.deepEqual(
    [idOf(await pay(first, key)), idOf(await pay(second, key))],
    [idOf(corrected), idOf(made)],
  );
  assert.equal(new Set([idOf(corrected), idOf(made), payment.id]).size, 3);
});

test('a key that a request uses without sending it cannot be repeated by anybody', async () => {
  const pay = await order();
  const made = await createPayment(till);
  const answer = await pay(till, made.id);
  assert.deepEqual([answer.status, answer.replayed], [201, false]);
  assert.notEqual(idOf(answer), made.id);
});

test('a claim that others have claims beside outlives them', async () => {
  const [first, second] = (await applications('long', 'short')) as [Client, Client];
  const pay = await order();
  const key = randomUUID();
  for (const client of [first, second]) await pay(client, key);
  await till.services.idempotency.stop();
  const claims = new ClaimStore(10_000, 'installation');
  const age = async (sharedFor: string) => {
    await sql(
      `update till.idempotency_claims set completed_at = now() - interval '26 hours',
         shared_at = now() - $2::interval where key = $1`,
      [key, sharedFor],
    );
    await claims.prune(till.database, 25 * 3_600_000, 1_000);
    return (await sql('select 1 from till.idempotency_claims where key = $1', [key])).length;
  };
  assert.equal(await age('74 hours'), 1);
  assert.equal(await age('76 hours'), 0);
});
