/**
 * A failover or a restored backup loses an open checkout or a new subscription, with its claim and its reservation. The
 * customer clicks again, and there is still at most one page or subscription of the group that can be paid.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Backend, startBackend } from '../support/backend.ts';
import {
  type CheckoutBody,
  completeCheckout,
  createCheckout,
  type OpenedBody,
  pages,
  readCheckout,
} from '../support/checkouts.ts';
import type { Answer } from '../support/client.ts';
import { crashPoints } from '../support/crash-points.ts';
import { killAmid } from '../support/doomed-tills.ts';
import { inTurn } from '../support/in-turn.ts';
import {
  confirmIntent,
  createCustomer,
  createPlan,
  createSubscription,
  intentOf,
  readSubscription,
} from '../support/objects.ts';
import { type ProcessorProxy, startProcessorProxy } from '../support/processor-proxy.ts';
import { takeSnapshot } from '../support/snapshots.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { until } from '../support/until.ts';
import type { WholeTill } from '../support/whole-till.ts';
import { startLossyStage, waysBut } from './rig/lossy-stage.ts';

/** More than the processor lists on one page. */
const otherSessions = 101;

interface Scene {
  readonly backend: Backend;
  readonly customerId: string;
  readonly processorCustomerId: string;
  /** Requests for two plans of one group. */
  readonly order: typeof pages & { readonly customerId: string; readonly planId: string };
  readonly other: Scene['order'];
}

/** Does something whose rows are lost. Two processes then serve the restored database, and recovery has not run. */
async function loseWork<Lost>(
  t: TestContext,
  work: (till: TillInProcess, scene: Scene) => Promise<Lost>,
  prepare: (till: TillInProcess, scene: Scene) => Promise<unknown> = async () => {},
) {
  const backend = await startBackend(t);
  const before = await startTill({ in: 'process', on: backend });
  const { id: customerId, processorCustomerId } = await createCustomer(before);
  const group = 'main';
  const plans = [await createPlan(before, { group }), await createPlan(before, { group })] as const;
  const [order, other] = plans.map(({ id: planId }) => ({ ...pages, customerId, planId }));
  assert(order && other);
  const scene: Scene = { backend, customerId, processorCustomerId, order, other };
  await prepare(before, scene);
  await before.settle();
  await before.services.recovery.run();
  await before.stop();
  const snapshot = await takeSnapshot(backend);
  const till = await startTill({ in: 'process', on: backend });
  const lost = await work(till, scene);
  await till.stop();
  await snapshot.restore();
  const proxy = await startProcessorProxy(backend);
  const start = () => startTill({ in: 'process', on: backend, processorUrl: proxy.url });
  return { ...scene, lost, proxy, tills: [await start(), await start()] as const };
}

/** What the customer can still pay, or already pays, by the processor's ids. */
async function listPayable({ stripe }: Backend, customer: string): Promise<readonly string[]> {
  const sessions = await stripe.checkout.sessions.list({ customer, status: 'open', limit: 100 });
  const subscriptions = await stripe.subscriptions.list({ customer, limit: 100 });
  const live = subscriptions.data.filter(({ status }) => status !== 'incomplete_expired');
  return [...sessions.data, ...live].map(({ id }) => id);
}

const idOf = ({ body }: Answer): unknown => Object(body['checkout']).id;

/** Lists of the processor that were read. */
function listingsOf({ seen }: ProcessorProxy): number {
  const lists = ['/v1/checkout/sessions', '/v1/subscriptions'];
  return seen.filter(({ method, path }) => method === 'GET' && lists.includes(path)).length;
}

test('a second click gets the page whose row was lost, and other terms expire it, at two processes at once', async (t) => {
  const { backend, processorCustomerId, order, other, lost, tills } = await loseWork(t, (till, { order }) =>
    createCheckout(till, order),
  );
  const clicks = await Promise.all([...tills, ...tills].map((till) => till.tryPost('/checkouts', order)));
  for (const click of clicks) {
    assert.equal(click.status, 200, JSON.stringify(click.body));
    assert.deepEqual([idOf(click), click.body['url']], [lost.checkout.id, lost.url]);
  }
  const changed = await Promise.all(tills.map((till) => till.tryPost('/checkouts', other)));
  assert.deepEqual(changed.map(({ status }) => status).toSorted(), [200, 201]);
  assert.equal(new Set(changed.map(idOf)).size, 1);
  assert.equal((await readCheckout(tills[0], lost.checkout)).checkout.status, 'expired');
  assert.equal((await listPayable(backend, processorCustomerId)).length, 1);
});

