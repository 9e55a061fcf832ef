import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ClaimStore } from '#engine/idempotency/claim-store.ts';
import { InstallationStore } from '#engine/idempotency/installation-store.ts';
import { type Backend, type SandboxFault, startBackend } from '../support/backend.ts';
import type { Answer } from '../support/client.ts';
import {
  assertCreatedOnce,
  claimedId,
  claimStatus,
  createCustomerOnly,
  createPrerequisites,
  creationCase,
  creationCases,
  type Prerequisites,
} from '../support/creation-cases.ts';
import { effort } from '../support/effort.ts';
import { inTurn } from '../support/in-turn.ts';
import { confirmPayment, createCustomer, createPayment, createPlan } from '../support/objects.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { subscribe } from '../support/subscribed.ts';
import { expireTurns } from '../support/subscription-turns.ts';
import { startTill } from '../support/till.ts';
import { type TillInProcess, triesPerCall } from '../support/till-in-process.ts';

const payments = creationCase('payments.create');
const paymentsAtProcessor = '/v1/payment_intents';
/** A limit on the callers that give up at the same moment. */
const callers = 50;

async function pay(till: TillInProcess, prerequisites: Prerequisites, key?: string): Promise<Answer> {
  return till.tryPost(payments.path(prerequisites), payments.body(prerequisites), key);
}

function assertOneResponse(responses: readonly Answer[]): void {
  assert.deepEqual([...new Set(responses.map(({ status }) => status))], [201]);
  assert.equal(responses.filter(({ replayed }) => !replayed).length, 1);
  assert.equal(new Set(responses.map(payments.idOf)).size, 1);
  const secrets = new Set(responses.map(({ body }) => body['clientSecret']));
  assert.equal(secrets.size, 1);
  assert.match(String([...secrets][0]), /_secret_/);
}

/** For the tests that only need a Till. Each has its own customers and idempotency keys. */
const backend = await startBackend({ after });
const till = await startTill({ in: 'process', on: backend });

test('fifty requests at once with one idempotency key create one payment, and all of them return it', async () => {
  const prerequisites = await createCustomerOnly(till);
  assertOneResponse(
    await Promise.all(Array.from({ length: callers }, () => pay(till, prerequisites, 'fifty'))),
  );
  await assertCreatedOnce(backend, prerequisites, payments, 'fifty');
});

test('requests with one idempotency key to two processes on one database create one payment', async (t) => {
  const backend = await startBackend(t);
  const tills = [
    await startTill({ in: 'process', on: backend }),
    await startTill({ in: 'process', on: backend }),
  ] as const;
  const prerequisites = await createCustomerOnly(tills[0]);
  const responses = Array.from({ length: effort({ short: 20, long: callers }) }, (_, index) =>
    pay(tills[index % 2 === 0 ? 0 : 1], prerequisites, 'two'),
  );
  assertOneResponse(await Promise.all(responses));
  await assertCreatedOnce(backend, prerequisites, payments, 'two');
});

test('the idempotency key may be in the body, in the header, or in both if they agree', async () => {
  const prerequisites = await createCustomerOnly(till);
  const body = payments.body(prerequisites);
  const inBody = await till.tryPost('/payments', { ...body, idempotencyKey: 'one' });
  const inHeader = await till.tryPost('/payments', body, 'one');
  const inBoth = await till.tryPost('/payments', { ...body, idempotencyKey: 'one' }, 'one');
  assertOneResponse([inBody, inHeader, inBoth]);
  const different = await till.tryPost('/payments', { ...body, idempotencyKey: 'one' }, 'two');
  assert.equal(different.status, 400);
  assert.equal(different.body['code'], 'invalid_request');
  await assertCreatedOnce(backend, prerequisites, payments, 'one');
});

