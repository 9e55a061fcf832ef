import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { claimState, creationCase, layGround } from '../support/creations.ts';
import { type LabTill, startLab, startLabTill } from '../support/fault-lab.ts';

const payments = creationCase('payments.create');

test('when the services have stopped, the claims of all answered requests are completed', async (t) => {
  const { lab, till } = await pay(t);
  till.services.worker.start();
  await till.services.stop();
  assert.equal(await claimState(lab, 'payments.create', 'answered'), 'completed');
});

test('a service that a test started leaves no timer behind when the test ends', async (t) => {
  await t.test(
    'started by startLabTill, with its worker, and ended right after a response',
    async (inner) => {
      const { till } = await pay(inner);
      till.services.worker.start();
    },
  );
  assert.deepEqual(
    process.getActiveResourcesInfo().filter((name) => name === 'Timeout'),
    [],
  );
});

async function pay(
  t: TestContext,
): Promise<{ readonly lab: Awaited<ReturnType<typeof startLab>>; readonly till: LabTill }> {
  const lab = await startLab(t);
  const till = await startLabTill(t, lab);
  const ground = await layGround(lab, till.post);
  const { status } = await till.post(payments.path(ground), payments.body(ground), 'answered');
  assert.equal(status, payments.status);
  return { lab, till };
}
