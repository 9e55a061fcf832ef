import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { createPrerequisites, creationCase } from '../support/creation-cases.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { startTill } from '../support/till.ts';

const payments = creationCase('payments.create');
const poolSize = 5;
const callers = 100;

test('a hundred creates wait for a slow processor on no database connection at all, and reads go on meanwhile', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url, poolSize });
  const prerequisites = await createPrerequisites(backend, till);
  const connections = () =>
    backend.sql<{ state: string; in_transaction: boolean }>(
      `select state, xact_start is not null as in_transaction from pg_stat_activity
       where application_name = 'till' and datname = current_database()`,
    );

  proxy.hold('/v1/payment_intents');
  const responses = Array.from({ length: callers }, () =>
    till.tryPost(payments.path(prerequisites), payments.body(prerequisites)),
  );
  // Twenty times as many as there are connections: were one held, the line would stop at the fifth.
  for (let held = 0; held < callers; held += 1) await proxy.nextHeld();
  const meanwhile = await connections();
  assert.ok(meanwhile.length <= poolSize, `${meanwhile.length} connections`);
  assert.deepEqual(
    meanwhile,
    meanwhile.map(() => ({ state: 'idle', in_transaction: false })),
  );
  const reads = Array.from({ length: callers }, () => till.tryGet(`/payments/${prerequisites.paymentId}`));
  assert.ok((await Promise.all(reads)).every(({ status }) => status === 200));

  proxy.releaseAll();
  const statuses = (await Promise.all(responses)).map(({ status }) => status);
  assert.deepEqual(statuses, Array(callers).fill(201));
  assert.equal(await payments.countAtProcessor(backend, prerequisites), callers);
  assert.equal(await payments.countRows(backend, prerequisites), callers);
  assert.ok((await connections()).length <= poolSize);
});

test('deleting a customer asks for its subscriptions five at a time, not one after the other, nor all at once', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const { customerId, planId } = await createPrerequisites(backend, till);
  const created = await Promise.all(
    Array.from({ length: 7 }, () => till.tryPost('/subscriptions', { customerId, planId })),
  );
  for (const { body } of created) {
    const { processorSubscriptionId } = body['subscription'] as { readonly processorSubscriptionId: string };
    proxy.hold(`/v1/subscriptions/${processorSubscriptionId}`, 'GET');
  }
  const reads = () =>
    proxy.seen.filter(({ method, path }) => method === 'GET' && /subscriptions\/./.test(path));
  const before = reads().length;
  const deleted = till.call('DELETE', `/customers/${customerId}`);
  for (let held = 0; held < 5; held += 1) await proxy.nextHeld();
  // A sixth would have arrived before the response to another request.
  await till.tryGet('/plans');
  assert.equal(reads().length - before, 5);
  proxy.releaseAll();
  assert.equal((await deleted).status, 204);
  assert.equal(reads().length - before, 7);
});