test('each of the six creations has its own idempotency keys, replays its response, and refuses another request', async () => {
  const prerequisites = await createPrerequisites(backend, till);
  const others = {
    'customers.create': { email: 'other@example.com' },
    'plans.create': { name: 'Other', amount: 1, currency: 'eur', interval: 'year' },
    'payments.create': { ...payments.body(prerequisites), amount: 999 },
    'payments.capture': {},
    'refunds.create': {},
    'subscriptions.create': {
      customerId: prerequisites.customerId,
      planId: prerequisites.planId,
      trialPeriodDays: 3,
    },
    'checkouts.create': {
      customerId: prerequisites.customerId,
      saveCard: true,
      successUrl: 'https://shop.example.com',
      cancelUrl: 'https://shop.example.com',
    },
    // The customer in the path is all that can differ.
    'payment_methods.create': {},
  };
  const { customerId } = await createPrerequisites(backend, till);
  for (const creation of creationCases) {
    const first = await till.tryPost(creation.path(prerequisites), creation.body(prerequisites), 'shared');
    assert.equal(first.status, creation.status, JSON.stringify(first.body));
    assert.equal(first.replayed, false, creation.operation);
    const second = await till.tryPost(creation.path(prerequisites), creation.body(prerequisites), 'shared');
    assert.deepEqual(second, { ...first, replayed: true });
    const path =
      creation.operation === 'payment_methods.create'
        ? creation.path({ ...prerequisites, customerId })
        : creation.path(prerequisites);
    const other = await till.tryPost(path, others[creation.operation], 'shared');
    assert.equal(other.status, 422, creation.operation);
    assert.equal(other.body['code'], 'idempotency_key_reused');
    await assertCreatedOnce(backend, prerequisites, creation, 'shared');
  }
});

test('a request waits for the one in progress, and returns what that created', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const prerequisites = await createCustomerOnly(till);
  proxy.hold(paymentsAtProcessor);
  const first = pay(till, prerequisites, 'waits');
  await proxy.nextHeld();
  const second = pay(till, prerequisites, 'waits');
  proxy.releaseAll();
  const responses = [await first, await second];
  assert.deepEqual(
    responses.map(({ replayed }) => replayed),
    [false, true],
  );
  assertOneResponse(responses);
});

test('a request whose values the processor refuses frees its idempotency key for a corrected one', async () => {
  const prerequisites = await createCustomerOnly(till);
  const tooSmall = await till.tryPost(
    '/payments',
    { ...payments.body(prerequisites), amount: 1 },
    'corrected',
  );
  assert.equal(tooSmall.status, 422);
  assert.equal(tooSmall.body['code'], 'processor_rejected');
  assert.equal(await claimStatus(backend, 'payments.create', 'corrected'), 'none');
  const corrected = await pay(till, prerequisites, 'corrected');
  assert.equal(corrected.status, 201);
  await assertCreatedOnce(backend, prerequisites, payments, 'corrected');
});

test('a refund that the processor refuses frees its idempotency key and its reserved amount', async () => {
  const prerequisites = await createPrerequisites(backend, till);
  await backend.stripe.refunds.create({
    payment_intent: prerequisites.processorPaymentIntentId,
    amount: 1_500,
  });
  const refund = (amount: number) =>
    till.tryPost(`/payments/${prerequisites.paymentId}/refund`, { amount }, 'refund');
  const tooMuch = await refund(700);
  assert.equal(tooMuch.status, 409);
  assert.equal(tooMuch.body['code'], 'refund_exceeds_remaining');
  assert.equal(await claimStatus(backend, 'refunds.create', 'refund'), 'none');
  const rest = await refund(500);
  assert.equal(rest.status, 200, JSON.stringify(rest.body));
  assert.equal(rest.body['status'], 'refunded');
  const [payment] = await backend.sql<{ amount_refunded: number }>(
    'select amount_refunded from till.payments where id = $1',
    [prerequisites.paymentId],
  );
  assert.equal(payment?.amount_refunded, 2_000);
});

test('a refund without an idempotency key that certainly did nothing leaves nothing reserved: it cannot be repeated', async () => {
  const prerequisites = await createPrerequisites(backend, till);
  const refundAll = () => till.tryPost(`/payments/${prerequisites.paymentId}/refund`, {});
  await backend.setFault({ operation: 'refunds.create', kind: 'error', status: 429, times: triesPerCall });
  assert.equal((await refundAll()).status, 503);
  const open = await backend.sql(
    `select key from till.idempotency_claims where operation = 'refunds.create' and completed_at is null`,
  );
  assert.deepEqual(open, []);
  const response = await refundAll();
  assert.equal(response.status, 200, JSON.stringify(response.body));
  assert.equal(response.body['status'], 'refunded');
});

