import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#core/platform/clock.ts';
import { noCrashPoints } from '#engine/idempotency/claim.ts';
import { ClaimStore } from '#engine/idempotency/claim-store.ts';
import { IdempotencyService } from '#engine/idempotency/idempotency-service.ts';
import { failureOf } from '../processor/adapter.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import type { Answer } from '../support/client.ts';
import {
  assertCreatedOnce,
  claimStatus,
  createCustomerOnly,
  createPrerequisites,
  creationCase,
  type Prerequisites,
} from '../support/creation-cases.ts';
import { silentLogger } from '../support/log-capture.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { countStatements } from '../support/statement-counter.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

const payments = creationCase('payments.create');
const refunds = creationCase('refunds.create');
const paymentsAtProcessor = '/v1/payment_intents';

async function pay(till: TillInProcess, prerequisites: Prerequisites, key: string): Promise<Answer> {
  return till.tryPost(payments.path(prerequisites), payments.body(prerequisites), key);
}

/** As if the work on every open claim had taken longer than it may. */
async function endLeases({ sql }: Backend): Promise<void> {
  await sql(
    `update till.idempotency_claims set leased_until = now() - interval '1 second' where completed_at is null`,
  );
}

test('a claim that a live process works on is not taken over, and a request that waits too long gets a 409', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const owner = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const prerequisites = await createCustomerOnly(owner);
  proxy.hold(paymentsAtProcessor);
  const underWay = pay(owner, prerequisites, 'busy');
  await proxy.nextHeld();

  const other = await startTill({ in: 'process', on: backend });
  const impatient = new IdempotencyService({
    database: other.database,
    claims: new ClaimStore(10_000, 'installation'),
    ownerLock: other.ownerLock,
    clock: systemClock,
    crashPoints: noCrashPoints,
    logger: silentLogger,
    waitMs: 100,
  });
  const failure = await failureOf(
    impatient.run(
      {
        name: 'payments.create',
        parentIdOf: () => prerequisites.customerId,
        prepare: () => assert.fail('it was taken over'),
        call: () => assert.fail('it was called'),
        find: () => assert.fail('it was looked up'),
        record: () => assert.fail('it was recorded'),
        release: () => assert.fail('it was released'),
        replay: () => assert.fail('it was replayed'),
      },
      { ...payments.body(prerequisites), currency: 'eur' },
      { keyName: 'tests', key: 'busy' },
    ),
  );
  assert.equal(failure.code, 'idempotency_key_in_flight');
  assert.equal(failure.extras.retryAfterSeconds, 1);
  proxy.releaseAll();
  assert.equal((await underWay).status, 201);
  await assertCreatedOnce(backend, prerequisites, payments, 'busy');
});

test('a process never works twice at once on one claim, even past its lease', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const counter = await countStatements(backend);
  const till = await startTill({
    in: 'process',
    on: backend,
    databaseUrl: counter.databaseUrl,
    processorUrl: proxy.url,
  });
  const prerequisites = await createCustomerOnly(till);
  const before = proxy.seen.length;
  proxy.hold(paymentsAtProcessor);
  const first = pay(till, prerequisites, 'slow');
  await proxy.nextHeld();
  await endLeases(backend);
  // The second request has looked at the claim once, and found it taken, when it looks again. The first look names its
  // statement twice: to prepare it, and to run it.
  const looked = counter.sent('find_claim', 3);
  const second = pay(till, prerequisites, 'slow');
  await Promise.race([looked, proxy.nextHeld()]);
  proxy.releaseAll();
  assert.deepEqual([(await first).replayed, (await second).replayed], [false, true]);
  const calls = proxy.seen.slice(before).filter(({ method }) => method === 'POST');
  assert.equal(calls.length, 1);
});

test('two processes that work on one claim, because the first is slow, create one payment and one row', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const slow = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const quick = await startTill({ in: 'process', on: backend });
  const prerequisites = await createCustomerOnly(quick);
  proxy.hold(paymentsAtProcessor);
  const first = pay(slow, prerequisites, 'overtaken');
  await proxy.nextHeld();
  await endLeases(backend);
  const second = await pay(quick, prerequisites, 'overtaken');
  assert.equal(second.status, 201);
  proxy.releaseAll();
  assert.deepEqual((await first).body, second.body);
  await assertCreatedOnce(backend, prerequisites, payments, 'overtaken');
});

test('a subscription that was created before its plan was archived is still returned to the same request', async (t) => {
  const backend = await startBackend(t);
  const stuck = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  const pass = (crashPoint: string) => {
    if (crashPoint !== 'call.after') return undefined;
    called.resolve();
    return stuck.promise;
  };
  const survivor = await startTill({ in: 'process', on: backend });
  const prerequisites = await createPrerequisites(backend, survivor);
  const slow = await startTill({ in: 'process', on: backend, crashPoints: { pass } });
  const subscriptions = creationCase('subscriptions.create');
  const subscribe = (till: TillInProcess) =>
    till.tryPost(subscriptions.path(prerequisites), subscriptions.body(prerequisites), 'archived-meanwhile');
  const first = subscribe(slow);
  await called.promise;
  await endLeases(backend);
  assert.equal((await survivor.tryPost(`/plans/${prerequisites.planId}/archive`, {})).status, 200);
  const second = await subscribe(survivor);
  assert.equal(second.status, 201, JSON.stringify(second.body));
  stuck.resolve();
  assert.equal((await first).status, 201);
  await assertCreatedOnce(backend, prerequisites, subscriptions, 'archived-meanwhile');
});