test('other terms expire a lost page, and so do POST and PATCH of a subscription', async (t) => {
  await t.test('a checkout with other terms', async (t) => {
    const { backend, processorCustomerId, other, lost, tills } = await loseWork(t, (till, { order }) =>
      createCheckout(till, order),
    );
    const clicks = await Promise.all(tills.map((till) => till.tryPost('/checkouts', other)));
    assert.deepEqual(clicks.map(({ status }) => status).toSorted(), [200, 201]);
    const payable = await listPayable(backend, processorCustomerId);
    assert.equal(payable.length, 1);
    assert.notEqual(payable[0], lost.checkout.processorCheckoutSessionId);
  });
  await t.test('POST of a subscription', async (t) => {
    const { backend, processorCustomerId, order, tills } = await loseWork(t, (till, { order }) =>
      createCheckout(till, order),
    );
    const { subscription } = await createSubscription(tills[0], justSubscription(order));
    assert.deepEqual(await listPayable(backend, processorCustomerId), [subscription.processorSubscriptionId]);
  });
  await t.test('PATCH of a subscription of another group', async (t) => {
    let planId = '';
    let id = '';
    const { backend, processorCustomerId, order, tills } = await loseWork(
      t,
      (till, { order }) => createCheckout(till, order),
      async (till, { customerId }) => {
        planId = (await createPlan(till)).id;
        const { subscription, clientSecret } = await createSubscription(till, { customerId, planId });
        await confirmIntent(till, intentOf(clientSecret));
        ({ id } = subscription);
      },
    );
    const changed = await tills[0].tryPatch(`/subscriptions/${id}`, { planId: order.planId });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    const { processorSubscriptionId } = await readSubscription(tills[0], { id });
    assert.deepEqual(await listPayable(backend, processorCustomerId), [processorSubscriptionId]);
  });
});

test('a page that was paid in the lost part is a subscription, which later requests name', async (t) => {
  const { backend, processorCustomerId, order, other, lost, tills } = await loseWork(
    t,
    async (till, { backend, order }) => {
      const { checkout } = await createCheckout(till, order);
      await completeCheckout(backend, checkout);
      return (await readCheckout(till, checkout)).checkout;
    },
  );
  const requests = [
    tills[0].tryPost('/checkouts', order),
    tills[1].tryPost('/checkouts', other),
    tills[0].tryPost('/subscriptions', justSubscription(other)),
  ];
  for (const { status, body } of await Promise.all(requests)) {
    assert.deepEqual([status, body['code']], [409, 'already_subscribed'], JSON.stringify(body));
    assert.equal(body['subscriptionId'], lost.subscriptionId);
  }
  assert.equal((await listPayable(backend, processorCustomerId)).length, 1);
});

test('a lost subscription whose first invoice is open is named, and ended before a page is opened', async (t) => {
  const { backend, processorCustomerId, order, other, lost, tills } = await loseWork(t, (till, { order }) =>
    createSubscription(till, justSubscription(order)),
  );
  const again = await Promise.all(
    [...tills, ...tills].map((till) => till.tryPost('/subscriptions', justSubscription(order))),
  );
  for (const { status, body } of again)
    assert.deepEqual([status, body['subscriptionId']], [409, lost.subscription.id], JSON.stringify(body));
  const { checkout } = await createCheckout(tills[1], other);
  assert.deepEqual(await listPayable(backend, processorCustomerId), [checkout.processorCheckoutSessionId]);
});

test('a lost trial is not given again, even to a plan without a group', async (t) => {
  const trial = { trialPeriodDays: 7, trialOnce: true };
  let planId = '';
  const { backend, customerId, tills } = await loseWork(
    t,
    (till, { customerId }) => till.post('/subscriptions', { customerId, planId, ...trial }),
    async (till) => {
      planId = (await createPlan(till)).id;
    },
  );
  const { subscription } = await tills[0].post<{ subscription: { processorSubscriptionId: string } }>(
    '/subscriptions',
    { customerId, planId, ...trial },
  );
  const { trial_end } = await backend.stripe.subscriptions.retrieve(subscription.processorSubscriptionId);
  assert.equal(trial_end, null);
});

