import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Backend, startBackend } from '../support/backend.ts';
import type { Answer, Client } from '../support/client.ts';
import { crashPoints } from '../support/crash-points.ts';
import { type Doom, killAmid } from '../support/doomed-tills.ts';
import { effort } from '../support/effort.ts';
import { inTurn } from '../support/in-turn.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { startTill } from '../support/till.ts';
import { triesPerCall } from '../support/till-in-process.ts';

const path = '/customers';
const signUpsPerProcess = 17;
/** Beside a killed process, where few requests meet what it left as well as many. */
const signUpsAfterKill = effort({ short: 4, long: signUpsPerProcess });

test('fifty sign-ups at three processes create one customer and one 201', async (t) => {
  const backend = await startBackend(t);
  const tills = [
    await startTill({ in: 'process', on: backend }),
    await startTill({ in: 'process', on: backend }),
    await startTill({ in: 'process', on: backend }),
  ];
  for (const externalId of effort({ short: ['one'], long: ['one', 'two', 'three'] })) {
    const responses = await Promise.all(tills.flatMap((till) => signUps(till, externalId)));
    await assertOneCustomer(backend, externalId, responses);
    // The processes share the idempotency keys, and a repeated one repeats its status.
    const isFirst = ({ status, replayed }: Answer) => status === 201 && !replayed;
    assert.equal(responses.filter(isFirst).length, 1);
    // Each idempotency key repeats its own status.
    const again = await Promise.all(tills.flatMap((till) => signUps(till, externalId)));
    const keyed = (all: readonly Answer[]) =>
      all.filter((_, index) => (index % signUpsPerProcess) % 2 === 0).map(({ status }) => status);
    assert.deepEqual(keyed(again), keyed(responses));
    await assertOneCustomer(backend, externalId, again);
  }
});

test('sign-ups finish what a killed process began, wherever it died, and create one customer', async (t) => {
  // A database for each: two that stop within a transaction would wait for each other.
  // In the short form, each crash point but one is met either with an idempotency key or without one.
  const deaths = crashPoints.flatMap((crashPoint, place) =>
    [undefined, `doomed-${crashPoint}`]
      .filter((_, kind) => effort({ short: place === 1 || place === kind * 2, long: true }))
      .map((key) => ({ crashPoint, key })),
  );
  const walks = await inTurn(deaths, async ({ crashPoint, key }) => {
    const backend = await startBackend(t);
    const first = await startTill({ in: 'process', on: backend });
    const second = await startTill({ in: 'process', on: backend });
    const externalId = `${crashPoint}-${key ?? 'keyless'}`;
    return { crashPoint, key, backend, first, second, externalId };
  });
  const valuesOf = (externalId: string) => ({ email: 'ada@example.com', externalId });
  await killAmid(
    walks.map(({ backend, crashPoint, externalId, key }) =>
      doom(backend, crashPoint, valuesOf(externalId), key),
    ),
  );
  for (const { crashPoint, key, backend, first, second, externalId } of walks) {
    const responses = await Promise.all(
      [first, second].flatMap((till) => signUps(till, externalId, signUpsAfterKill)),
    );
    await assertOneCustomer(backend, externalId, responses);
    const resumed = await first.tryPost(path, valuesOf(externalId), key);
    const created = [...responses, resumed].filter(({ status, replayed }) => status === 201 && !replayed);
    assert.ok(created.length <= 1, `${externalId}: ${created.length} times 201`);
    const hadClaim = !['claim.before', 'claim.prepared'].includes(crashPoint);
    if (key !== undefined && hadClaim) assert.equal(resumed.status, 201, externalId);
  }
});

test('a sign-up with other values finishes what was begun, and is told which customer has the external id', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  const begun = ['call.before', 'call.after'];
  await killAmid(
    begun.map((crashPoint) =>
      doom(backend, crashPoint, { email: 'ada@example.com', externalId: crashPoint }, undefined),
    ),
  );
  for (const crashPoint of begun) {
    const other = await till.tryPost(path, { email: 'grace@example.com', externalId: crashPoint });
    const emails = (await thereWith(backend, crashPoint)).map(({ email }) => email);
    if (crashPoint === 'call.before') {
      // Nothing was created with the first values, so the others can be used.
      assert.deepEqual(
        [other.status, other.body['email'], emails],
        [200, 'grace@example.com', ['grace@example.com']],
      );
    } else {
      assert.deepEqual([other.status, emails], [409, ['ada@example.com']], JSON.stringify(other.body));
      assert.equal(other.body['code'], 'external_id_taken');
      const found = await till.tryPost(path, { email: 'ada@example.com', externalId: crashPoint });
      assert.deepEqual([found.status, found.body['id']], [200, other.body['customerId']]);
    }
  }
});

