import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeForeignAccount, makePayer } from '../support/foreign-account.ts';
import { runImport } from '../support/imports.ts';
import type { PageBody, PlanBody, SubscriptionBody } from '../support/objects.ts';
import { startTill } from '../support/till.ts';

test('the prices of one product are plans of their own that share its name, features and group', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  const account = await makeForeignAccount(till);
  await runImport(till);
  const planOf = async (priceId: string) => {
    const plans = await till.get<PlanBody[]>('/plans');
    const plan = plans.find(({ processorPriceId }) => processorPriceId === priceId);
    assert.ok(plan);
    return plan;
  };
  const [monthly, yearly] = [await planOf(account.monthly), await planOf(account.yearly)];
  assert.equal(monthly.processorProductId, yearly.processorProductId);
  const change = { name: 'Pro 2', features: { reports: true }, group: 'base' };
  assert.equal((await till.call('PATCH', `/plans/${monthly.id}`, change)).status, 200);
  await till.settle();
  assert.partialDeepStrictEqual(await planOf(account.yearly), change);

  // A plan that is archived leaves the other plans of its product active.
  await till.post(`/plans/${monthly.id}/archive`);
  await till.settle();
  assert.deepEqual(
    [(await planOf(account.monthly)).active, (await planOf(account.yearly)).active],
    [false, true],
  );
  await till.post(`/plans/${yearly.id}/archive`);
  await till.settle();
  assert.equal((await planOf(account.yearly)).active, false);
  assert.equal((await till.stripe.products.retrieve(yearly.processorProductId)).active, false);
});

test('a subscription whose price has no plan gets one, even if the customer was adopted before', async (t) => {
  const till = await startTill({ in: 'process', for: t });
  await runImport(till);
  const customer = await makePayer(till.stripe, { email: 'ada@example.com' });
  const subscribe = async (name: string) => {
    const { id: price } = await till.stripe.prices.create({
      ...{ currency: 'eur', unit_amount: 500, recurring: { interval: 'week' }, product_data: { name } },
    });
    return till.stripe.subscriptions.create({ customer, items: [{ price }] });
  };
  const first = await subscribe('First');
  await till.settle();
  assert.equal((await till.get<PageBody<SubscriptionBody>>('/subscriptions')).total, 0);
  const { counts } = await runImport(till);
  assert.deepEqual(counts['plan'], { found: 1, adopted: 1 });
  const [subscription] = (await till.get<PageBody<SubscriptionBody>>('/subscriptions')).data;
  assert.equal(subscription?.processorSubscriptionId, first.id);
  const plan = await till.get<PlanBody>(`/plans/${subscription?.planId}`);
  assert.partialDeepStrictEqual(plan, { name: 'First', amount: 500, interval: 'week', intervalCount: 1 });

  // The customer has been adopted, so its next subscription needs only its plan.
  const second = await subscribe('Second');
  await till.settle();
  await runImport(till);
  const all = (await till.get<PageBody<SubscriptionBody>>('/subscriptions')).data;
  assert.deepEqual(all.map(({ processorSubscriptionId: id }) => id).sort(), [first.id, second.id].sort());
});
