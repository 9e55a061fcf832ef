import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Backend, startBackend } from '../support/backend.ts';
import {
  type CheckoutBody,
  completeCheckout,
  createCheckout,
  pages,
  readCheckout,
} from '../support/checkouts.ts';
import type { Client } from '../support/client.ts';
import { crashPoints } from '../support/crash-points.ts';
import { killAmid } from '../support/doomed-tills.ts';
import { inTurn } from '../support/in-turn.ts';
import { confirmSecret, createCustomer, createPlan, createSubscription } from '../support/objects.ts';
import { startTill } from '../support/till.ts';

const path = '/checkouts';

/** A customer, and two plans of one group. */
async function createScene(t: TestContext, group: string) {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  const { id: customerId, processorCustomerId } = await createCustomer(till);
  const [one, two] = [await createPlan(till, { group }), await createPlan(till, { group })];
  const order = { ...pages, customerId, planId: one.id };
  const other = { ...pages, customerId, planId: two.id };
  return { backend, till, customerId, processorCustomerId, order, other, key: `doomed-${group}` };
}

function doom(on: Backend, crashAt: string, send: (till: Client) => Promise<unknown>) {
  return { on, crashAt, requests: [{ send }] };
}

async function listSessions({ stripe }: Backend, customer: string) {
  return (await stripe.checkout.sessions.list({ customer, limit: 100 })).data;
}

async function listReserved({ sql }: Backend): Promise<readonly string[]> {
  const rows = await sql<{ id: string }>('select claim_id as id from till.group_reservations');
  return rows.map(({ id }) => id);
}

test('a grouped checkout that was killed anywhere is finished by the same request, and keeps the group', async (t) => {
  const walks = await inTurn(crashPoints, async (crashPoint) => ({
    crashPoint,
    ...(await createScene(t, crashPoint)),
  }));
  await killAmid(
    walks.map(({ backend, crashPoint, order, key }) =>
      doom(backend, crashPoint, (till) => till.tryPost(path, order, key)),
    ),
  );
  for (const { crashPoint, backend, till, processorCustomerId, order, other, key } of walks) {
    await t.test(`killed at ${crashPoint}`, async () => {
      const [resumed, shared] = await Promise.all([
        till.tryPost(path, order, key),
        till.tryPost(path, order, `${key}-tab`),
      ]);
      const ids = [resumed, shared].map(({ body }) => Object(body['checkout']).id);
      assert.equal(ids[0], ids[1], JSON.stringify([resumed.body, shared.body]));
      assert.equal((await listSessions(backend, processorCustomerId)).length, 1);
      assert.deepEqual(await listReserved(backend), [ids[0]]);
      // The checkout of the killed process makes way like any other.
      const replaced = await till.tryPost(path, other, `${key}-other`);
      assert.equal(replaced.status, 201, JSON.stringify(replaced.body));
      const next: CheckoutBody = Object(replaced.body['checkout']);
      assert.deepEqual(await listReserved(backend), [next.id]);
      await completeCheckout(backend, next);
      await till.settle();
      assert.deepEqual(await listReserved(backend), []);
      const late = await till.tryPost(path, order, `${key}-late`);
      assert.deepEqual([late.status, late.body['code']], [409, 'already_subscribed']);
    });
  }
});

test('a request that shared a checkout and was killed is refused once the checkout is paid', async (t) => {
  const walks = await inTurn(['claim.after', 'call.after', 'record.row'], async (crashPoint) => {
    const scene = await createScene(t, crashPoint);
    const { checkout } = await createCheckout(scene.till, scene.order);
    return { crashPoint, checkout, ...scene };
  });
  await killAmid(
    walks.map(({ backend, crashPoint, order, key }) =>
      doom(backend, crashPoint, (till) => till.tryPost(path, order, key)),
    ),
  );
  for (const { crashPoint, backend, till, checkout, processorCustomerId, order, key } of walks) {
    await completeCheckout(backend, checkout);
    await till.settle();
    const { subscriptionId } = (await readCheckout(till, checkout)).checkout;
    const late = await till.tryPost(path, order, key);
    assert.deepEqual([late.status, late.body['subscriptionId']], [409, subscriptionId], crashPoint);
    assert.equal((await listSessions(backend, processorCustomerId)).length, 1);
    assert.deepEqual(await listReserved(backend), []);
  }
});

test('a killed request whose checkout has ended meanwhile reserves nothing when it is resumed', async (t) => {
  const ends = ['completed', 'expired'] as const;
  const walks = await inTurn(ends, async (end) => ({ end, ...(await createScene(t, end)) }));
  await killAmid(
    walks.map(({ backend, order, key }) =>
      doom(backend, 'call.after', (till) => till.tryPost(path, order, key)),
    ),
  );
  for (const { end, backend, till, processorCustomerId, order, other, key } of walks) {
    const [session] = await listSessions(backend, processorCustomerId);
    const id = String(session?.id);
    if (end === 'completed') await backend.control(`checkout_sessions/${id}/complete`, {});
    else await backend.stripe.checkout.sessions.expire(id);
    // The event creates the row.
    await till.settle();
    const resumed = await till.tryPost(path, order, key);
    assert.equal(Object(resumed.body['checkout']).status, end, JSON.stringify(resumed.body));
    assert.deepEqual(await listReserved(backend), []);
    const next = await till.tryPost(path, other);
    assert.equal(next.status, end === 'completed' ? 409 : 201, JSON.stringify(next.body));
  }
});

test('a killed request is refused if the incomplete subscription that it would have ended is paid meanwhile', async (t) => {
  const scene = await createScene(t, 'incomplete');
  const { backend, till, customerId, processorCustomerId, order, other, key } = scene;
  const planId = other.planId;
  const { subscription, clientSecret } = await createSubscription(till, { customerId, planId });
  await killAmid([doom(backend, 'claim.after', (doomed) => doomed.tryPost(path, order, key))]);
  await confirmSecret(backend, clientSecret);
  await till.settle();
  const refused = await till.tryPost(path, order, key);
  assert.deepEqual([refused.status, refused.body['subscriptionId']], [409, subscription.id]);
  assert.deepEqual(await listSessions(backend, processorCustomerId), []);
});

test('an expiry that was killed is finished by repeating it', async (t) => {
  const { backend, till, order, other } = await createScene(t, 'expire');
  const { checkout } = await createCheckout(till, order);
  // The processor expires it, and the response is lost.
  await backend.setFault({ operation: 'checkout_sessions.expire', kind: 'reset_after', times: 3 });
  const lost = await till.tryPost(`${path}/${checkout.id}/expire`, {});
  assert.ok([200, 503].includes(lost.status), JSON.stringify(lost.body));
  await backend.clearFaults();
  const again = await till.tryPost(`${path}/${checkout.id}/expire`, {});
  assert.equal(Object(again.body['checkout']).status, 'expired');
  assert.deepEqual(await listReserved(backend), []);
  await createCheckout(till, other);
});
