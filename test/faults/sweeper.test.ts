import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Backend, startBackend } from '../support/backend.ts';
import {
  assertCreatedOnce,
  type CreationCase,
  claimStatus,
  createCustomerOnly,
  createPrerequisites,
  creationCase,
  creationCases,
  type Prerequisites,
} from '../support/creation-cases.ts';
import {
  type CustomerBody,
  createCustomer,
  createPaidPayment,
  type PaymentBody,
} from '../support/objects.ts';
import { type ProcessorProxy, startProcessorProxy } from '../support/processor-proxy.ts';
import { startTill } from '../support/till.ts';
import { type TillInProcess, triesPerCall } from '../support/till-in-process.ts';

const refunds = creationCase('refunds.create');
const payments = creationCase('payments.create');

interface Scene {
  readonly backend: Backend;
  readonly proxy: ProcessorProxy;
  /** Behind the proxy. */
  readonly till: TillInProcess;
  readonly prerequisites: Prerequisites;
  /** Sends a creation whose response never arrives. */
  readonly abandon: (
    creation: CreationCase,
    kind: 'reset_before' | 'reset_after',
    key?: string,
  ) => Promise<void>;
}

/** Most tests need a customer and no more. */
async function setScene(
  t: Parameters<typeof startBackend>[0],
  prepare: typeof createPrerequisites = (_, till) => createCustomerOnly(till),
): Promise<Scene> {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const prerequisites = await prepare(backend, till);
  return {
    backend,
    proxy,
    till,
    prerequisites,
    abandon: async (creation, kind, key = 'abandoned') => {
      await backend.setFault({ operation: creation.processorOperation, kind });
      const response = await hasty.tryPost(creation.path(prerequisites), creation.body(prerequisites), key);
      assert.equal(response.status, 503, JSON.stringify(response.body));
    },
  };
}

/** Lets time pass for every open claim. */
async function age({ sql }: Backend, interval: string): Promise<void> {
  await sql(
    `update till.idempotency_claims set attempted_at = attempted_at - $1::interval,
       created_at = created_at - $1::interval, leased_until = leased_until - $1::interval,
       looked_at = looked_at - $1::interval
     where completed_at is null`,
    [interval],
  );
}

async function sweepAndListWrites({ proxy, till }: Scene): Promise<readonly string[]> {
  const before = proxy.seen.length;
  await till.services.sweeper.sweep();
  return proxy.seen
    .slice(before)
    .flatMap(({ method, path }) => (method === 'GET' ? [] : [`${method} ${path}`]));
}

async function amountRefunded({ backend, prerequisites }: Scene): Promise<number> {
  const [row] = await backend.sql<{ amount_refunded: number }>(
    'select amount_refunded + amount_reserved as amount_refunded from till.payments where id = $1',
    [prerequisites.paymentId],
  );
  return Number(row?.amount_refunded);
}

test('what was created under an abandoned claim is adopted: the row appears and the claim is completed', async (t) => {
  const scene = await setScene(t, createPrerequisites);
  const { backend, till, prerequisites } = scene;
  for (const creation of creationCases) await scene.abandon(creation, 'reset_after');
  await age(backend, '2 minutes');
  assert.deepEqual(await sweepAndListWrites(scene), []);
  for (const creation of creationCases) {
    await assertCreatedOnce(backend, prerequisites, creation, 'abandoned');
    const response = await till.tryPost(
      creation.path(prerequisites),
      creation.body(prerequisites),
      'abandoned',
    );
    assert.equal(response.status, creation.status);
    assert.equal(response.replayed, true);
  }
  assert.equal(await amountRefunded(scene), 700);
});

test('where nothing was created the sweeper creates nothing, and the claim stays open for the same request', async (t) => {
  const scene = await setScene(t, createPrerequisites);
  const { backend, till, prerequisites } = scene;
  for (const creation of creationCases) await scene.abandon(creation, 'reset_before');
  await age(backend, '2 minutes');
  assert.deepEqual(await sweepAndListWrites(scene), []);
  for (const creation of creationCases) {
    assert.equal(await creation.countAtProcessor(backend, prerequisites), 0);
    assert.equal(await claimStatus(backend, creation.operation, 'abandoned'), 'open');
    const response = await till.tryPost(
      creation.path(prerequisites),
      creation.body(prerequisites),
      'abandoned',
    );
    assert.equal(response.status, creation.status, JSON.stringify(response.body));
    await assertCreatedOnce(backend, prerequisites, creation, 'abandoned');
  }
});

