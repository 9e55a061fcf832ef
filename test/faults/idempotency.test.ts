import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertMadeOnce,
  claimState,
  creationCase,
  creationCases,
  type Ground,
  layGround,
} from '../support/creations.ts';
import {
  type Answer,
  type Lab,
  type LabTill,
  startLab,
  startLabTill,
  triesPerCall,
} from '../support/fault-lab.ts';
import { startGate } from '../support/gate.ts';

const payments = creationCase('payments.create');
const paymentsAtProcessor = '/v1/payment_intents';
/** The limit on a sane number of callers that lose patience at the same moment. */
const callers = 50;

async function pay(till: LabTill, ground: Ground, key?: string): Promise<Answer> {
  return till.post(payments.path(ground), payments.body(ground), key);
}

function assertOneAnswer(answers: readonly Answer[]): void {
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
  assert.equal(answers.filter(({ replayed }) => !replayed).length, 1);
  assert.equal(new Set(answers.map(payments.idOf)).size, 1);
  const secrets = new Set(answers.map(({ body }) => body['clientSecret']));
  assert.equal(secrets.size, 1);
  assert.match(String([...secrets][0]), /_secret_/);
}

test('fifty requests at once under one key make one payment, and all of them answer with it', async (t) => {
  const lab = await startLab(t);
  const till = await startLabTill(t, lab);
  const ground = await layGround(lab, till.post);
  assertOneAnswer(await Promise.all(Array.from({ length: callers }, () => pay(till, ground, 'fifty'))));
  await assertMadeOnce(lab, ground, payments, 'fifty');
});

test('requests under one key to two processes on one database make one payment', async (t) => {
  const lab = await startLab(t);
  const tills = [await startLabTill(t, lab), await startLabTill(t, lab)] as const;
  const ground = await layGround(lab, tills[0].post);
  const answers = Array.from({ length: callers }, (_, index) =>
    pay(tills[index % 2 === 0 ? 0 : 1], ground, 'two'),
  );
  assertOneAnswer(await Promise.all(answers));
  await assertMadeOnce(lab, ground, payments, 'two');
});

test('the key may come in the body, in the header, or in both if they agree', async (t) => {
  const lab = await startLab(t);
  const till = await startLabTill(t, lab);
  const ground = await layGround(lab, till.post);
  const body = payments.body(ground);
  const inBody = await till.post('/api/v1/payments', { ...body, idempotencyKey: 'one' });
  const inHeader = await till.post('/api/v1/payments', body, 'one');
  const inBoth = await till.post('/api/v1/payments', { ...body, idempotencyKey: 'one' }, 'one');
  assertOneAnswer([inBody, inHeader, inBoth]);
  const different = await till.post('/api/v1/payments', { ...body, idempotencyKey: 'one' }, 'two');
  assert.equal(different.status, 400);
  assert.equal(different.body['code'], 'invalid_request');
  await assertMadeOnce(lab, ground, payments, 'one');
});

test('each of the five creations has its keys to itself, replays its answer, and refuses another request', async (t) => {
  const lab = await startLab(t);
  const till = await startLabTill(t, lab);
  const ground = await layGround(lab, till.post);
  const others = {
    'customers.create': { email: 'other@example.com' },
    'plans.create': { name: 'Other', amount: 1, currency: 'eur', interval: 'year' },
    'payments.create': { ...payments.body(ground), amount: 999 },
    'refunds.create': {},
    'subscriptions.create': { customerId: ground.customerId, planId: ground.planId, trialPeriodDays: 3 },
  };
  for (const creation of creationCases) {
    const first = await till.post(creation.path(ground), creation.body(ground), 'shared');
    assert.equal(first.status, creation.status, JSON.stringify(first.body));
    assert.equal(first.replayed, false, creation.operation);
    const second = await till.post(creation.path(ground), creation.body(ground), 'shared');
    assert.deepEqual(second, { ...first, replayed: true });
    const other = await till.post(creation.path(ground), others[creation.operation], 'shared');
    assert.equal(other.status, 422, creation.operation);
    assert.equal(other.body['code'], 'idempotency_key_reused');
    await assertMadeOnce(lab, ground, creation, 'shared');
  }
});