test('the idempotency key of a lost request returns its page, and refuses other values without expiring it', async (t) => {
  const key = 'click';
  const { backend, processorCustomerId, order, other, lost, tills } = await loseWork(t, (till, { order }) =>
    till.tryPost('/checkouts', order, key),
  );
  const reused = await tills[1].tryPost('/checkouts', other, key);
  assert.deepEqual([reused.status, reused.body['code']], [422, 'idempotency_key_reused']);
  assert.equal((await listPayable(backend, processorCustomerId)).length, 1);
  const repeated = await Promise.all(tills.map((till) => till.tryPost('/checkouts', order, key)));
  for (const again of repeated) {
    assert.equal(again.status, 201, JSON.stringify(again.body));
    assert.equal(idOf(again), idOf(lost));
  }
  assert.equal((await listPayable(backend, processorCustomerId)).length, 1);
});

test('while the processor cannot be asked, no second page is opened', async (t) => {
  const { backend, processorCustomerId, order, lost, tills } = await loseWork(t, (till, { order }) =>
    createCheckout(till, order),
  );
  for (const operation of ['checkout_sessions.list', 'checkout_sessions.retrieve', 'subscriptions.list']) {
    await backend.setFault({ operation, kind: 'error', status: 500, times: 100 });
    for (const path of ['/checkouts', '/subscriptions'] as const) {
      const body = path === '/checkouts' ? order : justSubscription(order);
      const { status, body: refused } = await tills[0].tryPost(path, body);
      assert.deepEqual([status, refused['code']], [503, 'processor_unavailable'], operation);
    }
    await backend.clearFaults();
    assert.equal((await listPayable(backend, processorCustomerId)).length, 1, operation);
  }
  assert.deepEqual(await backend.sql('select from till.idempotency_claims where completed_at is null'), []);
  const { checkout } = await createCheckout(tills[1], order, 200);
  assert.equal(checkout.id, lost.checkout.id);
});

test('only pages of Till are touched, however many others the customer has', async (t) => {
  let planId = '';
  const { backend, processorCustomerId, other, lost, tills } = await loseWork(
    t,
    async (till, { customerId, order }) => {
      const grouped = await createCheckout(till, order);
      return { grouped, alone: await createCheckout(till, { ...order, customerId, planId }) };
    },
    async (till) => {
      planId = (await createPlan(till)).id;
    },
  );
  const foreign = await inTurn(Array.from({ length: otherSessions }), () =>
    backend.stripe.checkout.sessions.create({
      ...{ customer: processorCustomerId, mode: 'setup', currency: 'eur' },
      success_url: pages.successUrl,
    }),
  );
  const { checkout } = await createCheckout(tills[0], other);
  const statusOf = async (id: string) => (await backend.stripe.checkout.sessions.retrieve(id)).status;
  assert.equal(await statusOf(lost.grouped.checkout.processorCheckoutSessionId), 'expired');
  assert.equal(await statusOf(lost.alone.checkout.processorCheckoutSessionId), 'open');
  assert.equal(await statusOf(checkout.processorCheckoutSessionId), 'open');
  for (const { id } of foreign) assert.equal(await statusOf(id), 'open');
});

test('recovery finds the lost page by itself, and from then on a request lists nothing', async (t) => {
  const { backend, customerId, processorCustomerId, order, other, lost, proxy, tills } = await loseWork(
    t,
    (till, { order }) => createCheckout(till, order),
  );
  // Another customer's request lists their objects only once.
  const { id: second } = await createCustomer(tills[0]);
  await createCheckout(tills[0], { ...order, customerId: second });
  const listed = listingsOf(proxy);
  assert.ok(listed > 0);
  await createCheckout(tills[0], { ...other, customerId: second });
  assert.equal(listingsOf(proxy), listed);

  await tills[1].services.recovery.run();
  const { checkout, url } = await readCheckout(tills[0], lost.checkout);
  assert.deepEqual([checkout.status, url], ['open', lost.url]);
  const after = listingsOf(proxy);
  for (const till of tills) {
    const shared = await createCheckout(till, order, 200);
    assert.equal(shared.checkout.id, lost.checkout.id);
    await createCheckout(till, { ...order, customerId: (await createCustomer(till)).id });
    await createSubscription(
      till,
      justSubscription({ ...other, customerId: (await createCustomer(till)).id }),
    );
  }
  assert.equal(listingsOf(proxy), after);
  assert.equal((await listPayable(backend, processorCustomerId)).length, 1);
  // The next run has nothing to recover.
  const before = listingsOf(proxy);
  await tills[0].services.recovery.run();
  assert.equal(listingsOf(proxy), before);
  assert.equal((await tills[0].get<{ total: number }>(`/checkouts?customerId=${customerId}`)).total, 1);
});