test('a refund without an idempotency key that may have been carried out keeps its reserved amount', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const prerequisites = await createPrerequisites(backend, till);
  const refundAll = () => till.tryPost(`/payments/${prerequisites.paymentId}/refund`, {});
  await backend.setFault({ operation: 'refunds.create', kind: 'reset_after' });
  assert.equal((await refundAll()).status, 503);
  assert.equal((await refundAll()).status, 409);
  assert.equal(await creationCase('refunds.create').countAtProcessor(backend, prerequisites), 1);
});

/** Conflicts have retries of their own, which this one outlasts. */
const errors = [
  { kind: 'error', status: 500 },
  { kind: 'error', status: 503 },
  { kind: 'error', status: 409, times: 7 },
  { kind: 'error', status: 429 },
] as const;
const silences = [{ kind: 'hang' }, { kind: 'latency', latencyMs: 60_000 }] as const;
const cuts = [{ kind: 'reset_before' }, { kind: 'reset_after' }] as const;

/** In the short form one error or silence and one cut, which differ from creation to creation. In the long form all. */
function faultsFor(place: number): readonly Omit<SandboxFault, 'operation'>[] {
  const failures = [...errors, ...silences];
  const one = [failures, cuts].flatMap((kinds) => kinds[place % kinds.length] ?? []);
  return effort({ short: one, long: [...failures, ...cuts] });
}

const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
/** Only for a processor that is silent: on a busy machine, other calls take as long as these limits. */
const impatient = await startTill({
  in: 'process',
  on: backend,
  limits: { deadlineMs: 350, attemptTimeoutMs: 300, retriesMax: 0 },
});

/** One for each fault. The creations share them, because each uses something else of them. */
const scenes = await inTurn(faultsFor(0), () => createPrerequisites(backend, till));

for (const [place, creation] of creationCases.entries()) {
  test(`${creation.operation}: however the processor fails, the claim stays, and the next request creates it once`, async () => {
    for (const [index, fault] of faultsFor(place).entries()) {
      const prerequisites = scenes[index] ?? assert.fail();
      const key = JSON.stringify(fault);
      await backend.setFault({ operation: creation.processorOperation, ...fault });
      const isSilent = fault.kind === 'hang' || fault.kind === 'latency';
      const failing = isSilent ? impatient : hasty;
      const failed = await failing.tryPost(creation.path(prerequisites), creation.body(prerequisites), key);
      assert.equal(failed.status, isSilent ? 504 : 503, `${key} ${JSON.stringify(failed.body)}`);
      assert.equal(await claimStatus(backend, creation.operation, key), 'open', key);
      // The other process is alive, but has given up, so no request waits for it.
      const resumed = await till.tryPost(creation.path(prerequisites), creation.body(prerequisites), key);
      assert.equal(resumed.status, creation.status, `${key} ${JSON.stringify(resumed.body)}`);
      await assertCreatedOnce(backend, prerequisites, creation, key);
    }
  });
}

test('a failure that the processor remembers is looked up, then retried with another processor idempotency key', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const prerequisites = await createCustomerOnly(till);
  const before = proxy.seen.length;
  await backend.setFault({ operation: 'payment_intents.create', kind: 'error', status: 500 });
  const response = await pay(till, prerequisites, 'remembered');
  assert.equal(response.status, 201);
  const digest = /[0-9a-f]{40}/;
  assert.deepEqual(
    proxy.seen
      .slice(before)
      .map(({ method, path, idempotencyKey }) => [method, path, idempotencyKey?.replace(digest, 'DIGEST')]),
    [
      ['POST', paymentsAtProcessor, 'till-payments.create-DIGEST-1'],
      ['POST', paymentsAtProcessor, 'till-payments.create-DIGEST-1'],
      ['GET', paymentsAtProcessor, undefined],
      ['POST', paymentsAtProcessor, 'till-payments.create-DIGEST-2'],
    ],
  );
  await assertCreatedOnce(backend, prerequisites, payments, 'remembered');
});

