import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import type { CrashPoint } from '../../src/idempotency/crash-points.ts';
import { type ChangeCase, changeCases } from '../support/change-cases.ts';
import {
  assertMadeOnce,
  type CreationCase,
  creationCases,
  type Ground,
  layGround,
} from '../support/creations.ts';
import { type Lab, postTo, sendTo, startLab } from '../support/fault-lab.ts';
import { startTillProcess, testKey } from '../support/till-process.ts';

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

type WalkedCase = CreationCase | ChangeCase;

const walkedCases: readonly WalkedCase[] = [...creationCases, ...changeCases];

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
function isAnswered({ operation }: WalkedCase, crashPoint: string): boolean {
  return operation === 'payments.create' && crashPoint === 'record.completed';
}

test('a process killed at any mark leaves what the same request finishes, once', async (t) => {
  const lab = await startLab(t);
  const survivor = await startTillProcess(environmentOf(lab));
  lab.atEnd(() => survivor.stop());
  const post = postTo(survivor.url, testKey);

  for (const crashPoint of crashPoints) {
    await t.test(`killed at ${crashPoint}`, async (step) => {
      const ground = await layGround(lab, post);
      const key = `killed-at-${crashPoint}`;
      // Apart, because two creations of one kind could wait for each other's list counter while they stand still.
      for (const cases of [creationCases, changeCases])
        await crash(step, lab, ground, crashPoint, key, cases);
      for (const creation of walkedCases) {
        const made = await creation.countMade(lab, ground);
        assert.equal(made, madeBy.has(crashPoint) ? 1 : 0, `${creation.operation} before the retry`);
      }
      // That the owner is gone is known at once: were its lease waited for, this request would end in a 409.
      await lab.sql(
        `update till.idempotency_claims set leased_until = now() + interval '1 day' where key like $1`,
        [`${key}%`],
      );
      await Promise.all(walkedCases.map((creation) => finish(lab, survivor.url, ground, creation, key)));
    });
  }
});

/** Sends every kind of creation to a process that dies when all of them are at the crash point. */
async function crash(
  t: TestContext,
  lab: Lab,
  ground: Ground,
  crashPoint: string,
  key: string,
  cases: readonly WalkedCase[],
): Promise<void> {
  const doomed = await startTillProcess(
    { ...environmentOf(lab), CRASH_AT: crashPoint, CRASH_COUNT: String(cases.length) },
    [process.execPath, 'test/support/crashing-till.ts'],
  );
  t.after(() => doomed.stop('SIGKILL'));
  const died = once(doomed.child, 'exit');
  const outcomes = await Promise.allSettled(cases.map((creation) => send(doomed.url, ground, creation, key)));
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    cases.map((creation) => (isAnswered(creation, crashPoint) ? 'fulfilled' : 'rejected')),
  );
  const [, signal] = await died;
  assert.equal(signal, 'SIGKILL');
}

async function finish(
  lab: Lab,
  url: string,
  ground: Ground,
  creation: WalkedCase,
  key: string,
): Promise<void> {
  const resumed = await send(url, ground, creation, key);
  assert.equal(resumed.status, creation.status, `${creation.operation}: ${JSON.stringify(resumed.body)}`);
  await assertMadeOnce(lab, ground, creation, keyOf(creation, key));
  const repeated = await send(url, ground, creation, key);
  assert.equal(repeated.status, creation.status);
  assert.equal(repeated.replayed, true);
  assert.deepEqual(repeated.body, resumed.body);
  await assertMadeOnce(lab, ground, creation, keyOf(creation, key));
}

function send(url: string, ground: Ground, creation: WalkedCase, key: string) {
  const method = 'method' in creation ? creation.method : 'POST';
  return sendTo(url, testKey, method)(creation.path(ground), creation.body(ground), keyOf(creation, key));
}

/** Two cases may be the same operation, whose keys are then its own. */
function keyOf(creation: WalkedCase, key: string): string {
  return 'method' in creation ? `${key}-${creation.method}` : key;
}

function environmentOf(lab: Lab): Record<string, string> {
  return {
    API_KEYS: testKey,
    DATABASE_URL: lab.databaseUrl,
    PROCESSOR_SECRET_KEY: 'sk_test_crash',
    PROCESSOR_API_BASE: lab.processorUrl,
    PROCESSOR_WEBHOOK_SECRET: 'whsec_crash',
  };
}
