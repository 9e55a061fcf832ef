import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { pages } from '../support/checkouts.ts';
import { readJson } from '../support/client.ts';
import {
  type CreatedSubscriptionBody,
  createCustomer,
  createPlan,
  createSubscription,
} from '../support/objects.ts';
import { createActive } from '../support/past-due.ts';
import { readProblem } from '../support/problem.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { startTill } from '../support/till.ts';
import { triesPerCall } from '../support/till-in-process.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

const subscribe = (customerId: string, planId: string, more: object = {}) =>
  call('POST', '/subscriptions', { customerId, planId, ...more });

async function assertTaken(customerId: string, planId: string, subscriptionId: string): Promise<void> {
  const problem = await readProblem(await subscribe(customerId, planId), 409, 'already_subscribed');
  assert.equal(Object(problem).subscriptionId, subscriptionId);
}

async function created(response: Response): Promise<string> {
  return (await readJson<CreatedSubscriptionBody>(response, 201)).subscription.id;
}

/** A failed or finished request leaves nothing behind. */
async function assertNothingReserved(): Promise<void> {
  assert.deepEqual(await till.sql('select * from till.group_reservations'), []);
}

test('409: a customer has one live subscription in a group, whichever plan of it', async () => {
  const [basic, pro] = [await createPlan(till, { group: 'a' }), await createPlan(till, { group: 'a' })];
  const { id } = await createCustomer(till);
  const first = await created(await subscribe(id, basic.id));
  await assertTaken(id, basic.id, first);
  await assertTaken(id, pro.id, first);
  await assertNothingReserved();
});

test('201: other customers, other groups and plans without a group are free', async () => {
  const grouped = await createPlan(till, { group: 'b' });
  const { id } = await createCustomer(till);
  await created(await subscribe(id, grouped.id));
  await created(await subscribe((await createCustomer(till)).id, grouped.id));
  await created(await subscribe(id, (await createPlan(till, { group: 'c' })).id));
  const free = await createPlan(till);
  for (let times = 0; times < 2; times += 1) await created(await subscribe(id, free.id));
  await assertNothingReserved();
});

test('201: a repeated idempotency key returns its own subscription, and another one gets a 409', async () => {
  const plan = await createPlan(till, { group: 'd' });
  const { id } = await createCustomer(till);
  const body = { idempotencyKey: 'group-1' };
  const first = await created(await subscribe(id, plan.id, body));
  const again = await subscribe(id, plan.id, body);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.equal(await created(again), first);
  const other = await subscribe(id, plan.id, { idempotencyKey: 'group-2' });
  await readProblem(other, 409, 'already_subscribed');
  // The idempotency key of the refused request is free, even for another request.
  const free = await createPlan(till);
  await created(await subscribe(id, free.id, { idempotencyKey: 'group-2' }));
});

test('201: canceling an unpaid first attempt with DELETE frees the group at once', async () => {
  const plan = await createPlan(till, { group: 'e' });
  const { id } = await createCustomer(till);
  const { subscription } = await createSubscription(till, { customerId: id, planId: plan.id });
  assert.equal(subscription.status, 'incomplete');
  await assertTaken(id, plan.id, subscription.id);
  await readJson(await call('DELETE', `/subscriptions/${subscription.id}`), 200);
  await created(await subscribe(id, plan.id));
});

test('a subscription created elsewhere counts, and several of them are never refused', async () => {
  const plan = await createPlan(till, { group: 'f' });
  const customer = await createCustomer(till);
  const make = () =>
    stripe.subscriptions.create({
      customer: customer.processorCustomerId,
      items: [{ price: plan.processorPriceId }],
      payment_behavior: 'default_incomplete',
    });
  const elsewhere = await make();
  await make();
  await till.settle();
  const list = await call('GET', `/subscriptions?customerId=${customer.id}`);
  const { data } = await readJson<{ data: { id: string; processorSubscriptionId: string }[] }>(list, 200);
  assert.equal(data.length, 2);
  const [first] = data.filter(({ processorSubscriptionId }) => processorSubscriptionId === elsewhere.id);
  const problem = await readProblem(await subscribe(customer.id, plan.id), 409, 'already_subscribed');
  assert.ok(data.some(({ id }) => id === Object(problem).subscriptionId));
  assert.ok(first !== undefined);
  for (const { processorSubscriptionId } of data) await stripe.subscriptions.cancel(processorSubscriptionId);
  await till.settle();
  await created(await subscribe(customer.id, plan.id));
});

