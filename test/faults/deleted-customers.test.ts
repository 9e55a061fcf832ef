import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CrashPoint } from '#engine/idempotency/claim.ts';
import { type Backend, startBackend } from '../support/backend.ts';
import { createCheckout, pages, readCheckout } from '../support/checkouts.ts';
import type { Answer, Client } from '../support/client.ts';
import { killAmid } from '../support/doomed-tills.ts';
import { inTurn } from '../support/in-turn.ts';
import { createCustomer, createPlan } from '../support/objects.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { countStatements } from '../support/statement-counter.ts';
import { startTill } from '../support/till.ts';
import { triesPerCall } from '../support/till-in-process.ts';

const path = '/checkouts';
const processorPath = '/v1/checkout/sessions';

/** A new customer, and their order of a plan of a group. */
async function createScene(till: Client) {
  const { id: customerId, processorCustomerId } = await createCustomer(till);
  const { id: planId } = await createPlan(till, { group: 'base' });
  return { customerId, processorCustomerId, order: { ...pages, customerId, planId, metadata: { a: 'b' } } };
}

type Scene = Awaited<ReturnType<typeof createScene>>;

async function remove(till: Client, { customerId }: Scene): Promise<number> {
  return (await till.call('DELETE', `/customers/${customerId}`)).status;
}

/** Nothing of the customer is open or reserved, here and at the processor. */
async function assertNothingOpen({ stripe, sql }: Backend, scene: Scene, sessions = 1): Promise<void> {
  const { data } = await stripe.checkout.sessions.list({ customer: scene.processorCustomerId });
  const expired = Array.from({ length: sessions }, () => 'expired');
  assert.deepEqual(
    data.map(({ status }) => status),
    expired,
  );
  const rows = await sql<{ status: string }>('select status from till.checkouts where customer_id = $1', [
    scene.customerId,
  ]);
  assert.deepEqual(
    rows.map(({ status }) => status),
    expired,
  );
  const reserved = 'select * from till.group_reservations where customer_id = $1';
  assert.deepEqual(await sql(reserved, [scene.customerId]), []);
}

function assertExpired({ status, body }: Answer): void {
  assert.deepEqual([status, Object(body['checkout']).status, body['url']], [201, 'expired', null]);
}

/** Two processes, of which the first reaches the processor through a proxy. */
async function startPlace(t: TestContext) {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const slow = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  return { backend, proxy, slow, till: await startTill({ in: 'process', on: backend }) };
}

test('a checkout whose creation ends after the deletion of its customer is expired', async (t) => {
  const { backend, proxy, slow, till } = await startPlace(t);
  const scene = await createScene(till);
  proxy.holdOne(processorPath);
  const creating = slow.tryPost(path, scene.order, 'order');
  const respond = await (await proxy.nextHeld()).holdResponse();
  assert.equal(await remove(till, scene), 204);
  respond();
  assertExpired(await creating);
  await assertNothingOpen(backend, scene);
  assertExpired(await till.tryPost(path, scene.order, 'order'));
});

test('a checkout that is created before the processor deletes its customer is expired', async (t) => {
  const { backend, proxy, slow, till } = await startPlace(t);
  const scene = await createScene(till);
  proxy.holdOne(`/v1/customers/${scene.processorCustomerId}`, 'DELETE');
  const removing = remove(slow, scene);
  const held = await proxy.nextHeld();
  await createCheckout(till, scene.order);
  held.release();
  assert.equal(await removing, 204);
  await assertNothingOpen(backend, scene);
});

test('a checkout that cannot be expired at the end of the deletion is expired by the next read', async (t) => {
  const { backend, proxy, slow, till } = await startPlace(t);
  const scene = await createScene(till);
  proxy.holdOne(`/v1/customers/${scene.processorCustomerId}`, 'DELETE');
  const removing = remove(slow, scene);
  const held = await proxy.nextHeld();
  const { checkout } = await createCheckout(till, scene.order);
  const failure = { kind: 'error', status: 500, times: 2 * triesPerCall } as const;
  await backend.setFault({ operation: 'checkout_sessions.expire', ...failure });
  held.release();
  assert.equal(await removing, 204);
  await backend.clearFaults();
  const { status, body } = await till.tryGet(`${path}/${checkout.id}`);
  assert.deepEqual([status, Object(body['checkout']).status], [200, 'expired']);
  await assertNothingOpen(backend, scene);
});

