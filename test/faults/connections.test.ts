import assert from 'node:assert/strict';
import { test } from 'node:test';
import { creationCase, layGround } from '../support/creations.ts';
import { startLab, startLabTill } from '../support/fault-lab.ts';
import { startGate } from '../support/gate.ts';

const payments = creationCase('payments.create');
const poolSize = 5;
const callers = 100;

test('a hundred creates wait for a slow processor on no database connection at all, and reads go on meanwhile', async (t) => {
  const lab = await startLab(t);
  const gate = await startGate(lab);
  const till = await startLabTill(t, lab, { processorUrl: gate.url, poolSize });
  const ground = await layGround(lab, till.post);
  const connections = () =>
    lab.sql<{ state: string; in_transaction: boolean }>(
      `select state, xact_start is not null as in_transaction from pg_stat_activity
       where application_name = 'till' and datname = current_database()`,
    );

  gate.hold('/v1/payment_intents');
  const answers = Array.from({ length: callers }, () =>
    till.post(payments.path(ground), payments.body(ground)),
  );
  // Twenty times as many as there are connections: were one held, the line would stop at the fifth.
  for (let held = 0; held < callers; held += 1) await gate.nextHeld();
  const meanwhile = await connections();
  assert.ok(meanwhile.length <= poolSize, `${meanwhile.length} connections`);
  assert.deepEqual(
    meanwhile,
    meanwhile.map(() => ({ state: 'idle', in_transaction: false })),
  );
  const reads = Array.from({ length: callers }, () => till.get(`/api/v1/payments/${ground.paymentId}`));
  assert.ok((await Promise.all(reads)).every(({ status }) => status === 200));

  gate.open();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  assert.deepEqual(statuses, Array(callers).fill(201));
  assert.equal(await payments.countMade(lab, ground), callers);
  assert.equal(await payments.countRows(lab, ground), callers);
  assert.ok((await connections()).length <= poolSize);
});

test('deleting a customer asks for its subscriptions five at a time, not one after the other, nor all at once', async (t) => {
  const lab = await startLab(t);
  const gate = await startGate(lab);
  const till = await startLabTill(t, lab, { processorUrl: gate.url });
  const { customerId, planId } = await layGround(lab, till.post);
  const created = await Promise.all(
    Array.from({ length: 7 }, () => till.post('/api/v1/subscriptions', { customerId, planId })),
  );
  for (const { body } of created) {
    const { processorSubscriptionId } = body['subscription'] as { readonly processorSubscriptionId: string };
    gate.hold(`/v1/subscriptions/${processorSubscriptionId}`, 'GET');
  }
  const reads = () =>
    gate.seen.filter(({ method, path }) => method === 'GET' && /subscriptions\/./.test(path));
  const before = reads().length;
  const deleted = till.services.customers.delete(customerId, (id) =>
    till.services.subscriptions.correctOfCustomer(id),
  );
  for (let held = 0; held < 5; held += 1) await gate.nextHeld();
  // Were there a sixth, it would have come before the answer to another request.
  await till.get('/api/v1/plans');
  assert.equal(reads().length - before, 5);
  gate.open();
  await deleted;
  assert.equal(reads().length - before, 7);
});