test('a plan that is moved counts in its current group', async () => {
  const [plan, other] = [await createPlan(till, { group: 'g' }), await createPlan(till, { group: 'g' })];
  const { id } = await createCustomer(till);
  const first = await created(await subscribe(id, plan.id));
  await assertTaken(id, other.id, first);
  await readJson(await call('PATCH', `/plans/${plan.id}`, { group: 'h' }), 200);
  const second = await created(await subscribe(id, other.id));
  await assertTaken(id, plan.id, first);
  await readJson(await call('PATCH', `/plans/${other.id}`, { group: null }), 200);
  await created(await subscribe(id, other.id));
  await readJson(await call('PATCH', `/plans/${other.id}`, { group: 'h' }), 200);
  const third = await createPlan(till, { group: 'h' });
  await assertTaken(id, third.id, first);
  assert.notEqual(second, first);
});

test('201: an idempotency key returns its own subscription, even if the plan joined a taken group before the retry', async () => {
  const [grouped, later] = [await createPlan(till, { group: 'j' }), await createPlan(till)];
  const { id, processorCustomerId } = await createCustomer(till);
  const first = await created(await subscribe(id, grouped.id));
  const body = { idempotencyKey: 'joined-later' };
  const unreachable = {
    operation: 'subscriptions.create',
    kind: 'reset_before',
    times: triesPerCall,
  } as const;
  await till.setFault(unreachable);
  await readProblem(await subscribe(id, later.id, body), 503, 'processor_unavailable');
  await readJson(await call('PATCH', `/plans/${later.id}`, { group: 'j' }), 200);
  await assertTaken(id, later.id, first);
  const own = await created(await subscribe(id, later.id, body));
  assert.notEqual(own, first);
  assert.equal(await created(await subscribe(id, later.id, body)), own);
  const { data } = await stripe.subscriptions.list({ customer: processorCustomerId });
  assert.equal(data.length, 2);
  await assertNothingReserved();
});

test('a resumed request also holds the group to which its plan was moved meanwhile', async () => {
  const [plan, other] = [await createPlan(till, { group: 'l' }), await createPlan(till, { group: 'm' })];
  const { id } = await createCustomer(till);
  const body = { idempotencyKey: 'moved-meanwhile' };
  await till.setFault({ operation: 'subscriptions.create', kind: 'reset_before', times: triesPerCall });
  await readProblem(await subscribe(id, plan.id, body), 503, 'processor_unavailable');
  await readJson(await call('PATCH', `/plans/${plan.id}`, { group: 'm' }), 200);
  await till.setFault({ operation: 'subscriptions.create', kind: 'hang' });
  const resumed = subscribe(id, plan.id, body);
  await till.faultsTaken();
  const held = await till.sql('select group_name as name from till.group_reservations order by group_name');
  assert.deepEqual(held, [{ name: 'l' }, { name: 'm' }]);
  await till.clearFaults();
  await assertTaken(id, other.id, await created(await resumed));
  await assertNothingReserved();
});

test('200: a change is finished under its idempotency key, even if the plan joined a taken group before the retry', async () => {
  const [grouped, later] = [await createPlan(till, { group: 'k' }), await createPlan(till, { amount: 800 })];
  const { customer, subscription } = await createActive(till);
  await created(await subscribe(customer.id, grouped.id));
  const change = () =>
    call('PATCH', `/subscriptions/${subscription.id}`, { planId: later.id, idempotencyKey: 'moved-later' });
  const unreachable = {
    operation: 'subscriptions.update',
    kind: 'reset_before',
    times: triesPerCall,
  } as const;
  await till.setFault(unreachable);
  await readProblem(await change(), 503, 'processor_unavailable');
  await readJson(await call('PATCH', `/plans/${later.id}`, { group: 'k' }), 200);
  const { subscription: changed } = await readJson<CreatedSubscriptionBody>(await change(), 200);
  assert.equal(changed.planId, later.id);
  await assertNothingReserved();
});

