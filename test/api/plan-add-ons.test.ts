import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { pages } from '../support/checkouts.ts';
import { readJson } from '../support/client.ts';
import { createCustomer, createPlan, createSubscription, type PlanBody } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { startTill } from '../support/till.ts';
import { triesPerCall } from '../support/till-in-process.ts';

const backend = await startBackend({ after });
const proxy = await startProcessorProxy(backend);
const till = await startTill({ in: 'process', on: backend, processorUrl: proxy.url, mustNotLogErrors: true });
const { call, stripe } = till;

afterEach(() => proxy.releaseAll());

const values = { name: 'Seats', amount: 500, currency: 'eur', interval: 'month' };

const change = (id: string, body: object) => call('PATCH', `/plans/${id}`, body);

async function isAddOnAtProcessor({ processorPriceId }: PlanBody): Promise<boolean> {
  return (await stripe.prices.retrieve(processorPriceId)).metadata['till_add_on'] === 'true';
}

test('201: an add-on carries it in the metadata of its price, and the default makes no other request', async () => {
  const plan = await readJson<PlanBody>(await call('POST', '/plans', { ...values, addOn: true }), 201);
  assert.deepEqual([plan.addOn, plan.group, plan.metadata], [true, null, {}]);
  assert.equal(await isAddOnAtProcessor(plan), true);
  const body = { ...values, idempotencyKey: 'add-on-1' };
  const first = await readJson<PlanBody>(await call('POST', '/plans', body), 201);
  const again = await call('POST', '/plans', { ...body, addOn: false });
  assert.deepEqual(await readJson(again, 201), first);
  assert.deepEqual([first.addOn, await isAddOnAtProcessor(first)], [false, false]);
});

test('200: a plan without subscriptions becomes an add-on and back, alone or together with other values', async () => {
  const plan = await createPlan(till, { group: 'a', features: { seats: 1 } });
  const addOn = await readJson<PlanBody>(await change(plan.id, { addOn: true, name: 'Seats' }), 200);
  assert.deepEqual(
    { ...addOn, updatedAt: '' },
    {
      ...{ ...plan, addOn: true, name: 'Seats', updatedAt: '' },
      // The product still carries the group, and an add-on has none.
      group: null,
    },
  );
  assert.equal(await isAddOnAtProcessor(plan), true);
  assert.deepEqual(await readJson(await call('GET', `/plans/${plan.id}`), 200), addOn);
  const back = await readJson<PlanBody>(await change(plan.id, { addOn: false }), 200);
  assert.deepEqual([back.addOn, back.group, back.name], [false, 'a', 'Seats']);
  assert.equal(await isAddOnAtProcessor(plan), false);
  const grouped = await readJson<PlanBody>(await change(plan.id, { addOn: false, group: 'b' }), 200);
  assert.deepEqual([grouped.addOn, grouped.group], [false, 'b']);
});

test('200: a repeated idempotency key changes both halves once', async () => {
  const plan = await createPlan(till);
  const body = { addOn: true, name: 'Seats', idempotencyKey: 'add-on-2' };
  const first = await readJson(await change(plan.id, body), 200);
  const again = await change(plan.id, body);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(await readJson(again, 200), first);
  for (const [type, id] of [
    ['product.updated', plan.processorProductId],
    ['price.updated', plan.processorPriceId],
  ] as const) {
    const { data } = await stripe.events.list({ type, limit: 100 });
    assert.equal(data.filter(({ data: { object } }) => 'id' in object && object.id === id).length, 1, type);
  }
});

test('200: a change in the dashboard arrives with the webhook of the price', async () => {
  const plan = await createPlan(till);
  for (const addOn of [true, false]) {
    await stripe.prices.update(plan.processorPriceId, { metadata: { till_add_on: addOn ? 'true' : '' } });
    await till.settle();
    const shown = await readJson<PlanBody>(await call('GET', `/plans/${plan.id}`), 200);
    assert.equal(shown.addOn, addOn);
  }
});

test('409: addOn does not change while a live subscription has the plan, and the same value is no change', async () => {
  const plan = await createPlan(till);
  const { subscription } = await createSubscription(till, { planId: plan.id, trialPeriodDays: 7 });
  await readProblem(await change(plan.id, { addOn: true, name: 'Seats' }), 409, 'plan_in_use');
  const same = await readJson<PlanBody>(await change(plan.id, { addOn: false, name: 'Same' }), 200);
  assert.deepEqual([same.addOn, same.name], [false, 'Same']);
  await readJson(await call('DELETE', `/subscriptions/${subscription.id}`), 200);
  assert.equal((await readJson<PlanBody>(await change(plan.id, { addOn: true }), 200)).addOn, true);
});

test('409: nor while one has it as an add-on, or will have it after a pending change', async () => {
  const [main, next] = [await createPlan(till), await createPlan(till)];
  const addOn = await createPlan(till, { addOn: true });
  const later = await createPlan(till, { addOn: true });
  const { subscription } = await createSubscription(till, {
    ...{ planId: main.id, addOns: [{ planId: addOn.id, quantity: 2 }], trialPeriodDays: 7 },
  });
  const update = async (terms: object) =>
    readJson(await call('PATCH', `/subscriptions/${subscription.id}`, terms), 200);
  await readProblem(await change(addOn.id, { addOn: false }), 409, 'plan_in_use');
  await update({ addOns: [] });
  await readJson(await change(addOn.id, { addOn: false }), 200);
  await update({ planId: next.id, addOns: [{ planId: later.id }], when: 'periodEnd' });
  await readProblem(await change(next.id, { addOn: true }), 409, 'plan_in_use');
  await readProblem(await change(later.id, { addOn: false }), 409, 'plan_in_use');
  await readProblem(await change(main.id, { addOn: true }), 409, 'plan_in_use');
});

