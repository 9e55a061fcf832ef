import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Backend, startBackend } from '../support/backend.ts';
import { type ChangeCase, changeCases } from '../support/change-cases.ts';
import { assertEventsComplete } from '../support/checks/outbox.ts';
import type { Answer, Client } from '../support/client.ts';
import { walkedPoints } from '../support/crash-points.ts';
import {
  assertCreatedOnce,
  type CreationCase,
  createPrerequisites,
  creationCases,
  keyCase,
  type Prerequisites,
} from '../support/creation-cases.ts';
import { killAmid } from '../support/doomed-tills.ts';
import { createEndpoints, endpointCases } from '../support/endpoint-cases.ts';
import { inTurn } from '../support/in-turn.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

/** The processor has no part in writes to endpoints: what counts is the row. */
const localCases = endpointCases.map((local) => ({ ...local, countAtProcessor: local.countRows }));

type WalkedCase = CreationCase | ChangeCase | (typeof localCases)[number] | typeof keyCase;

const countedCases = [...creationCases, ...changeCases, ...localCases];
const walkedCases: readonly WalkedCase[] = [...countedCases, keyCase];

/** The change of a plan waits for changes of subscriptions that are in progress. */
const isLast = ({ operation }: ChangeCase) => ['plans.update', 'subscriptions.pay'].includes(operation);
const lastChanges = changeCases.filter(isLast);
const otherChanges = changeCases.filter((change) => !isLast(change));

/** As the processor has it when the process dies at the crash point. */
const createdBy = new Set([
  'call.after',
  'record.before',
  'record.row',
  'record.completed',
  'record.after',
  'response.before',
]);

/** What the processor has no part in exists from its commit on. */
const committedBy = new Set(['record.after', 'response.before']);

function isCreated({ operation }: WalkedCase, crashPoint: string): boolean {
  return (operation.startsWith('event_endpoints.') ? committedBy : createdBy).has(crashPoint);
}

/**
 * A payment's claim is completed after the response; what a crash before that leaves is the same as at `record.row`.
 */
function isCompleted({ operation }: WalkedCase, crashPoint: string): boolean {
  return operation === 'payments.create' && crashPoint === 'record.completed';
}

/** What happens at one crash point, with a database and a processor of its own. */
interface Walk {
  readonly crashPoint: string;
  readonly backend: Backend;
  readonly survivor: TillInProcess;
  readonly prerequisites: Prerequisites;
  readonly key: string;
}

async function prepare(t: TestContext, crashPoint: string): Promise<Walk> {
  const backend = await startBackend(t);
  const survivor = await startTill({ in: 'process', on: backend, events: { allowPrivate: true } });
  const prerequisites = await createPrerequisites(backend, survivor);
  await createEndpoints(backend, prerequisites);
  return { crashPoint, backend, survivor, prerequisites, key: `killed-at-${crashPoint}` };
}

test('a process killed at any crash point is finished by the same request, once', async (t) => {
  const walks = await inTurn(walkedPoints, (crashPoint) => prepare(t, crashPoint));
  // Apart, because two creations of one kind could wait for each other's list counter while they stand still, and
  // events about one subscription for the row of another.
  for (const cases of [[...creationCases, keyCase], [...otherChanges, ...localCases], lastChanges])
    await crash(walks, cases);

  for (const { crashPoint, backend, survivor, prerequisites, key } of walks) {
    await t.test(`killed at ${crashPoint}`, async () => {
      for (const creation of countedCases) {
        const count = await creation.countAtProcessor(backend, prerequisites);
        assert.equal(
          count,
          isCreated(creation, crashPoint) ? 1 : 0,
          `${creation.operation} before the retry`,
        );
      }
      // The request must notice at once that the owner is gone. If it waited for the lease, it would end in a 409.
      await backend.sql(
        `update till.idempotency_claims set leased_until = now() + interval '1 day' where key like $1`,
        [`${key}%`],
      );
      await Promise.all(
        walkedCases.map((creation) => finish(backend, survivor, prerequisites, creation, key)),
      );
      // No row without its event, and no event without its row.
      await assertEventsComplete(survivor, backend.sql);
    });
  }
});

/** Sends every request to a process that dies when all of them are at their crash points. */
async function crash(walks: readonly Walk[], cases: readonly WalkedCase[]): Promise<void> {
  await killAmid(
    walks.map(({ backend, crashPoint, prerequisites, key }) => ({
      on: backend,
      crashAt: crashPoint,
      requests: cases.map((creation) => ({
        send: (till) => send(till, prerequisites, creation, key),
        isCompleted: isCompleted(creation, crashPoint),
      })),
    })),
  );
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
  assert.deepEqual(repeated.body, shownAgain(resumed));
  await assertCreatedOnce(backend, prerequisites, creation, keyOf(creation, key));
}

/** An API key and the secret of an endpoint are shown once. */
function shownAgain({ body }: Answer): Answer['body'] {
  if ('key' in body) return { ...body, key: null };
  return 'secret' in body ? { ...body, secret: null } : body;
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