test('a request waits for the one that is under way, and answers with what it made', async (t) => {
  const lab = await startLab(t);
  const gate = await startGate(lab);
  const till = await startLabTill(t, lab, { processorUrl: gate.url });
  const ground = await layGround(lab, till.post);
  gate.hold(paymentsAtProcessor);
  const first = pay(till, ground, 'waits');
  await gate.nextHeld();
  const second = pay(till, ground, 'waits');
  gate.open();
  const answers = [await first, await second];
  assert.deepEqual(
    answers.map(({ replayed }) => replayed),
    [false, true],
  );
  assertOneAnswer(answers);
});

test('what the processor refuses because of its values frees the key for a corrected request', async (t) => {
  const lab = await startLab(t);
  const till = await startLabTill(t, lab);
  const ground = await layGround(lab, till.post);
  const tooSmall = await till.post('/api/v1/payments', { ...payments.body(ground), amount: 1 }, 'corrected');
  assert.equal(tooSmall.status, 422);
  assert.equal(tooSmall.body['code'], 'processor_rejected');
  assert.equal(await claimState(lab, 'payments.create', 'corrected'), 'none');
  const corrected = await pay(till, ground, 'corrected');
  assert.equal(corrected.status, 201);
  await assertMadeOnce(lab, ground, payments, 'corrected');
});

test('a refund that the processor refuses frees its key and what was reserved for it', async (t) => {
  const lab = await startLab(t);
  const till = await startLabTill(t, lab);
  const ground = await layGround(lab, till.post);
  await lab.dashboard.refunds.create({ payment_intent: ground.processorPaymentIntentId, amount: 1_500 });
  const refund = (amount: number) =>
    till.post(`/api/v1/payments/${ground.paymentId}/refund`, { amount }, 'refund');
  const tooMuch = await refund(700);
  assert.equal(tooMuch.status, 409);
  assert.equal(tooMuch.body['code'], 'refund_exceeds_remaining');
  assert.equal(await claimState(lab, 'refunds.create', 'refund'), 'none');
  const rest = await refund(500);
  assert.equal(rest.status, 200, JSON.stringify(rest.body));
  assert.equal(rest.body['status'], 'refunded');
  const [payment] = await lab.sql<{ amount_refunded: string }>(
    'select amount_refunded from till.payments where id = $1',
    [ground.paymentId],
  );
  assert.equal(payment?.amount_refunded, '2000');
});

test('a refund without a key that surely did nothing leaves nothing reserved: nobody could come back to it', async (t) => {
  const lab = await startLab(t);
  const till = await startLabTill(t, lab);
  const ground = await layGround(lab, till.post);
  const refundAll = () => till.post(`/api/v1/payments/${ground.paymentId}/refund`, {});
  await lab.misbehave({ operation: 'refunds.create', kind: 'error', status: 429, times: triesPerCall });
  assert.equal((await refundAll()).status, 503);
  const open = await lab.sql(
    `select key from till.idempotency_claims where operation = 'refunds.create' and completed_at is null`,
  );
  assert.deepEqual(open, []);
  const answer = await refundAll();
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.equal(answer.body['status'], 'refunded');
});

test('a refund without a key that may have been made keeps what is reserved for it', async (t) => {
  const lab = await startLab(t);
  const till = await startLabTill(t, lab, { limits: { retriesMax: 0 } });
  const ground = await layGround(lab, till.post);
  const refundAll = () => till.post(`/api/v1/payments/${ground.paymentId}/refund`, {});
  await lab.misbehave({ operation: 'refunds.create', kind: 'reset_after' });
  assert.equal((await refundAll()).status, 503);
  assert.equal((await refundAll()).status, 409);
  assert.equal(await creationCase('refunds.create').countMade(lab, ground), 1);
});

