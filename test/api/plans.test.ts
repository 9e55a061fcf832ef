import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readJson } from '../support/client.ts';
import { assertResource, createPlan, createSubscription, type PlanBody } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

const values = { name: 'Gold', amount: 1_900, currency: 'eur', interval: 'month' };

test('201: a plan is a product and a price at the processor, with exactly the fields of the spec', async () => {
  const plan = await readJson<PlanBody>(await call('POST', '/plans', { ...values, currency: 'EUR' }), 201);
  const { processorProductId, processorPriceId } = plan;
  const own = { intervalCount: 1, features: {}, group: null, addOn: false, repeatable: false, metadata: {} };
  assertResource(plan, { processorProductId, processorPriceId, ...values, ...own, active: true });
  const price = await stripe.prices.retrieve(processorPriceId, { expand: ['product'] });
  assert.deepEqual(
    [price.unit_amount, price.currency, price.recurring?.interval, price.recurring?.interval_count],
    [1_900, 'eur', 'month', 1],
  );
  assert.ok(typeof price.product === 'object' && !price.product.deleted);
  assert.deepEqual([price.product.id, price.product.name], [processorProductId, 'Gold']);
});

test('201: every interval, the free plan and the dearest one', async () => {
  for (const interval of ['day', 'week', 'month', 'year']) {
    assert.equal((await createPlan(till, { interval })).interval, interval);
  }
  for (const amount of [0, 999_999_999_999]) {
    const response = await call('POST', '/plans', { ...values, amount, currency: 'idr' });
    assert.equal((await readJson<PlanBody>(response, 201)).amount, amount);
  }
});

test('201: a repeated idempotency key returns the first plan, whatever the case of its currency', async () => {
  const body = { ...values, name: 'Once', idempotencyKey: 'plan-1' };
  const first = await readJson<PlanBody>(await call('POST', '/plans', body), 201);
  const again = await call('POST', '/plans', { ...body, currency: 'EUR' });
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(await readJson(again, 201), first);
  const products = await stripe.products.list({ limit: 100 });
  assert.equal(products.data.filter(({ name }) => name === 'Once').length, 1);
});

test('200: a plan is read as it was created', async () => {
  const plan = await createPlan(till);
  assert.deepEqual(await readJson(await call('GET', `/plans/${plan.id}`), 200), plan);
});

test('200: archiving archives price and product, and again changes nothing', async () => {
  const plan = await createPlan(till);
  const archived = await readJson<PlanBody>(await call('POST', `/plans/${plan.id}/archive`), 200);
  assert.deepEqual({ ...archived, updatedAt: '' }, { ...plan, active: false, updatedAt: '' });
  assert.equal((await stripe.prices.retrieve(plan.processorPriceId)).active, false);
  assert.equal((await stripe.products.retrieve(plan.processorProductId)).active, false);
  assert.deepEqual(await readJson(await call('POST', `/plans/${plan.id}/archive`), 200), archived);
  assert.deepEqual(await readJson(await call('GET', `/plans/${plan.id}`), 200), archived);
});

test('200: archiving leaves the subscriptions that there are alone', async () => {
  const { id: planId } = await createPlan(till);
  const { subscription } = await createSubscription(till, { planId, trialPeriodDays: 7 });
  await call('POST', `/plans/${planId}/archive`);
  assert.deepEqual(await readJson(await call('GET', `/subscriptions/${subscription.id}`), 200), subscription);
});

test('200: archiving twenty times at once gives twenty times the same plan', async () => {
  const { id } = await createPlan(till);
  const responses = await Promise.all(
    Array.from({ length: 20 }, async () =>
      readJson<PlanBody>(await call('POST', `/plans/${id}/archive`), 200),
    ),
  );
  assert.ok(responses.every(({ active }) => !active));
});

test('200: the list is an array of all plans, newest first, or of the active ones alone', async () => {
  const older = await createPlan(till);
  const archived = await createPlan(till);
  const newer = await createPlan(till);
  await call('POST', `/plans/${archived.id}/archive`);
  const list = async (query: string) => readJson<PlanBody[]>(await call('GET', `/plans${query}`), 200);
  const ids = (plans: readonly PlanBody[]) => plans.map(({ id }) => id);
  const all = await list('');
  assert.deepEqual(ids(all).slice(0, 3), [newer.id, archived.id, older.id]);
  assert.deepEqual(ids(await list('?activeOnly=false')), ids(all));
  const active = await list('?activeOnly=true');
  assert.deepEqual(ids(active), ids(all.filter((plan) => plan.active)));
  assert.ok(!ids(active).includes(archived.id));
});

test('422: a currency that only the processor can refuse, and the idempotency key is free for a right one', async () => {
  const body = { ...values, currency: 'zzz', idempotencyKey: 'plan-3' };
  await readProblem(await call('POST', '/plans', body), 422, 'processor_rejected');
  await readJson(await call('POST', '/plans', { ...body, currency: 'eur' }), 201);
});