test('404: a checkout that begins before the deletion, and reaches the processor after it', async (t) => {
  const { backend, proxy, slow, till } = await startPlace(t);
  const scene = await createScene(till);
  proxy.holdOne(processorPath);
  const creating = slow.tryPost(path, scene.order);
  const held = await proxy.nextHeld();
  assert.equal(await remove(till, scene), 204);
  held.release();
  assert.equal((await creating).status, 404);
  await assertNothingOpen(backend, scene, 0);
});

/** Stops every request of a Till at a crash point, from now on. */
function createGate() {
  const [reached, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let at: CrashPoint | undefined;
  return {
    crashPoints: {
      pass: async (point: CrashPoint) => {
        if (point !== at) return;
        reached.resolve();
        await opened.promise;
      },
    },
    closeAt: (point: CrashPoint) => {
      at = point;
    },
    reached: reached.promise,
    open: () => opened.resolve(),
  };
}

test('a deletion amid the transaction that records a checkout waits for it, or is seen by it', async (t) => {
  const backend = await startBackend(t);
  const counter = await countStatements(backend);
  const till = await startTill({ in: 'process', on: backend, databaseUrl: counter.databaseUrl });
  for (const point of ['record.completed', 'record.row'] as const) {
    const gate = createGate();
    const { crashPoints } = gate;
    const recording = await startTill({ in: 'process', on: backend, crashPoints });
    const scene = await createScene(till);
    gate.closeAt(point);
    const creating = recording.tryPost(path, scene.order);
    await gate.reached;
    const isWaiting = counter.sent('processor_customer_id = $1 for update', 1);
    const removing = remove(till, scene);
    // At the first point, the transaction has not seen the customer yet.
    await (point === 'record.row' ? isWaiting : removing);
    gate.open();
    assert.equal((await creating).status, 201);
    assert.equal(await removing, 204);
    await assertNothingOpen(backend, scene);
  }
});

test('a checkout of a killed request is expired by what finds it after the deletion of its customer', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  const finders = {
    'the repeated request': async ({ order }: Scene) =>
      assertExpired(await till.tryPost(path, order, order.customerId)),
    'a resync of the customer': async ({ customerId }: Scene) => {
      await till.services.resync.ofCustomer(customerId);
    },
    'the sweeper': async () => {
      await backend.sql(
        `update till.idempotency_claims set leased_until = leased_until - interval '2 minutes'
         where completed_at is null`,
      );
      await till.services.sweeper.sweep();
    },
  };
  const walks = await inTurn(Object.keys(finders) as (keyof typeof finders)[], async (finder) => ({
    finder,
    scene: await createScene(till),
  }));
  await killAmid(
    walks.map(({ scene }) => ({
      on: backend,
      crashAt: 'call.after',
      requests: [{ send: (doomed) => doomed.tryPost(path, scene.order, scene.customerId) }],
    })),
  );
  for (const { scene } of walks) assert.equal(await remove(till, scene), 204);
  for (const { finder, scene } of walks)
    await t.test(finder, async () => {
      await finders[finder](scene);
      await assertNothingOpen(backend, scene);
    });
});

test('an open checkout whose customer is deleted elsewhere is expired by the next recovery', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  const scene = await createScene(till);
  const { checkout } = await createCheckout(till, scene.order);
  await backend.stripe.customers.del(scene.processorCustomerId);
  await till.settle();
  await backend.sql(`update till.checkouts set created_at = created_at - interval '11 minutes'`);
  await till.services.recovery.run();
  await assertNothingOpen(backend, scene);
  assert.equal((await readCheckout(till, checkout)).checkout.status, 'expired');
});
