import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readJson } from '../support/client.ts';
import { createPlan, createSubscription, type PlanBody } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

const values = { name: 'Gold', amount: 1_900, currency: 'eur', interval: 'month' };
const features = { seats: 5, sso: true, beta: false, support: 'e-mail "only"', 'Größe 漢': '', least: -7 };

async function read({ id }: PlanBody): Promise<PlanBody> {
  return readJson(await call('GET', `/plans/${id}`), 200);
}

async function change({ id }: PlanBody, body: object): Promise<PlanBody> {
  return readJson(await call('PATCH', `/plans/${id}`, body), 200);
}

test('201: features, group and the number of intervals are kept here and at the processor', async () => {
  const body = { ...values, intervalCount: 3, features, group: 'base plans' };
  const plan = await readJson<PlanBody>(await call('POST', '/plans', body), 201);
  assert.deepEqual([plan.intervalCount, plan.features, plan.group], [3, features, 'base plans']);
  assert.deepEqual(await read(plan), plan);
  const price = await stripe.prices.retrieve(plan.processorPriceId, { expand: ['product'] });
  assert.equal(price.recurring?.interval_count, 3);
  const { subscription } = await createSubscription(till, { planId: plan.id });
  const [start, end] = [subscription.currentPeriodStart, subscription.currentPeriodEnd].map((time) =>
    new Date(String(time)).getUTCMonth(),
  );
  assert.equal((Number(end) - Number(start) + 12) % 12, 3);
  assert.deepEqual(plan.metadata, {});
});

test('201: every longest billing period is taken, and one interval more is a 400 that says so', async () => {
  for (const [interval, most] of [
    ['day', 52],
    ['week', 52],
    ['month', 36],
    ['year', 3],
  ] as const) {
    assert.equal((await createPlan(till, { interval, intervalCount: most })).intervalCount, most);
    const body = { ...values, interval, intervalCount: most + 1 };
    const problem = await readProblem(await call('POST', '/plans', body), 400, 'invalid_request');
    assert.deepEqual(
      problem.errors?.map(({ path }) => path),
      ['body.intervalCount'],
    );
  }
});

test('201: a request that spells out the defaults is the same request', async () => {
  const body = { ...values, idempotencyKey: 'plan-defaults' };
  const first = await readJson(await call('POST', '/plans', body), 201);
  const spelt = { ...body, intervalCount: 1, features: {}, group: null };
  const again = await call('POST', '/plans', spelt);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(await readJson(again, 201), first);
});

test('201: features in another order are the same request', async () => {
  const body = { ...values, features: { a: 1, b: true }, idempotencyKey: 'plan-order' };
  const first = await readJson(await call('POST', '/plans', body), 201);
  const again = await call('POST', '/plans', { ...body, features: { b: true, a: 1 } });
  assert.deepEqual(await readJson(again, 201), first);
  const other = { ...body, features: { a: 1, b: false } };
  await readProblem(await call('POST', '/plans', other), 422, 'idempotency_key_reused');
});

test('201, 200: the largest features and 20 keys of metadata fit, and can be replaced and removed', async () => {
  const large = (unit: string) =>
    Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [String(index).padEnd(40, 'k'), unit.repeat(100)]),
    );
  const metadata = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`m${index}`, 'x']));
  const plan = await readJson<PlanBody>(
    await call('POST', '/plans', { ...values, features: large('"'), group: 'g'.repeat(64), metadata }),
    201,
  );
  assert.deepEqual([plan.features, plan.metadata], [large('"'), metadata]);
  assert.deepEqual((await change(plan, { features: large('😀') })).features, large('😀'));
  assert.deepEqual((await change(plan, { features: { left: 1 } })).features, { left: 1 });
  const empty = await change(plan, { features: {}, group: null });
  assert.deepEqual([empty.features, empty.group, empty.metadata], [{}, null, metadata]);
  const product = await stripe.products.retrieve(plan.processorProductId);
  assert.deepEqual(Object.keys(product.metadata).sort(), [...Object.keys(metadata), 'till_id'].sort());
});

test('200: a PATCH replaces the features as a whole, and keeps what it does not name', async () => {
  const plan = await createPlan(till, { features: { seats: 1, sso: true }, group: 'base' });
  const changed = await change(plan, { features: { seats: 2 } });
  assert.deepEqual([changed.features, changed.group, changed.name], [{ seats: 2 }, 'base', plan.name]);
  const moved = await change(plan, { group: 'other' });
  assert.deepEqual([moved.features, moved.group], [{ seats: 2 }, 'other']);
  assert.deepEqual(await read(plan), moved);
  await till.settle();
  assert.deepEqual(await read(plan), moved);
  const { processorPriceId, ...rest } = plan;
  assert.equal(processorPriceId, moved.processorPriceId);
  assert.deepEqual(
    { ...moved, features: rest.features, group: rest.group, updatedAt: '' },
    { ...plan, updatedAt: '' },
  );
});

test('200: an archived plan can be changed, and stays archived', async () => {
  const plan = await createPlan(till);
  await call('POST', `/plans/${plan.id}/archive`);
  const changed = await change(plan, { features: { seats: 2 } });
  assert.deepEqual([changed.features, changed.active], [{ seats: 2 }, false]);
});

test('features and group that are edited in the dashboard follow, and what is not valid there is ignored', async () => {
  const plan = await createPlan(till, { features: { seats: 1 }, group: 'base' });
  const edit = async (metadata: Readonly<Record<string, string>>, name: string) => {
    await stripe.products.update(plan.processorProductId, { name, metadata });
    await till.settle();
    return read(plan);
  };
  const edited = await edit({ till_features_1: '{"seats":9}', till_group: 'vip' }, 'Edited');
  assert.deepEqual([edited.features, edited.group, edited.name], [{ seats: 9 }, 'vip', 'Edited']);
  const cut = await edit({ till_features_1: '{"seats":9,', till_features_2: '{"sso":true}' }, 'Cut');
  assert.deepEqual([cut.features, cut.name], [{ sso: true }, 'Cut']);
  const cleared = await edit({ till_features_2: '', till_group: '' }, 'Cleared');
  assert.deepEqual([cleared.features, cleared.group], [{}, null]);
  const [failed] = await till.sql<{ count: string }>(
    "select count(*) from till.webhook_events where state = 'failed'",
  );
  assert.equal(Number(failed?.count), 0);
});