test('an operation of Till alone happens once, even if its request is overtaken before it writes', async (t) => {
  const backend = await startBackend(t);
  const [stuck, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const pass = async (crashPoint: string) => {
    if (crashPoint !== 'record.before') return;
    reached.resolve();
    await stuck.promise;
  };
  const slow = await startTill({ in: 'process', on: backend, crashPoints: { pass } });
  const quick = await startTill({ in: 'process', on: backend });
  const { id } = await quick.post<{ id: string }>('/event-endpoints', { url: 'https://shop.example.com/' });
  const rotate = (till: TillInProcess) =>
    till.tryPost(`/event-endpoints/${id}/rotate-secret`, {}, 'rotated-once');
  const first = rotate(slow);
  await reached.promise;
  await endLeases(backend);
  const second = await rotate(quick);
  stuck.resolve();
  assert.deepEqual([second.status, second.replayed], [200, false]);
  const repeated = await first;
  assert.deepEqual([repeated.status, repeated.replayed, repeated.body['secret']], [200, true, null]);
  const [endpoint] = await backend.sql<{ count: number }>(
    'select jsonb_array_length(replaced_secrets) as count from till.event_endpoints',
  );
  assert.equal(endpoint?.count, 1);
});

test('an overtaken request frees nothing when its own call is refused', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const slow = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const quick = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const prerequisites = await createPrerequisites(backend, quick);
  proxy.hold('/v1/refunds');
  const refund = (till: TillInProcess) =>
    till.tryPost(refunds.path(prerequisites), refunds.body(prerequisites), 'refused-late');
  const first = refund(slow);
  const heldFirst = await proxy.nextHeld();
  await endLeases(backend);
  const second = refund(quick);
  const heldSecond = await proxy.nextHeld();
  await backend.setFault({ operation: 'refunds.create', kind: 'error', status: 402 });
  heldFirst.release();
  assert.equal((await first).status, 409);
  assert.equal(await claimStatus(backend, 'refunds.create', 'refused-late'), 'open');
  assert.equal(await refunds.countRows(backend, prerequisites), 1, 'the reservation is the other one’s');
  heldSecond.release();
  assert.equal((await second).status, 200);
  await assertCreatedOnce(backend, prerequisites, refunds, 'refused-late');
});

test('two processes that both find that the processor has forgotten the idempotency key continue with one new key', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  const slow = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const quick = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  const prerequisites = await createCustomerOnly(quick);
  await backend.setFault({ operation: 'payment_intents.create', kind: 'reset_before' });
  assert.equal((await pay(hasty, prerequisites, 'forgotten')).status, 503);
  await backend.sql(
    `update till.idempotency_claims set attempted_at = now() - interval '1 day' where completed_at is null`,
  );
  proxy.hold(paymentsAtProcessor, 'GET');
  const first = pay(slow, prerequisites, 'forgotten');
  const firstLookUp = await proxy.nextHeld();
  await endLeases(backend);
  const second = pay(quick, prerequisites, 'forgotten');
  const secondLookUp = await proxy.nextHeld();
  // Both have looked, and found nothing, before either goes on.
  proxy.hold(paymentsAtProcessor);
  firstLookUp.release();
  assert.equal((await first).status, 409);
  secondLookUp.release();
  const write = await proxy.nextHeld();
  assert.match(write.idempotencyKey ?? '', /-2$/);
  proxy.releaseAll();
  assert.equal((await second).status, 201);
  await assertCreatedOnce(backend, prerequisites, payments, 'forgotten');
});

test('what cannot be recorded is left for the next request, at any process', async (t) => {
  const backend = await startBackend(t);
  const broken = await startTill({ in: 'process', on: backend });
  const other = await startTill({ in: 'process', on: backend });
  const prerequisites = await createCustomerOnly(broken);
  await backend.sql(`alter table till.payments add constraint out_of_order check (false) not valid`);
  assert.equal((await pay(broken, prerequisites, 'unrecorded')).status, 500);
  await backend.sql('alter table till.payments drop constraint out_of_order');
  // A lease that still ran would have to be waited for: for a day.
  await backend.sql(`update till.idempotency_claims set leased_until = leased_until + interval '1 day'
    where leased_until > now() and completed_at is null`);
  assert.equal((await pay(other, prerequisites, 'unrecorded')).status, 201);
  await assertCreatedOnce(backend, prerequisites, payments, 'unrecorded');
});