test('when the next processor idempotency key fails too, another process can continue at once', async () => {
  const other = await startTill({ in: 'process', on: backend });
  const prerequisites = await createCustomerOnly(till);
  await backend.setFault({ operation: 'payment_intents.create', kind: 'error', status: 500, times: 2 });
  assert.equal((await pay(till, prerequisites, 'twice-failed')).status, 503);
  const [claim] = await backend.sql<{ attempt: number; isLeased: boolean }>(
    `select attempt, leased_until > now() as "isLeased" from till.idempotency_claims where key = 'twice-failed'`,
  );
  assert.deepEqual(claim, { attempt: 2, isLeased: false });
  assert.equal((await pay(other, prerequisites, 'twice-failed')).status, 201);
  await assertCreatedOnce(backend, prerequisites, payments, 'twice-failed');
});

for (const { kind, wasCreated } of [
  { kind: 'reset_after', wasCreated: true },
  { kind: 'reset_before', wasCreated: false },
] as const) {
  test(`once the processor may have forgotten the idempotency key, what was ${wasCreated ? '' : 'not '}created is looked up first`, async (t) => {
    const backend = await startBackend(t);
    const proxy = await startProcessorProxy(backend);
    const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
    const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
    const prerequisites = await createPrerequisites(backend, till);
    // In the short form each creation meets one of the two. The sweeper's tests look up each of them in both cases.
    const isMet = (index: number) => effort({ short: (index % 2 === 0) === wasCreated, long: true });
    for (const creation of creationCases.filter((_, index) => isMet(index))) {
      await backend.setFault({ operation: creation.processorOperation, kind });
      const lost = await hasty.tryPost(
        creation.path(prerequisites),
        creation.body(prerequisites),
        'forgotten',
      );
      assert.equal(lost.status, 503);
      await age(backend, '24 hours');
      const before = proxy.seen.length;
      const response = await till.tryPost(
        creation.path(prerequisites),
        creation.body(prerequisites),
        'forgotten',
      );
      assert.equal(response.status, creation.status, JSON.stringify(response.body));
      const [lookUp, ...rest] = proxy.seen.slice(before);
      assert.equal(lookUp?.method, 'GET');
      const writes = rest.filter(({ method }) => method === 'POST');
      assert.deepEqual(
        writes.map(({ idempotencyKey }) => idempotencyKey?.slice(-2)),
        wasCreated ? [] : ['-2'],
      );
      await assertCreatedOnce(backend, prerequisites, creation, 'forgotten');
    }
  });
}

