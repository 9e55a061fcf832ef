import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { CrashPoints } from '#engine/idempotency/claim.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import type { Answer } from '../support/client.ts';
import {
  assertCreatedOnce,
  type CreationCase,
  claimStatus,
  createCustomerOnly,
  createPrerequisites,
  creationCase,
  type Prerequisites,
} from '../support/creation-cases.ts';
import { effort } from '../support/effort.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { countStatements } from '../support/statement-counter.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';

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
/** Longer than all turns of the requests that wait take on a slow machine. */
const patience = { requestDeadlineMs: 600_000, claimWaitMs: 300_000 };
const fewWaiters = 2;
const manyWaiters = effort({ short: 40, long: 100 });

function prepare(creation: CreationCase, backend: Backend, till: TillInProcess): Promise<Prerequisites> {
  return creation === payments ? createCustomerOnly(till) : createPrerequisites(backend, till);
}

function send(
  till: TillInProcess,
  creation: CreationCase,
  prerequisites: Prerequisites,
  key: string,
): Promise<Answer> {
  return till.tryPost(creation.path(prerequisites), creation.body(prerequisites), key);
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

/** In the short form one kind of creation for each, because waiting does not depend on it. */
const storms = (['same process', 'other process'] as const).flatMap((where, place) =>
  effort({ short: cases.slice(place, place + 1), long: [...cases] }).map((one) => ({ where, ...one })),
);

for (const { where, creation, atProcessor } of storms) {
  test(`${creation.operation}, held by a request of the ${where}: many waiting requests cost the database as little as two`, async (t) => {
    const backend = await startBackend(t);
    const proxy = await startProcessorProxy(backend);
    const counter = await countStatements(backend);
    const { crashPoints, arrived } = arrivals();
    const counted = { ...backend, databaseUrl: counter.databaseUrl };
    const options = { processorUrl: proxy.url, ...patience };
    const waiting = await startTill({ in: 'process', on: counted, crashPoints, ...options });
    const owner =
      where === 'same process' ? waiting : await startTill({ in: 'process', on: backend, ...options });
    const statements: number[] = [];
    for (const waiters of [fewWaiters, manyWaiters]) {
      const prerequisites = await prepare(creation, backend, owner);
      const key = `storm-of-${waiters}`;
      proxy.hold(atProcessor);
      const first = send(owner, creation, prerequisites, key);
      await proxy.nextHeld();
      const allArrived = arrived(waiters);
      const others = Array.from({ length: waiters }, () => send(waiting, creation, prerequisites, key));
      await allArrived;
      // After the statements that they send on arrival.
      await waiting.tryGet(`/customers/${prerequisites.customerId}`);
      await setTimeout(windowMs);
      const before = counter.count();
      await setTimeout(windowMs);
      statements.push(counter.count() - before);
      proxy.releaseAll();
      const responses = await Promise.all([first, ...others]);
      assert.deepEqual([...new Set(responses.map(({ status }) => status))], [creation.status]);
      assert.equal(new Set(responses.map(creation.idOf)).size, 1);
      assert.equal(responses.filter(({ replayed }) => !replayed).length, 1);
      await assertCreatedOnce(backend, prerequisites, creation, key);
    }
    t.diagnostic(`statements per second with ${fewWaiters} and ${manyWaiters} waiting: ${statements}`);
    for (const count of statements) assert.ok(count <= statementsPerWindowMax, `${statements}`);
  });
}

test('a different request with an idempotency key in use is refused at once, even among many that wait', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const { crashPoints, arrived } = arrivals();
  const tills = [
    await startTill({ in: 'process', on: backend, processorUrl: proxy.url, crashPoints }),
    await startTill({ in: 'process', on: backend, processorUrl: proxy.url, crashPoints }),
  ] as const;
  for (const { creation, atProcessor } of cases) {
    const prerequisites = await prepare(creation, backend, tills[0]);
    proxy.hold(atProcessor);
    const first = send(tills[0], creation, prerequisites, 'in-use');
    await proxy.nextHeld();
    const allArrived = arrived(10);
    const others = tills.flatMap((till) =>
      Array.from({ length: 5 }, () => send(till, creation, prerequisites, 'in-use')),
    );
    await allArrived;
    for (const till of tills) {
      // The first request is still held back. If this one waited, it would wait for ten seconds, and get a 409.
      const body = { ...creation.body(prerequisites), amount: 1_234 };
      const different = await till.tryPost(creation.path(prerequisites), body, 'in-use');
      assert.equal(different.status, 422, JSON.stringify(different.body));
      assert.equal(different.body['code'], 'idempotency_key_reused');
    }
    proxy.releaseAll();
    const statuses = (await Promise.all([first, ...others])).map(({ status }) => status);
    assert.deepEqual([...new Set(statuses)], [creation.status]);
    await assertCreatedOnce(backend, prerequisites, creation, 'in-use');
  }
});

test('each request that waits for one that the processor refuses gets its own turn', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const { crashPoints, arrived } = arrivals();
  const options = { processorUrl: proxy.url, crashPoints, ...patience };
  const till = await startTill({ in: 'process', on: backend, ...options });
  const other = await startTill({ in: 'process', on: backend, ...options });
  const prerequisites = await createCustomerOnly(till);
  proxy.hold('/v1/payment_intents');
  const tooSmall = { ...payments.body(prerequisites), amount: 1 };
  const first = till.tryPost('/payments', tooSmall, 'refused');
  await proxy.nextHeld();
  const allArrived = arrived(20);
  const waiting = Array.from({ length: 20 }, (_, index) =>
    (index % 2 === 0 ? till : other).tryPost('/payments', tooSmall, 'refused'),
  );
  await allArrived;
  proxy.releaseAll();
  const responses = await Promise.all([first, ...waiting]);
  assert.deepEqual([...new Set(responses.map(({ body }) => body['code']))], ['processor_rejected']);
  assert.equal(await claimStatus(backend, 'payments.create', 'refused'), 'none');
});

for (const [why, end] of [
  ['its process is gone', (owner: TillInProcess) => owner.ownerLock.close()],
  [
    'its lease runs out',
    (_: TillInProcess, backend: { readonly sql: (text: string) => Promise<unknown> }) =>
      backend.sql(
        `update till.idempotency_claims set leased_until = now() - interval '1 second' where completed_at is null`,
      ),
  ],
] as const) {
  test(`a claim is taken over by a request that is already waiting for it once ${why}`, async (t: TestContext) => {
    const backend = await startBackend(t);
    const proxy = await startProcessorProxy(backend);
    const { crashPoints, arrived } = arrivals();
    const owner = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
    const waiting = await startTill({ in: 'process', on: backend, crashPoints });
    const prerequisites = await createCustomerOnly(waiting);
    proxy.hold('/v1/payment_intents');
    const first = send(owner, payments, prerequisites, 'orphaned');
    await proxy.nextHeld();
    await backend.sql(`update till.idempotency_claims set leased_until = now() + interval '1 day'`);
    const allArrived = arrived(10);
    const others = Array.from({ length: 10 }, () => send(waiting, payments, prerequisites, 'orphaned'));
    await allArrived;
    await end(owner, backend);
    const responses = await Promise.all(others);
    assert.deepEqual([...new Set(responses.map(({ status }) => status))], [201]);
    assert.equal(responses.filter(({ replayed }) => !replayed).length, 1);
    proxy.releaseAll();
    assert.equal((await first).status, 201);
    await assertCreatedOnce(backend, prerequisites, payments, 'orphaned');
  });
}
