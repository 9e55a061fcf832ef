import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Backend, cutsOf, startBackend } from '../support/backend.ts';
import { waitingItems } from '../support/changes.ts';
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
import { effort, rotation } from '../support/effort.ts';
import { inTurn } from '../support/in-turn.ts';
import { confirmSecret, createCustomer, createPlan, createSubscription } from '../support/objects.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { startTill } from '../support/till.ts';
import { backendEnvironment, quickCommand } from '../support/till-in-child.ts';

const path = '/checkouts';

async function startPlace(t: TestContext) {
  const backend = await startBackend(t);
  return { backend, till: await startTill({ in: 'process', on: backend }) };
}

type Place = Awaited<ReturnType<typeof startPlace>>;

/** A customer, and two plans of one group. */
async function createScene({ backend, till }: Place, group: string) {
  const { id: customerId, processorCustomerId } = await createCustomer(till);
  const [one, two] = [await createPlan(till, { group }), await createPlan(till, { group })];
  const order = { ...pages, customerId, planId: one.id };
  const other = { ...pages, customerId, planId: two.id };
  return { backend, till, customerId, processorCustomerId, order, other, key: `doomed-${group}` };
}

/** A customer, and one plan, which is a group of its own. */
async function createOwnScene({ backend, till }: Place, name: string) {
  const { id: customerId, processorCustomerId } = await createCustomer(till);
  const { id: planId } = await createPlan(till);
  const order = { ...pages, customerId, planId };
  const other = { ...order, quantity: 2 };
  return { backend, till, customerId, processorCustomerId, order, other, key: `doomed-${name}` };
}

const scenesOf = rotation([createScene, createOwnScene], 1);

function doom(on: Backend, crashAt: string, send: (till: Client) => Promise<unknown>) {
  return { on, crashAt, requests: [{ send }] };
}

async function listSessions({ stripe }: Backend, customer: string) {
  return (await stripe.checkout.sessions.list({ customer, limit: 100 })).data;
}

/** Of all customers, or of one. */
async function listReserved({ sql }: Backend, customerId?: string): Promise<readonly string[]> {
  const rows = await sql<{ id: string }>(
    'select claim_id as id from till.group_reservations where customer_id = coalesce($1, customer_id)',
    [customerId],
  );
  return rows.map(({ id }) => id);
}