test('a refused look-up frees no idempotency key: the object may exist', async (t) => {
  const backend = await startBackend(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const till = await startTill({ in: 'process', on: backend });
  for (const status of [400, 401, 404, 503]) {
    const prerequisites = await createCustomerOnly(till);
    const key = `refused-with-${status}`;
    await backend.setFault({ operation: 'payment_intents.create', kind: 'reset_after' });
    assert.equal((await pay(hasty, prerequisites, key)).status, 503);
    await age(backend, '24 hours');
    await backend.setFault({ operation: 'payment_intents.list', kind: 'error', status, times: triesPerCall });
    assert.notEqual((await pay(till, prerequisites, key)).status, 201);
    assert.equal(await claimStatus(backend, 'payments.create', key), 'open');
    await backend.clearFaults();
    assert.equal((await pay(till, prerequisites, key)).status, 201);
    await assertCreatedOnce(backend, prerequisites, payments, key);
  }
});

test('a processor that rejects the secret key frees no idempotency key: it may have created the object before', async (t) => {
  const backend = await startBackend(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const stranger = await startTill({ in: 'process', on: backend, secretKey: 'sk_live_revoked' });
  const prerequisites = await createCustomerOnly(hasty);
  await backend.setFault({ operation: 'payment_intents.create', kind: 'reset_after' });
  assert.equal((await pay(hasty, prerequisites, 'revoked')).status, 503);
  const refused = await pay(stranger, prerequisites, 'revoked');
  assert.equal(refused.status, 502);
  assert.equal(refused.body['code'], 'processor_misconfigured');
  assert.equal(await claimStatus(backend, 'payments.create', 'revoked'), 'open');
  assert.equal((await pay(hasty, prerequisites, 'revoked')).status, 201);
  await assertCreatedOnce(backend, prerequisites, payments, 'revoked');
});

/** Lets time pass for every claim. */
async function age({ sql }: Backend, interval: string): Promise<void> {
  await sql(
    `update till.idempotency_claims set attempted_at = attempted_at - $1::interval,
       created_at = created_at - $1::interval, leased_until = leased_until - $1::interval
     where completed_at is null`,
    [interval],
  );
}

test('an idempotency key that an earlier version used at the processor with other values is looked up, then replaced', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const prerequisites = await createCustomerOnly(till);
  for (const wasCreated of [true, false]) {
    proxy.hold(paymentsAtProcessor);
    const response = pay(till, prerequisites, `key-${wasCreated}`);
    const held = await proxy.nextHeld();
    const idempotencyKey = held.idempotencyKey ?? assert.fail();
    // The claim and the idempotency key show what the payment carries.
    const id = await claimedId(backend, 'payments.create', `key-${wasCreated}`);
    const installationId = await new InstallationStore().readId(till.database);
    const claims = new ClaimStore(0, installationId);
    const { mark } = (await claims.findByResource(till.database, id)) ?? assert.fail();
    const carried = { till_id: id, till_key: mark.key, till_request: mark.request };
    const values = { amount: 4_321, currency: 'eur', customer: prerequisites.processorCustomerId };
    const earlier = await backend.stripe.paymentIntents.create(
      { ...values, description: 'an earlier version', metadata: wasCreated ? carried : {} },
      { idempotencyKey },
    );
    proxy.releaseAll();
    const { status, body } = await response;
    assert.equal(status, 201);
    const { processorPaymentIntentId } = body['payment'] as { readonly processorPaymentIntentId: string };
    assert.equal(processorPaymentIntentId === earlier.id, wasCreated);
  }
});

interface RepeatedChange {
  /** The path of an object with metadata. */
  readonly create: (till: TillInProcess) => Promise<string>;
  /** The change is a POST to this path below the path of the object. Otherwise it is a PATCH of the object. */
  readonly action?: string;
  readonly body: object;
  readonly processorOperation: string;
}

const order = { metadata: { order: '1' } };

/** The changes of an object that the processor repeats its response to, if the processor key is the same. */
const repeatedChanges: readonly RepeatedChange[] = [
  {
    create: async (till) => `/customers/${(await createCustomer(till)).id}`,
    body: order,
    processorOperation: 'customers.update',
  },
  {
    create: async (till) => `/plans/${(await createPlan(till)).id}`,
    body: order,
    processorOperation: 'products.update',
  },
  {
    create: async (till) => `/payments/${(await createPayment(till)).id}`,
    body: order,
    processorOperation: 'payment_intents.update',
  },
  {
    create: async (till) => {
      const payment = await createPayment(till, { captureMethod: 'manual' });
      await confirmPayment(till, payment);
      return `/payments/${payment.id}`;
    },
    action: '/capture',
    body: { amount: 1_500 },
    processorOperation: 'payment_intents.capture',
  },
  ...[order, { cancelAtPeriodEnd: true }, { quantity: 3 }].map((body) => ({
    create: async (till: TillInProcess) => `/subscriptions/${(await subscribe(till)).id}`,
    body,
    processorOperation: 'subscriptions.update',
  })),
];

for (const isClaimLost of [false, true])
  test(`a repeated change whose ${isClaimLost ? 'claim' : 'response'} was lost brings no old values back`, async (t) => {
    const backend = await startBackend(t);
    const till = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
    for (const [index, { create, action, body, processorOperation }] of repeatedChanges.entries()) {
      const path = await create(till);
      const key = `repeated-${index}`;
      const change = async () => {
        // So each response is certainly newer than those before it.
        await backend.control('clock', { advanceSeconds: 2 });
        return action === undefined
          ? till.tryPatch(path, body, key)
          : till.tryPost(`${path}${action}`, body, key);
      };
      if (!isClaimLost) await backend.setFault({ operation: processorOperation, kind: 'reset_after' });
      const first = await change();
      assert.equal(first.status, isClaimLost ? 200 : 503, `${key}: ${JSON.stringify(first.body)}`);
      await till.settle();
      await expireTurns(backend);
      await backend.control('clock', { advanceSeconds: 2 });
      assert.equal((await till.tryPatch(path, { metadata: { order: '2' } })).status, 200);
      const newer = await till.get(path);
      if (isClaimLost) await backend.sql('delete from till.idempotency_claims where key = $1', [key]);
      const repeated = await change();
      assert.equal(repeated.status, 200, `${key}: ${JSON.stringify(repeated.body)}`);
      assert.deepEqual(await till.get(path), newer, key);
    }
  });
