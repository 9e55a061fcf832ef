import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClaimStore } from '../../src/idempotency/claim-store.ts';
import { noCrashPoints } from '../../src/idempotency/crash-points.ts';
import { IdempotencyService } from '../../src/idempotency/idempotency-service.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { failureOf } from '../processor/adapter.ts';
import { assertMadeOnce, claimState, creationCase, type Ground, layGround } from '../support/creations.ts';
import { type Answer, type Lab, type LabTill, startLab, startLabTill } from '../support/fault-lab.ts';
import { startGate } from '../support/gate.ts';
import { countStatements } from '../support/statement-counter.ts';

const payments = creationCase('payments.create');
const refunds = creationCase('refunds.create');
const paymentsAtProcessor = '/v1/payment_intents';

async function pay(till: LabTill, ground: Ground, key: string): Promise<Answer> {
  return till.post(payments.path(ground), payments.body(ground), key);
}

/** As if the work on every open claim had taken longer than it may. */
async function endLeases({ sql }: Lab): Promise<void> {
  await sql(
    `update till.idempotency_claims set leased_until = now() - interval '1 second' where completed_at is null`,
  );
}

test('a claim that a living process is at work on is not taken over, and who waits too long is told', async (t) => {
  const lab = await startLab(t);
  const gate = await startGate(lab);
  const owner = await startLabTill(t, lab, { processorUrl: gate.url });
  const ground = await layGround(lab, owner.post);
  gate.hold(paymentsAtProcessor);
  const underWay = pay(owner, ground, 'busy');
  await gate.nextHeld();

  const other = await startLabTill(t, lab);
  const impatient = new IdempotencyService({
    database: other.database,
    claims: new ClaimStore(10_000),
    ownerLock: other.ownerLock,
    clock: systemClock,
    crashPoints: noCrashPoints,
    logger: createLogger('silent'),
    waitMs: 100,
  });
  const failure = await failureOf(
    impatient.create(
      {
        operation: 'payments.create',
        parentIdOf: () => ground.customerId,
        prepare: () => assert.fail('it was taken over'),
        call: () => assert.fail('it was called'),
        find: () => assert.fail('it was looked up'),
        record: () => assert.fail('it was recorded'),
        release: () => assert.fail('it was released'),
        replay: () => assert.fail('it was replayed'),
      },
      { ...payments.body(ground), currency: 'eur' },
      'busy',
    ),
  );
  assert.equal(failure.code, 'idempotency_key_in_flight');
  assert.equal(failure.extras.retryAfterSeconds, 1);
  gate.open();
  assert.equal((await underWay).status, 201);
  await assertMadeOnce(lab, ground, payments, 'busy');
});

test('a process never works twice at once on one claim, even past its lease', async (t) => {
  const lab = await startLab(t);
  const gate = await startGate(lab);
  const counter = await countStatements(lab);
  const till = await startLabTill(
    t,
    { ...lab, databaseUrl: counter.databaseUrl },
    { processorUrl: gate.url },
  );
  const ground = await layGround(lab, till.post);
  gate.hold(paymentsAtProcessor);
  const first = pay(till, ground, 'slow');
  await gate.nextHeld();
  await endLeases(lab);
  // The second request has looked at the claim once, and found it taken, when it looks again. The first look names its
  // statement twice: to prepare it, and to run it.
  const looked = counter.sent('find_claim', 3);
  const second = pay(till, ground, 'slow');
  await Promise.race([looked, gate.nextHeld()]);
  gate.open();
  assert.deepEqual([(await first).replayed, (await second).replayed], [false, true]);
  const id = payments.idOf(await first);
  const calls = gate.seen.filter(({ idempotencyKey }) => idempotencyKey?.includes(id));
  assert.equal(calls.length, 1);
});

test('two processes at work on one claim, because the first is slow, make one payment and one row', async (t) => {
  const lab = await startLab(t);
  const gate = await startGate(lab);
  const slow = await startLabTill(t, lab, { processorUrl: gate.url });
  const quick = await startLabTill(t, lab);
  const ground = await layGround(lab, quick.post);
  gate.hold(paymentsAtProcessor);
  const first = pay(slow, ground, 'overtaken');
  await gate.nextHeld();
  await endLeases(lab);
  const second = await pay(quick, ground, 'overtaken');
  assert.equal(second.status, 201);
  gate.open();
  assert.deepEqual((await first).body, second.body);
  await assertMadeOnce(lab, ground, payments, 'overtaken');
});