test('409: a subscription that joins the group counts, even if its row changes before the change is recorded', async () => {
  const one = await createPlan(till, { group: 'joined' });
  const other = await createPlan(till, { group: 'joined' });
  const { customer, subscription } = await createActive(till);
  await till.setFault({ operation: 'subscriptions.update', kind: 'hang' });
  const joining = call('PATCH', `/subscriptions/${subscription.id}`, { planId: one.id });
  await till.faultsTaken();
  // As a webhook does that arrives during the change.
  await till.sql(`update till.subscriptions set revision = revision + 1 where id = '${subscription.id}'`);
  await Promise.all([assertTaken(customer.id, other.id, subscription.id), till.clearFaults()]);
  assert.equal((await joining).status, 200);
  await assertNothingReserved();
});

for (const path of ['/subscriptions', '/checkouts'])
  test(`409: POST ${path} sees the plan of a change whose correction of the row failed`, async (t) => {
    const proxy = await startProcessorProxy(till);
    const slow = await startTill({ in: 'process', on: till, for: t, processorUrl: proxy.url });
    const group = `uncorrected-${path.slice(1)}`;
    const [one, other] = [await createPlan(till, { group }), await createPlan(till, { group })];
    const { customer, subscription } = await createActive(till);
    proxy.holdOne(`/v1/subscriptions/${subscription.processorSubscriptionId}`);
    const joining = slow.call('PATCH', `/subscriptions/${subscription.id}`, { planId: one.id });
    const held = await proxy.nextHeld();
    // As a webhook does that arrives during the change.
    await till.sql(`update till.subscriptions set revision = revision + 1 where id = '${subscription.id}'`);
    const failure = { kind: 'error', status: 500, times: triesPerCall } as const;
    await till.setFault({ operation: 'subscriptions.retrieve', ...failure });
    held.release();
    await readProblem(await joining, 503, 'processor_unavailable');
    await till.clearFaults();
    const body = { ...(path === '/checkouts' ? pages : {}), customerId: customer.id, planId: other.id };
    const problem = await readProblem(await call('POST', path, body), 409, 'already_subscribed');
    assert.equal(Object(problem).subscriptionId, subscription.id);
    await assertNothingReserved();
  });

test('409: a change that its add-ons forbid frees its idempotency key and the group', async () => {
  const yearly = await createPlan(till, { group: 'l', interval: 'year' });
  const addOn = await createPlan(till, { addOn: true });
  const { customer, subscription } = await createActive(till);
  const change = (body: object) => call('PATCH', `/subscriptions/${subscription.id}`, body);
  await readJson(await change({ addOns: [{ planId: addOn.id }] }), 200);
  const idempotencyKey = 'forbidden-by-add-ons';
  await readProblem(await change({ planId: yearly.id, idempotencyKey }), 409, 'interval_mismatch');
  await assertNothingReserved();
  await created(await subscribe(customer.id, yearly.id));
  await readJson(await change({ quantity: 2, idempotencyKey }), 200);
});

test('404, 409, 422: a refused request leaves the group free', async () => {
  const plan = await createPlan(till, { group: 'i' });
  const unknown = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
  await readProblem(await subscribe(unknown, plan.id), 404, 'not_found');
  await assertNothingReserved();
  const customer = await createCustomer(till);
  await stripe.customers.del(customer.processorCustomerId);
  await readProblem(await subscribe(customer.id, plan.id), 404, 'not_found');
  await assertNothingReserved();
  await call('POST', `/plans/${plan.id}/archive`);
  await readProblem(await subscribe((await createCustomer(till)).id, plan.id), 409, 'plan_archived');
  await assertNothingReserved();
});