test('recovery that dies continues where commits were lost, and requests ask until it has passed', async (t) => {
  const { backend, processorCustomerId, order, lost, proxy, tills } = await loseWork(t, (till, { order }) =>
    createCheckout(till, order),
  );
  // Its list of events is read to the end, and then the processor fails.
  await backend.setFault({ operation: 'checkout_sessions.list', kind: 'error', status: 500, times: 100 });
  await assert.rejects(tills[0].services.recovery.run(), { code: 'processor_unavailable' });
  await backend.clearFaults();
  // A second incident before it has passed must not forget the first one.
  await backend.sql('select till.break_history()');
  const before = listingsOf(proxy);
  await createCheckout(tills[0], { ...order, customerId: (await createCustomer(tills[0])).id });
  assert.ok(listingsOf(proxy) > before);
  await tills[1].services.recovery.run();
  assert.equal((await readCheckout(tills[0], lost.checkout)).checkout.status, 'open');
  assert.equal((await listPayable(backend, processorCustomerId)).length, 1);
});

test('a request that was killed amid the second click leaves one page, which the next click gets or replaces', async (t) => {
  const walks = await inTurn(crashPoints, async (crashAt) => ({
    crashAt,
    ...(await loseWork(t, (till, { order }) => createCheckout(till, order))),
  }));
  await killAmid(
    walks.map(({ backend: on, crashAt, other }) => ({
      ...{ on, crashAt },
      requests: [{ send: (till) => till.tryPost('/checkouts', other) }],
    })),
  );
  for (const { crashAt, backend, processorCustomerId, other, tills } of walks) {
    const clicks = await Promise.all(tills.map((till) => till.tryPost('/checkouts', other)));
    for (const { status, body } of clicks)
      assert.ok([200, 201].includes(status), `${crashAt}: ${JSON.stringify(body)}`);
    const payable = await listPayable(backend, processorCustomerId);
    const keys = clicks.map(({ body }) => Object(body['checkout']).processorCheckoutSessionId);
    assert.deepEqual(keys, [payable[0], payable[0]], crashAt);
    assert.equal(payable.length, 1, crashAt);
  }
});

for (const [name, as] of waysBut('a copy of the files that keeps its timeline'))
  test(`${name}: clicks at once at two processes leave one page or subscription for each customer`, async (t) => {
    const { backend, proxy, tills, save, lose } = await startLossyStage(t);
    const plans = [
      await createPlan(tills[0], { group: 'main' }),
      await createPlan(tills[0], { group: 'main' }),
    ] as const;
    const paths = { page: '/checkouts', paid: '/checkouts', subscription: '/subscriptions' } as const;
    const kinds = ['page', 'paid', 'subscription'] as const;
    const buyers = await inTurn([...kinds, ...kinds], async (kind) => {
      const { id: customerId, processorCustomerId } = await createCustomer(tills[0]);
      const [order, other] = plans.map(({ id: planId }) => ({ customerId, planId }));
      assert(order && other);
      return { kind, processorCustomerId, order, other };
    });
    const inFlight = await createCustomer(tills[0]);
    const flight = { ...pages, customerId: inFlight.id, planId: plans[0].id };
    await until(
      async () => (await backend.sql('select from till.recovery where read_until is not null')).length > 0,
    );
    await save();
    for (const { kind, order } of buyers) {
      const { body } = await tills[0].tryPost(
        paths[kind],
        kind === 'subscription' ? order : { ...pages, ...order },
      );
      if (kind === 'paid') await completeCheckout(backend, Object(body['checkout']));
    }
    proxy.holdOne('/v1/checkout/sessions');
    const first = tills[0].tryPost('/checkouts', flight).catch(() => undefined);
    const held = await proxy.nextHeld();

    await lose(as);
    // A customer clicks until there is a response.
    const click = async (till: WholeTill, path: string, body: object): Promise<Answer> => {
      let answer = await till.tryPost(path, body);
      while (answer.body['code'] === 'database_unavailable') answer = await till.tryPost(path, body);
      return answer;
    };
    const clicks = buyers.flatMap(({ kind, order, other }) =>
      tills.flatMap((till, index) => {
        const wanted = index === 0 ? order : other;
        const path = paths[kind];
        return [click(till, path, kind === 'subscription' ? wanted : { ...pages, ...wanted })];
      }),
    );
    const second = await click(tills[1], '/checkouts', { ...flight, planId: plans[1].id });
    assert.ok(second.status < 300 || second.status === 409, JSON.stringify(second.body));
    // Only now does the processor get the call of the process whose claim is lost.
    held.release();
    await Promise.all([first, ...clicks]);
    for (const { kind, processorCustomerId } of buyers)
      assert.equal((await listPayable(backend, processorCustomerId)).length, 1, kind);
    assert.equal((await listPayable(backend, inFlight.processorCustomerId)).length, 1, 'in flight');
    for (const answer of await Promise.all(clicks))
      assert.ok(answer.status < 300 || answer.status === 409, JSON.stringify(answer.body));
  });