test('what was made before its plan was archived is still the answer to the same request', async (t) => {
  const lab = await startLab(t);
  const stuck = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  const pass = (crashPoint: string) => {
    if (crashPoint !== 'call.after') return undefined;
    called.resolve();
    return stuck.promise;
  };
  const survivor = await startLabTill(t, lab);
  const ground = await layGround(lab, survivor.post);
  const slow = await startLabTill(t, lab, { crashPoints: { pass } });
  const subscriptions = creationCase('subscriptions.create');
  const subscribe = (till: LabTill) =>
    till.post(subscriptions.path(ground), subscriptions.body(ground), 'archived-meanwhile');
  const first = subscribe(slow);
  await called.promise;
  await endLeases(lab);
  assert.equal((await survivor.post(`/api/v1/plans/${ground.planId}/archive`, {})).status, 200);
  const second = await subscribe(survivor);
  assert.equal(second.status, 201, JSON.stringify(second.body));
  stuck.resolve();
  assert.equal((await first).status, 201);
  await assertMadeOnce(lab, ground, subscriptions, 'archived-meanwhile');
});

test('who was overtaken frees nothing when its own call is refused', async (t) => {
  const lab = await startLab(t);
  const gate = await startGate(lab);
  const slow = await startLabTill(t, lab, { processorUrl: gate.url });
  const quick = await startLabTill(t, lab, { processorUrl: gate.url });
  const ground = await layGround(lab, quick.post);
  gate.hold('/v1/refunds');
  const refund = (till: LabTill) => till.post(refunds.path(ground), refunds.body(ground), 'refused-late');
  const first = refund(slow);
  const heldFirst = await gate.nextHeld();
  await endLeases(lab);
  const second = refund(quick);
  const heldSecond = await gate.nextHeld();
  await lab.misbehave({ operation: 'refunds.create', kind: 'error', status: 402 });
  heldFirst.release();
  assert.equal((await first).status, 409);
  assert.equal(await claimState(lab, 'refunds.create', 'refused-late'), 'open');
  assert.equal(await refunds.countRows(lab, ground), 1, 'the reservation is the other one’s');
  heldSecond.release();
  assert.equal((await second).status, 200);
  await assertMadeOnce(lab, ground, refunds, 'refused-late');
});

test('two processes that both find the processor’s memory gone go on under one new key', async (t) => {
  const lab = await startLab(t);
  const gate = await startGate(lab);
  const hasty = await startLabTill(t, lab, { limits: { retriesMax: 0 } });
  const slow = await startLabTill(t, lab, { processorUrl: gate.url });
  const quick = await startLabTill(t, lab, { processorUrl: gate.url });
  const ground = await layGround(lab, quick.post);
  await lab.misbehave({ operation: 'payment_intents.create', kind: 'reset_before' });
  assert.equal((await pay(hasty, ground, 'forgotten')).status, 503);
  await lab.sql(
    `update till.idempotency_claims set attempted_at = now() - interval '1 day' where completed_at is null`,
  );
  gate.hold(paymentsAtProcessor, 'GET');
  const first = pay(slow, ground, 'forgotten');
  const firstLookUp = await gate.nextHeld();
  await endLeases(lab);
  const second = pay(quick, ground, 'forgotten');
  const secondLookUp = await gate.nextHeld();
  // Both have looked, and found nothing, before either goes on.
  gate.hold(paymentsAtProcessor);
  firstLookUp.release();
  assert.equal((await first).status, 409);
  secondLookUp.release();
  const write = await gate.nextHeld();
  assert.match(write.idempotencyKey ?? '', /-2$/);
  gate.open();
  assert.equal((await second).status, 201);
  await assertMadeOnce(lab, ground, payments, 'forgotten');
});

test('what cannot be recorded is left for the next request, whichever process that meets', async (t) => {
  const lab = await startLab(t);
  const broken = await startLabTill(t, lab);
  const other = await startLabTill(t, lab);
  const ground = await layGround(lab, broken.post);
  await lab.sql(`alter table till.payments add constraint out_of_order check (false) not valid`);
  assert.equal((await pay(broken, ground, 'unrecorded')).status, 500);
  await lab.sql('alter table till.payments drop constraint out_of_order');
  // A lease that still ran would have to be waited for: for a day.
  await lab.sql(`update till.idempotency_claims set leased_until = leased_until + interval '1 day'
    where leased_until > now() and completed_at is null`);
  assert.equal((await pay(other, ground, 'unrecorded')).status, 201);
  await assertMadeOnce(lab, ground, payments, 'unrecorded');
});