const faults = [
  { kind: 'error', status: 500 },
  { kind: 'error', status: 503 },
  { kind: 'error', status: 409 },
  { kind: 'error', status: 429 },
  { kind: 'hang' },
  { kind: 'latency', latencyMs: 60_000 },
  { kind: 'reset_before' },
  { kind: 'reset_after' },
] as const;

for (const creation of creationCases) {
  test(`${creation.operation}: however the processor fails, the claim stays, and the next request makes it once`, async (t) => {
    const lab = await startLab(t);
    const patient = await startLabTill(t, lab);
    const hasty = await startLabTill(t, lab, {
      limits: { deadlineMs: 350, tryTimeoutMs: 300, retriesMax: 0 },
    });
    for (const fault of faults) {
      const ground = await layGround(lab, patient.post);
      const key = JSON.stringify(fault);
      await lab.misbehave({ operation: creation.processorOperation, ...fault });
      const failed = await hasty.post(creation.path(ground), creation.body(ground), key);
      const isSilent = fault.kind === 'hang' || fault.kind === 'latency';
      assert.equal(failed.status, isSilent ? 504 : 503, `${key} ${JSON.stringify(failed.body)}`);
      assert.equal(await claimState(lab, creation.operation, key), 'open', key);
      // The other process lives, and yet is not waited for: it has said that it gave up.
      const resumed = await patient.post(creation.path(ground), creation.body(ground), key);
      assert.equal(resumed.status, creation.status, `${key} ${JSON.stringify(resumed.body)}`);
      await assertMadeOnce(lab, ground, creation, key);
    }
  });
}

test('a failure that the processor remembers is looked up, then tried again under another of its keys', async (t) => {
  const lab = await startLab(t);
  const gate = await startGate(lab);
  const till = await startLabTill(t, lab, { processorUrl: gate.url });
  const ground = await layGround(lab, till.post);
  const before = gate.seen.length;
  await lab.misbehave({ operation: 'payment_intents.create', kind: 'error', status: 500 });
  const answer = await pay(till, ground, 'remembered');
  assert.equal(answer.status, 201);
  const id = payments.idOf(answer);
  assert.deepEqual(
    gate.seen
      .slice(before)
      .map(({ method, path, idempotencyKey }) => [method, path, idempotencyKey?.replace(id, 'ID')]),
    [
      ['POST', paymentsAtProcessor, 'till-payments.create-ID-1'],
      ['POST', paymentsAtProcessor, 'till-payments.create-ID-1'],
      ['GET', paymentsAtProcessor, undefined],
      ['POST', paymentsAtProcessor, 'till-payments.create-ID-2'],
    ],
  );
  await assertMadeOnce(lab, ground, payments, 'remembered');
});

for (const { kind, wasMade } of [
  { kind: 'reset_after', wasMade: true },
  { kind: 'reset_before', wasMade: false },
] as const) {
  test(`once the processor may have forgotten the key, what was ${wasMade ? '' : 'not '}made is looked up first`, async (t) => {
    const lab = await startLab(t);
    const gate = await startGate(lab);
    const hasty = await startLabTill(t, lab, { limits: { retriesMax: 0 } });
    const till = await startLabTill(t, lab, { processorUrl: gate.url });
    for (const creation of creationCases) {
      const ground = await layGround(lab, till.post);
      await lab.misbehave({ operation: creation.processorOperation, kind });
      const lost = await hasty.post(creation.path(ground), creation.body(ground), 'forgotten');
      assert.equal(lost.status, 503);
      await age(lab, '24 hours');
      const before = gate.seen.length;
      const answer = await till.post(creation.path(ground), creation.body(ground), 'forgotten');
      assert.equal(answer.status, creation.status, JSON.stringify(answer.body));
      const [lookUp, ...rest] = gate.seen.slice(before);
      assert.equal(lookUp?.method, 'GET');
      const writes = rest.filter(({ method }) => method === 'POST');
      const suffix = `-${creation.idOf(answer)}-2`;
      assert.deepEqual(
        writes.map(({ idempotencyKey }) => idempotencyKey?.endsWith(suffix)),
        wasMade ? [] : [true],
      );
      await assertMadeOnce(lab, ground, creation, 'forgotten');
    }
  });
}