/** Two pages that can be paid, of which Till knows none: their rows and reservations are deleted. */
async function openTwo(t: TestContext) {
  const till = await startTill({ in: 'process', for: t });
  const { id: customerId, processorCustomerId } = await createCustomer(till);
  const opened: CheckoutBody[] = [];
  for (const amount of [1_000, 2_000]) {
    const { id: planId } = await createPlan(till, { group: 'main', amount });
    opened.push((await createCheckout(till, { ...pages, customerId, planId })).checkout);
    for (const table of ['checkouts', 'group_reservations', 'idempotency_claims'])
      await till.sql(`delete from till.${table}`);
  }
  assert.equal((await listPayable(till, processorCustomerId)).length, 2);
  return { till, customerId, processorCustomerId, opened };
}

test('a resync of a customer with two open pages leaves one, and so does recovery', async (t) => {
  await t.test('till resync --customer', async (t) => {
    const { till, customerId, processorCustomerId, opened } = await openTwo(t);
    assert.deepEqual(await till.services.resync.ofCustomer(customerId), []);
    // The processor lists the newest one first.
    assert.deepEqual(await listPayable(till, processorCustomerId), [opened[1]?.processorCheckoutSessionId]);
    assert.deepEqual(await statusesOf(till, opened), ['expired', 'open']);
  });
  await t.test('recovery', async (t) => {
    const { till, processorCustomerId, opened } = await openTwo(t);
    await till.services.recovery.run();
    await till.sql('select till.break_history()');
    await till.services.recovery.run();
    assert.equal((await listPayable(till, processorCustomerId)).length, 1);
    assert.deepEqual((await statusesOf(till, opened)).toSorted(), ['expired', 'open']);
  });
  await t.test('a run that dies before it has expired the second page', async (t) => {
    const { till, processorCustomerId, opened } = await openTwo(t);
    const fault = { operation: 'checkout_sessions.expire', kind: 'error', status: 500, times: 100 } as const;
    await till.setFault(fault);
    await till.services.recovery.run();
    await till.sql('select till.break_history()');
    await assert.rejects(till.services.recovery.run(), { code: 'processor_unavailable' });
    assert.equal((await listPayable(till, processorCustomerId)).length, 2);
    await till.clearFaults();
    await till.services.recovery.run();
    assert.equal((await listPayable(till, processorCustomerId)).length, 1);
    assert.deepEqual((await statusesOf(till, opened)).toSorted(), ['expired', 'open']);
  });
});

test('a lost page beside a live subscription of its group is expired when it is found', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const { id: customerId, processorCustomerId } = await createCustomer(till);
  const { id: planId } = await createPlan(till, { group: 'main' });
  await createCheckout(till, { ...pages, customerId, planId });
  for (const table of ['checkouts', 'group_reservations']) await till.sql(`delete from till.${table}`);
  const { subscription } = await createSubscription(till, { customerId, planId });
  await till.services.resync.ofCustomer(customerId);
  assert.deepEqual(await listPayable(till, processorCustomerId), [subscription.processorSubscriptionId]);
  assert.deepEqual(await till.sql('select from till.group_reservations'), []);
});

async function statusesOf(
  till: TillInProcess,
  checkouts: readonly CheckoutBody[],
): Promise<readonly string[]> {
  const read: readonly OpenedBody[] = await Promise.all(checkouts.map((one) => readCheckout(till, one)));
  return read.map(({ checkout }) => checkout.status);
}

function justSubscription({ customerId, planId }: Scene['order']) {
  return { customerId, planId };
}
