import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { CrashPoints } from '../../src/idempotency/crash-points.ts';
import {
  assertMadeOnce,
  type CreationCase,
  claimState,
  creationCase,
  type Ground,
  layGround,
} from '../support/creations.ts';
import { type Answer, type LabTill, startLab, startLabTill } from '../support/fault-lab.ts';
import { startGate } from '../support/gate.ts';
import { countStatements } from '../support/statement-counter.ts';

const payments = creationCase('payments.create');
const refunds = creationCase('refunds.create');
const cases = [
  { creation: payments, atProcessor: '/v1/payment_intents' },
  { creation: refunds, atProcessor: '/v1/refunds' },
] as const;

/** The promise is about statements per second, so this much time has to pass. */
const windowMs = 1_000;
/** A look every 20 to 250 ms, and two statements for each. */
const statementsPerWindowMax = 25;
const fewWaiters = 2;
const manyWaiters = 100;

function send(till: LabTill, creation: CreationCase, ground: Ground, key: string): Promise<Answer> {
  return till.post(creation.path(ground), creation.body(ground), key);
}

/** Resolves once this many creations have arrived. */
function arrivals(): {
  readonly crashPoints: CrashPoints;
  readonly arrived: (count: number) => Promise<void>;
} {
  let left = 0;
  let resolveArrived = () => {};
  const pass = (crashPoint: string) => {
    if (crashPoint !== 'claim.before') return;
    left -= 1;
    if (left === 0) resolveArrived();
  };
  const arrived = (count: number) => {
    left = count;
    return new Promise<void>((resolve) => {
      resolveArrived = resolve;
    });
  };
  return { crashPoints: { pass }, arrived };
}

for (const where of ['same process', 'other process'] as const) {
  for (const { creation, atProcessor } of cases) {
    test(`${creation.operation}, held by a request of the ${where}: many waiting requests cost the database as little as two`, async (t) => {
      const lab = await startLab(t);
      const gate = await startGate(lab);
      const counter = await countStatements(lab);
      const { crashPoints, arrived } = arrivals();
      const counted = { ...lab, databaseUrl: counter.databaseUrl };
      const waiting = await startLabTill(t, counted, { processorUrl: gate.url, crashPoints });
      const owner =
        where === 'same process' ? waiting : await startLabTill(t, lab, { processorUrl: gate.url });
      const statements: number[] = [];
      for (const waiters of [fewWaiters, manyWaiters]) {
        const ground = await layGround(lab, owner.post);
        const key = `storm-of-${waiters}`;
        gate.hold(atProcessor);
        const first = send(owner, creation, ground, key);
        await gate.nextHeld();
        const allArrived = arrived(waiters);
        const others = Array.from({ length: waiters }, () => send(waiting, creation, ground, key));
        await allArrived;
        // Behind what they do on arrival.
        await waiting.get(`/api/v1/payments/${ground.paymentId}`);
        await setTimeout(windowMs);
        const before = counter.count();
        await setTimeout(windowMs);
        statements.push(counter.count() - before);
        gate.open();
        const answers = await Promise.all([first, ...others]);
        assert.deepEqual([...new Set(answers.map(({ status }) => status))], [creation.status]);
        assert.equal(new Set(answers.map(creation.idOf)).size, 1);
        assert.equal(answers.filter(({ replayed }) => !replayed).length, 1);
        await assertMadeOnce(lab, ground, creation, key);
      }
      t.diagnostic(`statements per second with ${fewWaiters} and ${manyWaiters} waiting: ${statements}`);
      for (const count of statements) assert.ok(count <= statementsPerWindowMax, `${statements}`);
    });
  }
}

test('a different request under a key that is in use is refused at once, also among many that wait', async (t) => {
  const lab = await startLab(t);
  const gate = await startGate(lab);
  const { crashPoints, arrived } = arrivals();
  const tills = [
    await startLabTill(t, lab, { processorUrl: gate.url, crashPoints }),
    await startLabTill(t, lab, { processorUrl: gate.url, crashPoints }),
  ] as const;
  for (const { creation, atProcessor } of cases) {
    const ground = await layGround(lab, tills[0].post);
    gate.hold(atProcessor);
    const first = send(tills[0], creation, ground, 'in-use');
    await gate.nextHeld();
    const allArrived = arrived(10);
    const others = tills.flatMap((till) =>
      Array.from({ length: 5 }, () => send(till, creation, ground, 'in-use')),
    );
    await allArrived;
    for (const till of tills) {
      // The gate is still closed: were this one to wait, it would wait for ten seconds, and get a 409.
      const body = { ...creation.body(ground), amount: 1_234 };
      const different = await till.post(creation.path(ground), body, 'in-use');
      assert.equal(different.status, 422, JSON.stringify(different.body));
      assert.equal(different.body['code'], 'idempotency_key_reused');
    }
    gate.open();
    const statuses = (await Promise.all([first, ...others])).map(({ status }) => status);
    assert.deepEqual([...new Set(statuses)], [creation.status]);
    await assertMadeOnce(lab, ground, creation, 'in-use');
  }
});

test('each request that waits for one that the processor refuses gets its own turn', async (t) => {
  const lab = await startLab(t);
  const gate = await startGate(lab);
  const { crashPoints, arrived } = arrivals();
  const till = await startLabTill(t, lab, { processorUrl: gate.url, crashPoints });
  const other = await startLabTill(t, lab, { processorUrl: gate.url, crashPoints });
  const ground = await layGround(lab, till.post);
  gate.hold('/v1/payment_intents');
  const tooSmall = { ...payments.body(ground), amount: 1 };
  const first = till.post('/api/v1/payments', tooSmall, 'refused');
  await gate.nextHeld();
  const allArrived = arrived(20);
  const waiting = Array.from({ length: 20 }, (_, index) =>
    (index % 2 === 0 ? till : other).post('/api/v1/payments', tooSmall, 'refused'),
  );
  await allArrived;
  gate.open();
  const answers = await Promise.all([first, ...waiting]);
  assert.deepEqual([...new Set(answers.map(({ body }) => body['code']))], ['processor_rejected']);
  assert.equal(await claimState(lab, 'payments.create', 'refused'), 'none');
});

for (const [why, end] of [
  ['its process is gone', (owner: LabTill) => owner.ownerLock.close()],
  [
    'its lease runs out',
    (_: LabTill, lab: { readonly sql: (text: string) => Promise<unknown> }) =>
      lab.sql(
        `update till.idempotency_claims set leased_until = now() - interval '1 second' where completed_at is null`,
      ),
  ],
] as const) {
  test(`a claim is taken over by a request that is already waiting for it once ${why}`, async (t: TestContext) => {
    const lab = await startLab(t);
    const gate = await startGate(lab);
    const { crashPoints, arrived } = arrivals();
    const owner = await startLabTill(t, lab, { processorUrl: gate.url });
    const waiting = await startLabTill(t, lab, { crashPoints });
    const ground = await layGround(lab, waiting.post);
    gate.hold('/v1/payment_intents');
    const first = send(owner, payments, ground, 'orphaned');
    await gate.nextHeld();
    await lab.sql(`update till.idempotency_claims set leased_until = now() + interval '1 day'`);
    const allArrived = arrived(10);
    const others = Array.from({ length: 10 }, () => send(waiting, payments, ground, 'orphaned'));
    await allArrived;
    await end(owner, lab);
    const answers = await Promise.all(others);
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
    assert.equal(answers.filter(({ replayed }) => !replayed).length, 1);
    gate.open();
    assert.equal((await first).status, 201);
    await assertMadeOnce(lab, ground, payments, 'orphaned');
  });
}