test('a claim that a process may be working on is left alone', async (t) => {
  const scene = await setScene(t);
  const { backend, proxy, till, prerequisites } = scene;
  proxy.hold('/v1/payment_intents');
  const underWay = till.tryPost(payments.path(prerequisites), payments.body(prerequisites), 'abandoned');
  await proxy.nextHeld();
  // As if it had been taken up again after a day.
  await backend.sql(
    `update till.idempotency_claims set created_at = now() - interval '1 day' where completed_at is null`,
  );
  const before = proxy.seen.length;
  await till.services.sweeper.sweep();
  assert.equal(proxy.seen.length, before);
  proxy.releaseAll();
  assert.equal((await underWay).status, 201);
  await assertCreatedOnce(backend, prerequisites, payments, 'abandoned');
});

test('a claim is looked at again after twice as long, then twice that', async (t) => {
  const scene = await setScene(t);
  await scene.abandon(payments, 'reset_before');
  const lookUps = async () => {
    const before = scene.proxy.seen.length;
    await scene.till.services.sweeper.sweep();
    return scene.proxy.seen.length - before;
  };
  await age(scene.backend, '61 seconds');
  assert.equal(await lookUps(), 1);
  assert.equal(await lookUps(), 0);
  await age(scene.backend, '55 seconds');
  assert.equal(await lookUps(), 0);
  await age(scene.backend, '10 seconds');
  assert.equal(await lookUps(), 1);
  await age(scene.backend, '100 seconds');
  assert.equal(await lookUps(), 0);
});

test('the reserved amount of a failed refund is freed after its time, and not before', async (t) => {
  const scene = await setScene(t, createPrerequisites);
  const { backend, till, prerequisites } = scene;
  await scene.abandon(refunds, 'reset_before');
  assert.equal(await amountRefunded(scene), 700);
  await age(backend, '2 minutes');
  await till.services.sweeper.sweep();
  assert.equal(await amountRefunded(scene), 700, 'it may still be on its way');
  await age(backend, '7 minutes');
  await till.services.sweeper.sweep();
  assert.equal(await amountRefunded(scene), 700, 'not ten minutes yet');
  await age(backend, '10 minutes');
  await till.services.sweeper.sweep();
  assert.equal(await amountRefunded(scene), 0);
  assert.equal(await refunds.countRows(backend, prerequisites), 0);
  const response = await till.tryPost(refunds.path(prerequisites), refunds.body(prerequisites), 'abandoned');
  assert.equal(response.status, 200, JSON.stringify(response.body));
  await assertCreatedOnce(backend, prerequisites, refunds, 'abandoned');
  assert.equal(await amountRefunded(scene), 700);
});

test('a refund that is repeated while the sweeper looks it up keeps its reserved amount', async (t) => {
  const scene = await setScene(t, createPrerequisites);
  const { backend, proxy, till } = scene;
  await scene.abandon(refunds, 'reset_before');
  await age(backend, '15 minutes');
  proxy.hold('/v1/refunds', 'GET');
  const sweep = till.services.sweeper.sweep();
  const lookUp = await proxy.nextHeld();
  // The look-up has found nothing when the refund is created after all; only its response is lost again.
  await lookUp.holdResponse();
  await scene.abandon(refunds, 'reset_after');
  proxy.releaseAll();
  await sweep;
  assert.equal(await refunds.countAtProcessor(backend, scene.prerequisites), 1);
  assert.equal(await amountRefunded(scene), 700);
  assert.equal(await refunds.countRows(backend, scene.prerequisites), 1);
});

test('claims that cannot be looked up do not delay others', async (t) => {
  const scene = await setScene(t);
  const { backend, till, prerequisites } = scene;
  // More than one sweep handles, each of them older than the one that can be settled.
  await backend.sql(
    `insert into till.idempotency_claims (operation, key_name, key, request_hash, resource_id, parent_id, owner,
       attempted_at, created_at, leased_until)
     select 'refunds.create', '', 'hopeless-' || n, '', gen_random_uuid(), gen_random_uuid(), 1, now() - interval '1 hour',
       now() - interval '1 hour', now() - interval '1 hour'
     from generate_series(1, 60) n`,
  );
  await scene.abandon(payments, 'reset_after');
  await age(backend, '2 minutes');
  await till.services.sweeper.sweep();
  await till.services.sweeper.sweep();
  await assertCreatedOnce(backend, prerequisites, payments, 'abandoned');
});

test('a processor that is down only ends the sweep', async (t) => {
  const scene = await setScene(t);
  const { backend, till, prerequisites } = scene;
  await scene.abandon(payments, 'reset_after');
  await age(backend, '2 minutes');
  await backend.setFault({
    operation: 'payment_intents.list',
    kind: 'error',
    status: 503,
    times: triesPerCall,
  });
  await till.services.sweeper.sweep();
  assert.equal(await claimStatus(backend, 'payments.create', 'abandoned'), 'open');
  await age(backend, '10 minutes');
  await till.services.sweeper.sweep();
  await assertCreatedOnce(backend, prerequisites, payments, 'abandoned');
});

