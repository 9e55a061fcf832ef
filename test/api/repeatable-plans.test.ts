import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  completeCheckout,
  createCheckout,
  type OpenedBody,
  pages,
  readCheckout,
} from '../support/checkouts.ts';
import { readJson } from '../support/client.ts';
import {
  type CreatedSubscriptionBody,
  createCustomer,
  createPlan,
  createSubscription,
  type PlanBody,
  readSubscription,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

/** A customer and a plan without a group. */
async function createScene(values: Parameters<typeof createPlan>[1] = {}) {
  const { id: customerId, processorCustomerId } = await createCustomer(till);
  const plan = await createPlan(till, values);
  return { order: { customerId, planId: plan.id }, processorCustomerId, plan };
}

async function assertSubscribed(order: object, subscriptionId: string | null): Promise<void> {
  const response = await call('POST', '/checkouts', { ...pages, ...order });
  const problem = await readProblem(response, 409, 'already_subscribed');
  assert.equal(Object(problem).subscriptionId, subscriptionId);
}

async function pay({ checkout }: OpenedBody): Promise<string> {
  await completeCheckout(till, checkout);
  const { subscriptionId } = (await readCheckout(till, checkout)).checkout;
  assert.ok(subscriptionId !== null);
  return subscriptionId;
}

async function countOpenSessions(customer: string): Promise<number> {
  return (await stripe.checkout.sessions.list({ customer, status: 'open', limit: 100 })).data.length;
}

async function markOf({ processorPriceId }: PlanBody): Promise<string | undefined> {
  return (await stripe.prices.retrieve(processorPriceId)).metadata['till_repeatable'];
}

const change = async (plan: PlanBody, body: object) =>
  readJson<PlanBody>(await call('PATCH', `/plans/${plan.id}`, body), 200);

async function countReserved({ customerId }: { readonly customerId: string }): Promise<number> {
  return (await till.sql('select from till.group_reservations where customer_id = $1', [customerId])).length;
}

test('409: a checkout does not sell a plan without a group to a customer who has it', async () => {
  const { order } = await createScene();
  const subscriptionId = await pay(await createCheckout(till, order));
  await assertSubscribed(order, subscriptionId);
  await assertSubscribed({ ...order, quantity: 2 }, subscriptionId);
  await createCheckout(till, { ...order, planId: (await createPlan(till)).id });
  await readJson(await call('DELETE', `/subscriptions/${subscriptionId}`), 200);
  await pay(await createCheckout(till, order));
});

test('200: fifty requests with the same terms share one checkout, and other terms expire it', async () => {
  const { order, processorCustomerId } = await createScene();
  const body = { ...pages, ...order };
  const responses = await Promise.all(Array.from({ length: 50 }, () => call('POST', '/checkouts', body)));
  const statuses = responses.map(({ status }) => status).toSorted();
  assert.deepEqual(statuses, [...Array.from({ length: 49 }, () => 200), 201]);
  assert.equal(await countOpenSessions(processorCustomerId), 1);
  const { checkout } = await createCheckout(till, order, 200);
  await createCheckout(till, { ...order, quantity: 2 });
  assert.equal((await readCheckout(till, checkout)).checkout.status, 'expired');
  assert.equal(await countOpenSessions(processorCustomerId), 1);
});

test('201: a repeatable plan is sold as often as it is bought', async () => {
  const { order, processorCustomerId } = await createScene({ repeatable: true });
  const [one, two] = [await createCheckout(till, order), await createCheckout(till, order)];
  assert.equal(await countOpenSessions(processorCustomerId), 2);
  assert.notEqual(await pay(one), await pay(two));
  await createCheckout(till, order);
});

test('201: POST /subscriptions subscribes again to a plan without a group, and checkouts see it', async () => {
  const { order } = await createScene();
  const { checkout } = await createCheckout(till, order);
  const bought = await Promise.all(
    [1, 2].map(async () =>
      readJson<CreatedSubscriptionBody>(await call('POST', '/subscriptions', order), 201),
    ),
  );
  assert.equal((await readCheckout(till, checkout)).checkout.status, 'open');
  for (const { subscription } of bought)
    await till.sql(`update till.subscriptions set status = 'active' where id = $1`, [subscription.id]);
  const oldest = bought.map(({ subscription }) => subscription).toSorted((a, b) => (a.id < b.id ? -1 : 1))[0];
  await assertSubscribed(order, oldest?.id ?? null);
});

test('201: an incomplete subscription to the plan is canceled before it is sold', async () => {
  const { order } = await createScene();
  const { subscription } = await createSubscription(till, order);
  const other = await createPlan(till);
  const kept = await createSubscription(till, { ...order, planId: other.id });
  await createCheckout(till, order);
  assert.match((await readSubscription(till, subscription)).status, /^(canceled|incomplete_expired)$/);
  assert.equal((await readSubscription(till, kept.subscription)).status, 'incomplete');
});

test('a trial that is given once is given once by checkouts and POST /subscriptions together', async () => {
  const trial = { trialPeriodDays: 7, trialOnce: true };
  const { order } = await createScene();
  const first = await createCheckout(till, { ...order, ...trial });
  const { subscription } = await createSubscription(till, { ...order, ...trial });
  assert.equal((await readCheckout(till, first.checkout)).checkout.status, 'expired');
  assert.equal(subscription.status, 'trialing');
  await readJson(await call('DELETE', `/subscriptions/${subscription.id}`), 200);
  const second = await createCheckout(till, { ...order, ...trial });
  assert.equal(second.checkout.trialPeriodDays, null);

  const { id: customerId } = await createCustomer(till);
  const racing = { customerId, planId: order.planId, ...trial };
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0
        ? call('POST', '/subscriptions', racing)
        : call('POST', '/checkouts', { ...pages, ...racing }),
    ),
  );
  const shown = await till.get<{ data: readonly { status: string; trialPeriodDays: number | null }[] }>(
    `/checkouts?customerId=${customerId}&status=open`,
  );
  const trials = await till.sql<{ id: string }>(
    `select id from till.subscriptions where customer_id = $1 and status = 'trialing'`,
    [customerId],
  );
  const offered = shown.data.filter(({ trialPeriodDays }) => trialPeriodDays !== null);
  assert.equal(trials.length + offered.length, 1);
});

