import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import type { CrashPoint } from '../../src/idempotency/crash-points.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import {
  assertCreatedOnce,
  type CreationCase,
  createPrerequisites,
  creationCases,
  type Prerequisites,
} from '../support/creation-cases.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

/** Every crash point there is: the compiler refuses a list that lacks one. */
const crashPoints = Object.keys({
  'claim.before': true,
  'claim.prepared': true,
  'claim.after': true,
  'call.before': true,
  'call.after': true,
  'record.before': true,
  'record.row': true,
  'record.completed': true,
  'record.after': true,
  'answer.before': true,
} satisfies Record<CrashPoint, true>);

/** As the processor has it when the process dies at the crash point. */
const madeBy = new Set([
  'call.after',
  'record.before',
  'record.row',
  'record.completed',
  'record.after',
  'answer.before',
]);

/** A payment's claim is completed after the answer; what a crash before that leaves is the same as at `record.row`. */
function isAnswered({ operation }: CreationCase, crashPoint: string): boolean {
  return operation === 'payments.create' && crashPoint === 'record.completed';
}

test('a process killed at any crash point leaves what the same request finishes, once', async (t) => {
  const backend = await startBackend(t);
  const survivor = await startTill({ in: 'process', on: backend });

  for (const crashPoint of crashPoints) {
    await t.test(`killed at ${crashPoint}`, async () => {
      const prerequisites = await createPrerequisites(backend, survivor);
      const key = `killed-at-${crashPoint}`;
      await crash(backend, prerequisites, crashPoint, key);
      for (const creation of creationCases) {
        const made = await creation.countAtProcessor(backend, prerequisites);
        assert.equal(made, madeBy.has(crashPoint) ? 1 : 0, `${creation.operation} before the retry`);
      }
      // That the owner is gone is known at once: were its lease waited for, this request would end in a 409.
      await backend.sql(
        `update till.idempotency_claims set leased_until = now() + interval '1 day' where key = $1`,
        [key],
      );
      await Promise.all(
        creationCases.map((creation) => finish(backend, survivor, prerequisites, creation, key)),
      );
    });
  }
});

/** Sends every kind of creation to a process that dies when all of them are at the crash point. */
async function crash(
  backend: Backend,
  prerequisites: Prerequisites,
  crashPoint: string,
  key: string,
): Promise<void> {
  const doomed = await startTill({
    in: 'child',
    on: backend,
    environment: { CRASH_AT: crashPoint, CRASH_COUNT: String(creationCases.length) },
    command: [process.execPath, 'test/support/crashing-till.ts'],
  });
  const died = once(doomed.child, 'exit');
  const outcomes = await Promise.allSettled(
    creationCases.map(({ path, body }) => doomed.tryPost(path(prerequisites), body(prerequisites), key)),
  );
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    creationCases.map((creation) => (isAnswered(creation, crashPoint) ? 'fulfilled' : 'rejected')),
  );
  const [, signal] = await died;
  assert.equal(signal, 'SIGKILL');
}

async function finish(
  backend: Backend,
  till: TillInProcess,
  prerequisites: Prerequisites,
  creation: CreationCase,
  key: string,
): Promise<void> {
  const resumed = await till.tryPost(creation.path(prerequisites), creation.body(prerequisites), key);
  assert.equal(resumed.status, creation.status, `${creation.operation}: ${JSON.stringify(resumed.body)}`);
  await assertCreatedOnce(backend, prerequisites, creation, key);
  const repeated = await till.tryPost(creation.path(prerequisites), creation.body(prerequisites), key);
  assert.equal(repeated.status, creation.status);
  assert.equal(repeated.replayed, true);
  assert.deepEqual(repeated.body, resumed.body);
  await assertCreatedOnce(backend, prerequisites, creation, key);
}