test('completed claims, and those without a result, are deleted after 25 hours, and not before', async (t) => {
  const scene = await setScene(t);
  const { backend, till } = scene;
  await backend.sql('delete from till.idempotency_claims');
  const insert = (key: string, age: string, completed: boolean, rows: number) =>
    backend.sql(
      `insert into till.idempotency_claims (operation, key_name, key, request_hash, resource_id, owner, attempted_at,
         created_at, leased_until, completed_at)
       select 'customers.create', '', $1 || n, '', gen_random_uuid(), 1, now() - $2::interval, now() - $2::interval,
         now() - $2::interval, case when $3 then now() - $2::interval end
       from generate_series(1, $4) n`,
      [key, age, completed, rows],
    );
  await insert('old-', '25 hours 1 minute', true, 2_500);
  await insert('young-', '24 hours 59 minutes', true, 3);
  await insert('dead-', '25 hours 1 minute', false, 3);
  await insert('open-', '24 hours 59 minutes', false, 3);
  await till.services.sweeper.sweep();
  const left = await backend.sql<{ key: string }>('select key from till.idempotency_claims order by key');
  assert.deepEqual(
    left.map(({ key }) => key),
    ['open-1', 'open-2', 'open-3', 'young-1', 'young-2', 'young-3'],
  );
});

test('a PATCH whose response was lost is shown, even if no event tells of it', async (t) => {
  const { backend, till, prerequisites } = await setScene(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const lose = async (operation: string, path: string, change: object) => {
    await backend.setFault({ operation, kind: 'reset_after' });
    assert.equal((await hasty.tryPatch(path, change)).status, 503);
  };
  const paymentPath = `/payments/${(await createPaidPayment(till)).id}`;
  const customerPath = `/customers/${prerequisites.customerId}`;
  await till.settle();
  await lose('payment_intents.update', paymentPath, { metadata: { order: '7' } });
  await lose('customers.update', customerPath, { externalId: 'lost' });
  const read = async () => [
    (await till.get<PaymentBody>(paymentPath)).metadata,
    (await till.get<CustomerBody>(customerPath)).externalId,
  ];
  assert.deepEqual(await read(), [{}, null]);
  // After this time, the sweeper also frees what the claims reserve.
  await age(backend, '11 minutes');
  await backend.setFault({
    operation: 'payment_intents.retrieve',
    kind: 'error',
    status: 503,
    times: triesPerCall,
  });
  await till.services.sweeper.sweep();
  assert.deepEqual(await read(), [{}, 'lost']);
  const taken = await till.tryPost('/customers', { email: 'new@example.com', externalId: 'lost' });
  assert.deepEqual([taken.status, taken.body['customerId']], [409, prerequisites.customerId]);
  await age(backend, '22 minutes');
  await till.services.sweeper.sweep();
  assert.deepEqual(await read(), [{ order: '7' }, 'lost']);
});

test('the claim of a PATCH whose object is gone is deleted too', async (t) => {
  const { backend, till, prerequisites } = await setScene(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const unknown = await createCustomer(till);
  for (const id of [prerequisites.customerId, unknown.id]) {
    await backend.setFault({ operation: 'customers.update', kind: 'reset_after' });
    assert.equal((await hasty.tryPatch(`/customers/${id}`, { name: 'Changed' })).status, 503);
  }
  await till.call('DELETE', `/customers/${prerequisites.customerId}`);
  await backend.sql("update till.customers set processor_customer_id = 'cus_unknown' where id = $1", [
    unknown.id,
  ]);
  await age(backend, '25 hours 1 minute');
  await till.services.sweeper.sweep();
  assert.deepEqual(
    await backend.sql("select 1 from till.idempotency_claims where operation = 'customers.update'"),
    [],
  );
});

test('a claim that cannot be looked up is never deleted', async (t) => {
  const { backend, till, abandon } = await setScene(t);
  await abandon(payments, 'reset_after');
  await age(backend, '90 days');
  await backend.setFault({
    operation: 'payment_intents.list',
    kind: 'error',
    status: 503,
    times: triesPerCall,
  });
  await till.services.sweeper.sweep();
  assert.equal(await claimStatus(backend, payments.operation, 'abandoned'), 'open');
});

test('the claim of a PATCH without an idempotency key whose effect is unknown is deleted too', async (t) => {
  const { backend, till, prerequisites } = await setScene(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  await backend.setFault({ operation: 'customers.update', kind: 'reset_after' });
  const response = await hasty.tryPatch(`/customers/${prerequisites.customerId}`, { name: 'Changed' });
  assert.equal(response.status, 503, JSON.stringify(response.body));
  const open = () =>
    backend.sql("select key from till.idempotency_claims where operation = 'customers.update'");
  assert.equal((await open()).length, 1);
  await age(backend, '25 hours 1 minute');
  await till.services.sweeper.sweep();
  assert.deepEqual(await open(), []);
});
