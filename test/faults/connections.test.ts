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
