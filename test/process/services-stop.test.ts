import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { claimStatus, createPrerequisites, creationCase } from '../support/creation-cases.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

const payments = creationCase('payments.create');

test('when the services have stopped, the claims of all requests with a response are completed', async (t) => {
  const { backend, till } = await pay(t);
  till.services.worker.start();
  await till.services.stop();
  assert.equal(await claimStatus(backend, 'payments.create', 'answered'), 'completed');
});

test('a service that a test started leaves no timer behind when the test ends', async (t) => {
  // Other test files ran in this process before.
  const earlier = activeTimers();
  await t.test('started by startTill, with its worker, and ended right after a response', async (inner) => {
    const { till } = await pay(inner);
    till.services.worker.start();
  });
  assert.ok(activeTimers() <= earlier, `${activeTimers()} timers, ${earlier} before`);
});

function activeTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

async function pay(
  t: TestContext,
): Promise<{ readonly backend: Awaited<ReturnType<typeof startBackend>>; readonly till: TillInProcess }> {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  const prerequisites = await createPrerequisites(backend, till);
  const { status } = await till.tryPost(
    payments.path(prerequisites),
    payments.body(prerequisites),
    'answered',
  );
  assert.equal(status, payments.status);
  return { backend, till };
}