test('a look-up that is refused frees no key: what it looks for may exist', async (t) => {
  const lab = await startLab(t);
  const hasty = await startLabTill(t, lab, { limits: { retriesMax: 0 } });
  const till = await startLabTill(t, lab);
  for (const status of [400, 401, 404, 503]) {
    const ground = await layGround(lab, till.post);
    const key = `refused-with-${status}`;
    await lab.misbehave({ operation: 'payment_intents.create', kind: 'reset_after' });
    assert.equal((await pay(hasty, ground, key)).status, 503);
    await age(lab, '24 hours');
    await lab.misbehave({ operation: 'payment_intents.list', kind: 'error', status, times: triesPerCall });
    assert.notEqual((await pay(till, ground, key)).status, 201);
    assert.equal(await claimState(lab, 'payments.create', key), 'open');
    await lab.behave();
    assert.equal((await pay(till, ground, key)).status, 201);
    await assertMadeOnce(lab, ground, payments, key);
  }
});

test('a processor that does not know us frees no key: it may have made what we asked for when it did', async (t) => {
  const lab = await startLab(t);
  const hasty = await startLabTill(t, lab, { limits: { retriesMax: 0 } });
  const stranger = await startLabTill(t, lab, { secretKey: 'sk_live_revoked' });
  const ground = await layGround(lab, hasty.post);
  await lab.misbehave({ operation: 'payment_intents.create', kind: 'reset_after' });
  assert.equal((await pay(hasty, ground, 'revoked')).status, 503);
  const refused = await pay(stranger, ground, 'revoked');
  assert.equal(refused.status, 502);
  assert.equal(refused.body['code'], 'processor_misconfigured');
  assert.equal(await claimState(lab, 'payments.create', 'revoked'), 'open');
  assert.equal((await pay(hasty, ground, 'revoked')).status, 201);
  await assertMadeOnce(lab, ground, payments, 'revoked');
});

/** Lets time pass for every claim. */
async function age({ sql }: Lab, interval: string): Promise<void> {
  await sql(
    `update till.idempotency_claims set attempted_at = attempted_at - $1::interval,
       created_at = created_at - $1::interval, leased_until = leased_until - $1::interval
     where completed_at is null`,
    [interval],
  );
}

test('a processor key that an earlier version used with other values is looked up, then left behind', async (t) => {
  const lab = await startLab(t);
  const gate = await startGate(lab);
  const till = await startLabTill(t, lab, { processorUrl: gate.url });
  const ground = await layGround(lab, till.post);
  for (const wasMade of [true, false]) {
    gate.hold(paymentsAtProcessor);
    const answer = pay(till, ground, `key-${wasMade}`);
    const held = await gate.nextHeld();
    const idempotencyKey = held.idempotencyKey ?? assert.fail();
    // The id that the payment will have is part of the key.
    const id = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(idempotencyKey)?.[0] ?? '';
    const values = { amount: 4_321, currency: 'eur', customer: ground.processorCustomerId };
    const earlier = await lab.dashboard.paymentIntents.create(
      { ...values, description: 'an earlier version', metadata: wasMade ? { till_id: id } : {} },
      { idempotencyKey },
    );
    gate.open();
    const { status, body } = await answer;
    assert.equal(status, 201);
    const { processorPaymentIntentId } = body['payment'] as { readonly processorPaymentIntentId: string };
    assert.equal(processorPaymentIntentId === earlier.id, wasMade);
  }
});
