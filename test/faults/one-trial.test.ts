import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Backend, startBackend } from '../support/backend.ts';
import type { Answer, Client } from '../support/client.ts';
import { crashPoints } from '../support/crash-points.ts';
import { killAmid } from '../support/doomed-tills.ts';
import { effort } from '../support/effort.ts';
import { inTurn } from '../support/in-turn.ts';
import { createCustomer, createPlan } from '../support/objects.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { countStatements } from '../support/statement-counter.ts';
import { startTill } from '../support/till.ts';

const path = '/subscriptions';
const processorPath = '/v1/subscriptions';

/** A new customer, and an order of theirs to a plan without a group. */
async function createScene(till: Client) {
  const { id: customerId, processorCustomerId } = await createCustomer(till);
  const { id: planId } = await createPlan(till);
  return { processorCustomerId, order: { customerId, planId, trialPeriodDays: 14, trialOnce: true } };
}

type Scene = Awaited<ReturnType<typeof createScene>>;

function hasTrial({ status, body }: Answer): boolean {
  assert.equal(status, 201, JSON.stringify(body));
  return Object(body['subscription']).trialEnd !== null;
}

/** One of the customer's subscriptions has a trial, and nothing is reserved. */
async function assertOneTrial({ stripe, sql }: Backend, scene: Scene, subscriptions: number): Promise<void> {
  const { data } = await stripe.subscriptions.list({ customer: scene.processorCustomerId, status: 'all' });
  assert.equal(data.length, subscriptions);
  assert.equal(data.filter(({ trial_end: end }) => end !== null).length, 1);
  const reserved = 'select * from till.group_reservations where customer_id = $1';
  assert.deepEqual(await sql(reserved, [scene.order.customerId]), []);
}

test('a request for the only trial waits for one at another process, and gets no second trial', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const counter = await countStatements(backend);
  const processorUrl = proxy.url;
  const [first, second] = [
    await startTill({ in: 'process', on: backend, processorUrl }),
    await startTill({ in: 'process', on: backend, processorUrl, databaseUrl: counter.databaseUrl }),
  ];
  const scene = await createScene(first);
  const elsewhere = { ...scene.order, planId: (await createPlan(first)).id };
  proxy.hold(processorPath);
  const winning = first.tryPost(path, scene.order);
  const respond = await (await proxy.nextHeld()).holdResponse();
  const losing = second.tryPost(path, scene.order);
  // It looks at the claim of the first request, and does not call the processor.
  const isWaiting = counter.sent('from till.idempotency_claims where resource_id', 1);
  const nextHeld = proxy.nextHeld();
  assert.equal(
    await Promise.race([isWaiting, nextHeld]),
    undefined,
    'the second request calls the processor',
  );
  // The trial of another plan is another trial.
  const other = first.tryPost(path, elsewhere);
  (await nextHeld).release();
  assert.ok(hasTrial(await other));
  respond();
  assert.ok(hasTrial(await winning));
  (await proxy.nextHeld()).release();
  assert.ok(!hasTrial(await losing));
  const { data } = await backend.stripe.subscriptions.list({ customer: scene.processorCustomerId });
  assert.equal(data.length, 3);
});

test('many requests for the only trial at two processes at once are all created, one of them with it', async (t) => {
  const backend = await startBackend(t);
  const tills = [
    await startTill({ in: 'process', on: backend }),
    await startTill({ in: 'process', on: backend }),
  ] as const;
  const scene = await createScene(tills[0]);
  const storm = () =>
    Promise.all(
      tills.flatMap((till, process) =>
        [0, 1, 2].map((index) => till.tryPost(path, scene.order, `${process}-${index}`)),
      ),
    );
  const responses = await storm();
  assert.equal(responses.filter(hasTrial).length, 1);
  assert.deepEqual((await storm()).map(hasTrial), responses.map(hasTrial));
  await assertOneTrial(backend, scene, responses.length);
});

test('a request that was killed anywhere gets the same trial when it is repeated, and no other request gets one', async (t) => {
  const walks = await inTurn(crashPoints, async (crashPoint) => {
    const backend = await startBackend(t);
    const till = await startTill({ in: 'process', on: backend });
    return { crashPoint, backend, till, scene: await createScene(till), key: `doomed-${crashPoint}` };
  });
  await killAmid(
    walks.map(({ backend, crashPoint, scene, key }) => ({
      on: backend,
      crashAt: crashPoint,
      requests: [{ send: (till) => till.tryPost(path, scene.order, key) }],
    })),
  );
  for (const { crashPoint, backend, till, scene, key } of walks) {
    await t.test(`killed at ${crashPoint}`, async () => {
      const orders = [key, `${key}-other`].map((each) => till.tryPost(path, scene.order, each));
      const [resumed, other] = (await Promise.all(orders)).map(hasTrial);
      const wasAdmitted = !['claim.before', 'claim.prepared'].includes(crashPoint);
      assert.ok(wasAdmitted ? resumed && !other : resumed !== other);
      assert.equal(hasTrial(await till.tryPost(path, scene.order, key)), resumed);
      await assertOneTrial(backend, scene, 2);
    });
  }
});

test('another request finds the trial that a killed one got, before any webhook', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  const scene = await createScene(till);
  const send = (doomed: Client) => doomed.tryPost(path, scene.order);
  await killAmid([{ on: backend, crashAt: 'call.after', requests: [{ send }] }]);
  assert.ok(!hasTrial(await till.tryPost(path, scene.order)));
  await assertOneTrial(backend, scene, 2);
});

test('a killed request that created nothing keeps the trial until the sweeper gives it up', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  const scene = await createScene(till);
  const send = (doomed: Client) => doomed.tryPost(path, scene.order, 'doomed');
  await killAmid([{ on: backend, crashAt: 'call.before', requests: [{ send }] }]);
  // That takes ten seconds.
  if (effort({ short: false, long: true })) {
    const refused = await till.tryPost(path, scene.order);
    assert.deepEqual([refused.status, refused.body['code']], [409, 'idempotency_key_in_flight']);
  }
  await backend.sql(
    `update till.idempotency_claims set attempted_at = attempted_at - interval '11 minutes',
       leased_until = leased_until - interval '11 minutes' where completed_at is null`,
  );
  await till.services.sweeper.sweep();
  assert.ok(hasTrial(await till.tryPost(path, scene.order)));
  assert.ok(!hasTrial(await till.tryPost(path, scene.order, 'doomed')));
  await assertOneTrial(backend, scene, 2);
});

test('a refused request leaves the trial to the next one', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  const scene = await createScene(till);
  const refused = await till.tryPost(path, { ...scene.order, promotionCode: 'unknown' });
  assert.deepEqual([refused.status, refused.body['code']], [422, 'promotion_code_invalid']);
  const refusedThere = await till.tryPost(path, { ...scene.order, paymentMethodId: 'pm_unknown' });
  assert.equal(refusedThere.status, 404);
  assert.ok(hasTrial(await till.tryPost(path, scene.order)));
  await assertOneTrial(backend, scene, 1);
});