test('a grouped checkout that was killed anywhere is finished by the same request, and keeps the group', async (t) => {
  const scenes = crashPoints.flatMap((crashPoint) => scenesOf().map((create) => ({ crashPoint, create })));
  const walks = await inTurn(scenes, async ({ crashPoint, create }) => ({
    crashPoint,
    ...(await create(await startPlace(t), crashPoint)),
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
  const met = effort({ short: ['call.after'], long: ['claim.after', 'call.after', 'record.row'] });
  const walks = await inTurn(met, async (crashPoint) => {
    const scene = await createScene(await startPlace(t), crashPoint);
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
  const place = await startPlace(t);
  const walks = await inTurn(ends, async (end) => ({ end, ...(await createScene(place, end)) }));
  await killAmid(
    walks.map(({ backend, order, key }) =>
      doom(backend, 'call.after', (till) => till.tryPost(path, order, key)),
    ),
  );
  for (const { end, backend, till, customerId, processorCustomerId, order, other, key } of walks) {
    const [session] = await listSessions(backend, processorCustomerId);
    const id = String(session?.id);
    if (end === 'completed') await backend.control(`checkout_sessions/${id}/complete`, {});
    else await backend.stripe.checkout.sessions.expire(id);
    // The event creates the row.
    await till.settle();
    const resumed = await till.tryPost(path, order, key);
    assert.equal(Object(resumed.body['checkout']).status, end, JSON.stringify(resumed.body));
    assert.deepEqual(await listReserved(backend, customerId), []);
    const next = await till.tryPost(path, other);
    assert.equal(next.status, end === 'completed' ? 409 : 201, JSON.stringify(next.body));
  }
});

test('a killed request is refused if the incomplete subscription that it would have ended is paid meanwhile', async (t) => {
  const scene = await createScene(await startPlace(t), 'incomplete');
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

test('a customer who is deleted while a killed request waits keeps no group, and the checkout ends', async (t) => {
  const { backend, till, customerId, processorCustomerId, order, key } = await createScene(
    await startPlace(t),
    'deleted',
  );
  await killAmid([doom(backend, 'call.after', (doomed) => doomed.tryPost(path, order, key))]);
  assert.equal((await till.call('DELETE', `/customers/${customerId}`)).status, 204);
  const repeated = await till.tryPost(path, order, key);
  assert.ok(repeated.status < 500, JSON.stringify(repeated.body));
  await backend.control('clock', { advanceSeconds: 86_400 + 60 });
  await backend.sql(
    `update till.idempotency_claims set attempted_at = attempted_at - interval '11 minutes',
       leased_until = leased_until - interval '11 minutes' where completed_at is null`,
  );
  await till.services.sweeper.sweep();
  await till.settle();
  const sessions = await listSessions(backend, processorCustomerId);
  assert.deepEqual(
    sessions.map(({ status }) => status),
    ['expired'],
  );
  assert.deepEqual(await backend.sql(`select from till.checkouts where status <> 'expired'`), []);
  assert.deepEqual(await listReserved(backend), []);
});

test('an expiry that was killed anywhere is finished by repeating it, and a payment wins', async (t) => {
  const backend = await startBackend(t);
  const till = await startTill({ in: 'process', on: backend });
  const proxy = await startProcessorProxy(backend);
  const environment = { ...backendEnvironment(backend), PROCESSOR_API_BASE: proxy.url };
  const doomed = await startTill({ in: 'child', environment, command: quickCommand });
  t.after(() => doomed.stop('SIGKILL'));
  const plans = [await createPlan(till, { group: 'base' }), await createPlan(till, { group: 'base' })];
  const sessionPath = ({ processorCheckoutSessionId: id }: CheckoutBody) => `/v1/checkout/sessions/${id}`;
  const beginExpiry = async (holdAt: 'expire' | 'read') => {
    const { id: customerId } = await createCustomer(till);
    const { checkout } = await createCheckout(till, { customerId, planId: plans[0]?.id });
    if (holdAt === 'expire') proxy.holdOne(`${sessionPath(checkout)}/expire`);
    else proxy.holdOne(sessionPath(checkout), 'GET');
    const response = doomed.tryPost(`${path}/${checkout.id}/expire`, {}).catch(() => undefined);
    return { checkout, response, held: await proxy.nextHeld() };
  };
  const unsent = await beginExpiry('expire');
  const expired = await beginExpiry('expire');
  await expired.held.holdResponse();
  const unread = await beginExpiry('read');
  const paid = await beginExpiry('expire');
  await completeCheckout(backend, paid.checkout);
  const paidAfter = await beginExpiry('expire');
  await doomed.stop('SIGKILL');
  await Promise.all([unsent, expired, unread, paid, paidAfter].map(({ response }) => response));
  await completeCheckout(backend, paidAfter.checkout);

  const ends = async ({ checkout }: { readonly checkout: CheckoutBody }) => {
    // From two processes at once.
    const responses = await Promise.all(
      [till, other].map(({ tryPost }) => tryPost(`${path}/${checkout.id}/expire`, {})),
    );
    return responses.map(({ body }) => body['code'] ?? Object(body['checkout']).status);
  };
  const other = await startTill({ in: 'process', on: backend });
  for (const one of [unsent, expired, unread]) {
    assert.deepEqual(await ends(one), ['expired', 'expired']);
    const { customerId } = one.checkout;
    await createCheckout(till, { customerId, planId: plans[1]?.id });
  }
  for (const one of [paid, paidAfter])
    assert.deepEqual(await ends(one), ['checkout_completed', 'checkout_completed']);
  assert.equal((await listReserved(backend)).length, 3);
});

test('an expiry in two processes and a payment, all at once, end as if they came one after the other', async (t) => {
  const backend = await startBackend(t);
  const proxy = await startProcessorProxy(backend);
  const processorUrl = proxy.url;
  const tills = [
    await startTill({ in: 'process', on: backend, processorUrl }),
    await startTill({ in: 'process', on: backend, processorUrl }),
  ] as const;
  const [till] = tills;
  const plan = await createPlan(till, { group: 'base' });
  for (let race = 0; race < effort({ short: 4, long: 100 }); race += 1) {
    const { id: customerId } = await createCustomer(till);
    const { checkout } = await createCheckout(till, { customerId, planId: plan.id });
    proxy.hold(`/v1/checkout/sessions/${checkout.processorCheckoutSessionId}/expire`);
    const expiries = tills.map(({ tryPost }) => tryPost(`${path}/${checkout.id}/expire`, {}));
    const [first, second] = [await proxy.nextHeld(), await proxy.nextHeld()];
    // In every second race, the processor has expired it, and Till does not know it yet.
    const respond = race % 2 === 0 ? first.release : await first.holdResponse();
    // The processor refuses to complete what has expired.
    const paying = completeCheckout(backend, checkout).catch(() => 'expired');
    respond();
    second.release();
    const status = (await paying) === 'complete' ? 'completed' : 'expired';
    const responses = (await Promise.all(expiries)).map(({ body }) => body);
    proxy.releaseAll();
    const row = (await readCheckout(till, checkout)).checkout;
    assert.equal(row.status, status);
    if (race % 2 === 1) assert.equal(status, 'expired');
    const expected = status === 'completed' ? ['checkout_completed', row.subscriptionId] : ['expired', null];
    for (const body of responses) {
      const outcome = body['code'] ?? Object(body['checkout']).status;
      assert.deepEqual([outcome, body['subscriptionId'] ?? null], expected);
    }
  }
  await till.settle();
  assert.deepEqual(await listReserved(backend), []);
});

test('a checkout that dies while it replaces a subscription leaves the customer an item of its invoice, once', async (t) => {
  const backend = await startBackend(t);
  const hasty = await startTill({ in: 'process', on: backend, limits: { retriesMax: 0 } });
  for (const operation of ['invoices.void', 'subscriptions.cancel', 'invoiceitems.create'])
    for (const kind of cutsOf(operation))
      await t.test(`${operation} ${kind}`, async () => {
        const group = `replaced-${operation}-${kind}`;
        const scene = await createScene({ backend, till: hasty }, group);
        const { customerId, processorCustomerId: customer, order, other, key } = scene;
        const fee = { customer, amount: 25_000, currency: 'eur' };
        await backend.stripe.invoiceItems.create(fee);
        const { planId } = other;
        const { subscription } = await createSubscription(hasty, { customerId, planId });
        await backend.setFault({ operation, kind });
        const broken = await hasty.tryPost(path, order, key);
        // Once the subscription is canceled, the event of the voided invoice is enough.
        const isCanceled = operation === 'invoiceitems.create';
        assert.equal(broken.status, isCanceled ? 201 : 503, JSON.stringify(broken.body));
        const repeated = await hasty.tryPost(path, order, key);
        assert.equal(repeated.status, 201, JSON.stringify(repeated.body));
        for (let times = 0; times < 2; times += 1) {
          await hasty.settle();
          const waiting = await waitingItems(backend, subscription);
          assert.deepEqual(
            waiting.map(({ amount }) => amount),
            [fee.amount],
          );
        }
      });
});