test('a change and a sign-up that meet over an external id end with one of them', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const customer = await till.tryPost(path, { email: 'old@example.com' });
  const change = (externalId: string) => till.tryPatch(`${path}/${customer.body['id']}`, { externalId });
  const signUp = (externalId: string) => till.tryPost(path, { email: 'new@example.com', externalId });

  proxy.hold('/v1/customers');
  const first = signUp('sign-up-first');
  await proxy.nextHeld();
  const changing = change('sign-up-first');
  proxy.releaseAll();
  const created = await first;
  const refused = await changing;
  assert.deepEqual([created.status, refused.status], [201, 409]);
  assert.equal(refused.body['customerId'], created.body['id']);

  proxy.hold(`/v1/customers/${customer.body['processorCustomerId']}`);
  const changingFirst = change('change-first');
  await proxy.nextHeld();
  const second = signUp('change-first');
  proxy.releaseAll();
  assert.equal((await changingFirst).status, 200);
  const taken = await second;
  assert.deepEqual([taken.status, taken.body['customerId']], [409, customer.body['id']]);
  assert.equal((await thereWith(backend, 'change-first')).length, 1);
});

test('an external id that a change has given at the processor is not free before the row shows it', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const signUp = (externalId: string) => till.tryPost(path, { email: 'new@example.com', externalId });
  /** The row takes another change, so the response to this one is not enough. */
  const overtaken = async (externalId: string) => {
    const { body } = await till.tryPost(path, { email: 'old@example.com' });
    await till.settle();
    const there = `/v1/customers/${body['processorCustomerId']}`;
    proxy.holdOne(there);
    const change = (key: string) => till.tryPatch(`${path}/${body['id']}`, { externalId }, key);
    const changing = change(externalId);
    const write = await proxy.nextHeld();
    await backend.stripe.customers.update(String(body['processorCustomerId']), { phone: '+15550100' });
    await till.settle();
    return { customerId: body['id'], there, write, changing, again: () => change(externalId) };
  };

  const slow = await overtaken('slow');
  proxy.holdOne(slow.there, 'GET');
  slow.write.release();
  const read = await proxy.nextHeld();
  const refused = await signUp('slow');
  read.release();
  assert.deepEqual([refused.status, refused.body['customerId']], [409, slow.customerId]);
  const { status, body } = await slow.changing;
  assert.deepEqual([status, body['externalId']], [200, 'slow']);

  for (const isRepeated of [false, true]) {
    const name = `failed-${isRepeated}`;
    const failed = await overtaken(name);
    await backend.setFault({
      operation: 'customers.retrieve',
      kind: 'error',
      status: 503,
      times: triesPerCall,
    });
    failed.write.release();
    assert.equal((await failed.changing).status, 503);
    if (isRepeated) assert.equal((await failed.again()).body['externalId'], name);
    const taken = await signUp(name);
    assert.deepEqual([taken.status, taken.body['customerId']], [409, failed.customerId]);
    assert.equal((await thereWith(backend, name)).length, 1);
  }
  assert.deepEqual(await backend.sql('select 1 from till.external_ids where claim_id is not null'), []);

  // Neither the change nor another request ends the reservation. The external id is given to another customer
  // elsewhere.
  const given = await overtaken('given');
  await backend.setFault({
    operation: 'customers.retrieve',
    kind: 'error',
    status: 503,
    times: triesPerCall,
  });
  given.write.release();
  assert.equal((await given.changing).status, 503);
  const { body: taker } = await till.tryPost(path, { email: 'taker@example.com' });
  await till.settle();
  const { customers } = backend.stripe;
  await customers.update(String(given.there.split('/').at(-1)), { metadata: { till_external_id: '' } });
  await customers.update(String(taker['processorCustomerId']), { metadata: { till_external_id: 'given' } });
  await till.settle();
  assert.equal((await till.get<Answer['body']>(`${path}/${taker['id']}`))['externalId'], 'given');
});

/** Half of them have their own idempotency key. */
function signUps(till: Client, externalId: string, length = signUpsPerProcess): readonly Promise<Answer>[] {
  return Array.from({ length }, (_, index) =>
    till.tryPost(
      path,
      { email: 'ada@example.com', externalId },
      index % 2 === 0 ? `${externalId}-${index}` : undefined,
    ),
  );
}

async function thereWith({ stripe }: Backend, externalId: string) {
  const { data } = await stripe.customers.list({ limit: 100 });
  return data.filter(({ metadata }) => metadata['till_external_id'] === externalId);
}

async function assertOneCustomer(
  backend: Backend,
  externalId: string,
  responses: readonly Answer[],
): Promise<void> {
  for (const { status, body } of responses) assert.ok(status === 200 || status === 201, JSON.stringify(body));
  const ids = new Set(responses.map(({ body }) => body['id']));
  assert.equal(ids.size, 1, `${externalId}: ${[...ids]}`);
  assert.equal((await thereWith(backend, externalId)).length, 1, `${externalId} at the processor`);
  const rows = await backend.sql(
    `select id from till.customers join till.external_ids using (external_id)
     where external_id = $1 and customer_id = id and claim_id is null`,
    [externalId],
  );
  assert.deepEqual(rows, [{ id: [...ids][0] }]);
}

/** A process that dies while it creates a customer. */
function doom(on: Backend, crashAt: string, values: object, key: string | undefined): Doom {
  return { on, crashAt, requests: [{ send: (till) => till.tryPost(path, values, key) }] };
}