test('a change of addOn and a request that gives the plan to a subscription: one of them wins', async () => {
  const main = await createPlan(till);
  const { subscription } = await createSubscription(till, { planId: main.id, trialPeriodDays: 7 });
  for (let round = 0; round < 12; round += 1) {
    const isAddOn = round % 3 === 2;
    const plan = await createPlan(till, { addOn: isAddOn });
    const { id: customerId } = await createCustomer(till);
    const join = [
      () => call('POST', '/subscriptions', { customerId, planId: plan.id, trialPeriodDays: 7 }),
      () => call('PATCH', `/subscriptions/${subscription.id}`, { planId: plan.id }),
      () => call('PATCH', `/subscriptions/${subscription.id}`, { addOns: [{ planId: plan.id }] }),
    ][round % 3];
    const [changed, joined] = await Promise.all([change(plan.id, { addOn: !isAddOn }), join?.()]);
    if (changed.status === 200)
      await readProblem(joined ?? changed, 409, isAddOn ? 'plan_is_no_add_on' : 'plan_is_add_on');
    else {
      await readProblem(changed, 409, 'plan_in_use');
      assert.ok(joined?.ok, `the change was refused, and so was the other request: ${joined?.status}`);
    }
  }
  assert.deepEqual(await till.sql('select id from till.plans where add_on_claim_id is not null'), []);
});

/** The processor makes the plan an add-on, and its response is on the way. */
async function changeInFlight(plan: PlanBody, body: object = {}) {
  await till.settle();
  const there = `/v1/prices/${plan.processorPriceId}`;
  proxy.holdOne(there);
  const response = change(plan.id, { addOn: true, ...body });
  const passOn = await (await proxy.nextHeld()).holdResponse();
  return { there, passOn, response };
}

const joins = [
  (plan: PlanBody, customerId: string) =>
    call('POST', '/subscriptions', { customerId, planId: plan.id, trialPeriodDays: 7 }),
  (plan: PlanBody, customerId: string) =>
    call('POST', '/checkouts', { ...pages, customerId, planId: plan.id }),
];

test('a plan that became an add-on is given to no subscription before the row shows it', async () => {
  for (const join of joins)
    for (const more of [{}, { group: 'a' }]) {
      const plan = await createPlan(till, more);
      const { id: customerId } = await createCustomer(till);
      const { there, passOn, response } = await changeInFlight(plan);
      await readJson(await change(plan.id, { name: 'New' }), 200);
      proxy.holdOne(there, 'GET');
      passOn();
      const read = await proxy.nextHeld();
      const joined = await join(plan, customerId);
      read.release();
      await readProblem(joined, 409, 'plan_is_add_on');
      assert.equal((await readJson<PlanBody>(await response, 200)).addOn, true);
    }
  assert.deepEqual(await till.sql('select id from till.plans where add_on_claim_id is not null'), []);
});

test('a change of addOn whose plan could not be read is finished by its repetition, or by the next request', async () => {
  const finishers = [
    ...joins,
    (plan: PlanBody) => change(plan.id, { addOn: true, idempotencyKey: plan.id }),
    (plan: PlanBody) => change(plan.id, { addOn: true, name: 'Other' }),
  ];
  for (const finish of finishers) {
    const plan = await createPlan(till);
    const { id: customerId } = await createCustomer(till);
    const { passOn, response } = await changeInFlight(plan, { idempotencyKey: plan.id });
    await readJson(await change(plan.id, { name: 'New' }), 200);
    await backend.setFault({ operation: 'prices.retrieve', kind: 'error', status: 503, times: triesPerCall });
    passOn();
    await readProblem(await response, 503, 'processor_unavailable');
    const finished = await finish(plan, customerId);
    if (finished.status !== 200) await readProblem(finished, 409, 'plan_is_add_on');
    assert.equal((await readJson<PlanBody>(await call('GET', `/plans/${plan.id}`), 200)).addOn, true);
  }
  assert.deepEqual(await till.sql('select id from till.plans where add_on_claim_id is not null'), []);
});

test('a plan whose price or product is archived while addOn changes stays archived', async () => {
  const archive = [
    (plan: PlanBody) => stripe.prices.update(plan.processorPriceId, { active: false }),
    (plan: PlanBody) => stripe.products.update(plan.processorProductId, { active: false }),
  ];
  for (const archiveThere of archive) {
    const plan = await createPlan(till);
    const { passOn, response } = await changeInFlight(plan);
    await archiveThere(plan);
    await till.settle();
    passOn();
    const changed = await readJson<PlanBody>(await response, 200);
    assert.deepEqual([changed.addOn, changed.active], [true, false]);
  }
});

test('400: a group with addOn', async () => {
  const plan = await createPlan(till, { addOn: true });
  for (const response of [
    await call('POST', '/plans', { ...values, addOn: true, group: 'a' }),
    await change(plan.id, { addOn: true, group: 'a' }),
    await change(plan.id, { group: 'a' }),
  ]) {
    const { errors } = await readProblem(response, 400, 'invalid_request');
    assert.deepEqual(
      errors?.map(({ path }) => path),
      ['body.group'],
    );
  }
  await readJson(await change(plan.id, { group: null }), 200);
});