test('an open checkout is not returned once the customer has had its only trial elsewhere', async () => {
  const trial = { trialPeriodDays: 7, trialOnce: true };
  const { order } = await createScene();
  const first = await createCheckout(till, { ...order, ...trial });
  assert.equal(first.checkout.trialPeriodDays, 7);
  // Without `trialOnce` it is another sale, so the checkout stays open.
  const { subscription } = await createSubscription(till, { ...order, trialPeriodDays: 7 });
  await readJson(await call('DELETE', `/subscriptions/${subscription.id}`), 200);
  const opened = await Promise.all(
    Array.from({ length: 5 }, () => call('POST', '/checkouts', { ...pages, ...order, ...trial })),
  );
  assert.deepEqual(opened.map(({ status }) => status).toSorted(), [200, 200, 200, 200, 201]);
  for (const response of opened)
    assert.equal(((await response.json()) as OpenedBody).checkout.trialPeriodDays, null);
  assert.equal((await readCheckout(till, first.checkout)).checkout.status, 'expired');
});

test('a plan becomes repeatable and back, and the price carries it', async () => {
  const { order, plan } = await createScene();
  assert.deepEqual([plan.repeatable, await markOf(plan)], [false, 'false']);
  const repeatable = await createPlan(till, { repeatable: true });
  assert.deepEqual([repeatable.repeatable, await markOf(repeatable)], [true, 'true']);
  await createCheckout(till, order);
  assert.equal(
    (await change(plan, { repeatable: true, name: 'Seats', metadata: { a: 'b' } })).repeatable,
    true,
  );
  assert.equal(await markOf(plan), 'true');
  await createCheckout(till, order);
  const back = await change(plan, { repeatable: false });
  assert.deepEqual([back.repeatable, back.name, back.metadata], [false, 'Seats', { a: 'b' }]);
  const both = await change(plan, { repeatable: true, group: 'both' });
  assert.deepEqual([both.repeatable, both.group], [true, 'both']);
  const addOn = await change(await createPlan(till), { repeatable: true, addOn: true });
  assert.deepEqual([addOn.repeatable, addOn.addOn, await markOf(addOn)], [true, true, 'true']);
});

test('201: the default makes no other request, and a repeated idempotency key changes the plan once', async () => {
  const values = {
    name: 'Gold',
    amount: 900,
    currency: 'eur',
    interval: 'month',
    idempotencyKey: 'repeatable',
  };
  const first = await readJson<PlanBody>(await call('POST', '/plans', values), 201);
  assert.deepEqual(
    await readJson(await call('POST', '/plans', { ...values, repeatable: false }), 201),
    first,
  );
  await readProblem(
    await call('POST', '/plans', { ...values, repeatable: true }),
    422,
    'idempotency_key_reused',
  );
  const body = { repeatable: true, name: 'Silver', idempotencyKey: 'repeatable' };
  const changed = await change(first, body);
  assert.deepEqual(await change(first, body), changed);
  const { data } = await stripe.events.list({ type: 'price.updated', limit: 100 });
  assert.equal(data.filter(({ data: { object } }) => Object(object).id === first.processorPriceId).length, 1);
});

test('an edit in the dashboard arrives with the webhook, and a price without the mark is repeatable', async () => {
  const plan = await createPlan(till);
  for (const [mark, repeatable] of [
    ['true', true],
    ['false', false],
    ['', true],
    ['false', false],
    ['no', true],
  ] as const) {
    await stripe.prices.update(plan.processorPriceId, { metadata: { till_repeatable: mark } });
    await till.settle();
    assert.equal((await till.get<PlanBody>(`/plans/${plan.id}`)).repeatable, repeatable, mark);
  }
});

test('an open checkout whose row is lost keeps the plan, once it is found again', async () => {
  const { order, processorCustomerId } = await createScene();
  const { checkout } = await createCheckout(till, order);
  await till.sql('delete from till.group_reservations where claim_id = $1', [checkout.id]);
  await till.sql('delete from till.checkouts where id = $1', [checkout.id]);
  const { id } = await till.post<{ id: string }>('/resyncs', { customerId: order.customerId });
  await until(async () => (await till.get<{ status: string }>(`/resyncs/${id}`)).status === 'finished');
  assert.equal((await createCheckout(till, order, 200)).checkout.id, checkout.id);
  assert.equal(await countOpenSessions(processorCustomerId), 1);
});

test('expired and completed checkouts leave nothing reserved', async () => {
  const { order } = await createScene();
  const { checkout } = await createCheckout(till, order);
  assert.equal(await countReserved(order), 1);
  await readJson(await call('POST', `/checkouts/${checkout.id}/expire`), 200);
  assert.equal(await countReserved(order), 0);
  await pay(await createCheckout(till, order));
  assert.equal(await countReserved(order), 0);
});
