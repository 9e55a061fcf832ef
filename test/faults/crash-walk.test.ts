import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { type Backend, startBackend } from '../support/backend.ts';
import { type ChangeCase, changeCases } from '../support/change-cases.ts';
import type { Answer, Client } from '../support/client.ts';
import { allCrashPoints } from '../support/crash-points.ts';
import {
  assertCreatedOnce,
  type CreationCase,
  createPrerequisites,
  creationCases,
  type Prerequisites,
} from '../support/creation-cases.ts';
import { createEndpoints, type EndpointCase, endpointCases } from '../support/endpoint-cases.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

/** Also checks what the processor has; of an endpoint, that is the row. */
type WalkedCase = CreationCase | ChangeCase | (EndpointCase & Pick<CreationCase, 'countAtProcessor'>);

const localCases = endpointCases.map((local) => ({ ...local, countAtProcessor: local.countRows }));
const walkedCases: readonly WalkedCase[] = [...creationCases, ...changeCases, ...localCases];

const isPayment = ({ operation }: ChangeCase) => operation === 'subscriptions.pay';
const payments = changeCases.filter(isPayment);
const otherChanges = changeCases.filter((change) => !isPayment(change));

/** As the processor has it when the process dies at the crash point. */
const madeBy = new Set([
  'call.after',
  'record.before',
  'record.row',
  'record.completed',
  'record.after',
  'answer.before',
]);

/** What the processor has no part in exists from its commit on. */
const committedBy = new Set(['record.after', 'answer.before']);

function isMade({ operation }: WalkedCase, crashPoint: string): boolean {
  return (operation.startsWith('event_endpoints.') ? committedBy : madeBy).has(crashPoint);
}

/** A payment's claim is completed after the answer; what a crash before that leaves is the same as at `record.row`. */
function isAnswered({ operation }: WalkedCase, crashPoint: string): boolean {
  return operation === 'payments.create' && crashPoint === 'record.completed';
}

test('a process killed at any crash point leaves what the same request finishes, once', async (t) => {
  const backend = await startBackend(t);
  const survivor = await startTill({ in: 'process', on: backend, events: { allowPrivate: true } });

  for (const crashPoint of allCrashPoints) {
    await t.test(`killed at ${crashPoint}`, async () => {
      const prerequisites = await createPrerequisites(backend, survivor);
      await createEndpoints(backend, prerequisites);
      const key = `killed-at-${crashPoint}`;
      // Apart, because two creations of one kind could wait for each other's list counter while they stand still, and
      // events about one subscription for the row of another.
      for (const cases of [creationCases, [...otherChanges, ...localCases], payments])
        await crash(backend, prerequisites, crashPoint, key, cases);
      for (const creation of walkedCases) {
        const made = await creation.countAtProcessor(backend, prerequisites);
        assert.equal(made, isMade(creation, crashPoint) ? 1 : 0, `${creation.operation} before the retry`);
      }
      // That the owner is gone is known at once: were its lease waited for, this request would end in a 409.
      await backend.sql(
        `update till.idempotency_claims set leased_until = now() + interval '1 day' where key like $1`,
        [`${key}%`],
      );
      await Promise.all(
        walkedCases.map((creation) => finish(backend, survivor, prerequisites, creation, key)),
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
  cases: readonly WalkedCase[],
): Promise<void> {
  const doomed = await startTill({
    in: 'child',
    on: backend,
    environment: {
      CRASH_AT: crashPoint,
      CRASH_COUNT: String(cases.length),
      EVENT_ENDPOINTS_ALLOW_PRIVATE: 'true',
    },
    command: [process.execPath, 'test/support/crashing-till.ts'],
  });
  const died = once(doomed.child, 'exit');
  const outcomes = await Promise.allSettled(
    cases.map((creation) => send(doomed, prerequisites, creation, key)),
  );
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    cases.map((creation) => (isAnswered(creation, crashPoint) ? 'fulfilled' : 'rejected')),
  );
  const [, signal] = await died;
  assert.equal(signal, 'SIGKILL');
}

async function finish(
  backend: Backend,
  till: TillInProcess,
  prerequisites: Prerequisites,
  creation: WalkedCase,
  key: string,
): Promise<void> {
  const resumed = await send(till, prerequisites, creation, key);
  assert.equal(resumed.status, creation.status, `${creation.operation}: ${JSON.stringify(resumed.body)}`);
  await assertCreatedOnce(backend, prerequisites, creation, keyOf(creation, key));
  const repeated = await send(till, prerequisites, creation, key);
  assert.equal(repeated.status, creation.status);
  assert.equal(repeated.replayed, true);
  assert.deepEqual(repeated.body, resumed.body);
  await assertCreatedOnce(backend, prerequisites, creation, keyOf(creation, key));
}

function send(
  till: Pick<Client, 'tryPost' | 'tryPatch'>,
  prerequisites: Prerequisites,
  creation: WalkedCase,
  key: string,
): Promise<Answer> {
  const isPatch = 'method' in creation && creation.method === 'PATCH';
  const [path, body] = [creation.path(prerequisites), creation.body(prerequisites)];
  return till[isPatch ? 'tryPatch' : 'tryPost'](path, body, keyOf(creation, key));
}

/** Two cases may be the same operation, so each has its own key. */
function keyOf(creation: WalkedCase, key: string): string {
  return 'method' in creation ? `${key}-${creation.method}` : key;
}
