import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readJson } from '../support/client.ts';
import {
  assertResource,
  type CreatedSubscriptionBody,
  confirmSecret,
  createCustomer,
  createPlan,
  createSubscription,
  type PlanBody,
  plainSubscription,
  type SubscriptionBody,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
const dayMs = 86_400_000;

async function readSubscription({ id }: SubscriptionBody): Promise<SubscriptionBody> {
  return readJson(await call('GET', `/subscriptions/${id}`), 200);
}

test('201: a subscription begins unpaid, with the secret of its first invoice and exactly the fields of the spec', async () => {
  const customer = await createCustomer(till);
  const plan = await createPlan(till);
  const values = { customerId: customer.id, planId: plan.id };
  const response = await call('POST', '/subscriptions', values);
  const { subscription, clientSecret, ...rest } = await readJson<CreatedSubscriptionBody>(response, 201);
  assert.deepEqual(rest, { setupClientSecret: null });
  const there = await stripe.subscriptions.retrieve(subscription.processorSubscriptionId, {
    expand: ['latest_invoice.confirmation_secret'],
  });
  const item = there.items.data[0];
  const timeOf = (seconds = 0) => new Date(seconds * 1_000).toISOString();
  assertResource(subscription, {
    ...values,
    ...plainSubscription,
    processorSubscriptionId: there.id,
    status: 'incomplete',
    entitled: false,
    currentPeriodStart: timeOf(item?.current_period_start),
    currentPeriodEnd: timeOf(item?.current_period_end),
    trialEnd: null,
    metadata: {},
  });
  assert.ok(typeof there.latest_invoice === 'object');
  assert.equal(clientSecret, there.latest_invoice?.confirmation_secret?.client_secret);
  assert.deepEqual(
    [there.customer, item?.price.id, there.metadata['till_id']],
    [customer.processorCustomerId, plan.processorPriceId, subscription.id],
  );
});

test('201: a trial defers the first charge: the customer is entitled at once, and there is no secret', async () => {
  for (const trialPeriodDays of [1, 730]) {
    const { subscription, clientSecret } = await createSubscription(till, { trialPeriodDays });
    assert.deepEqual([subscription.status, subscription.entitled, clientSecret], ['trialing', true, null]);
    const { trialEnd, currentPeriodStart, currentPeriodEnd } = subscription;
    assert.equal(trialEnd, currentPeriodEnd);
    assert.equal(Date.parse(trialEnd ?? '') - Date.parse(currentPeriodStart ?? ''), trialPeriodDays * dayMs);
  }
});

test('201: a trial of 0 days is no trial', async () => {
  const { subscription, clientSecret } = await createSubscription(till, { trialPeriodDays: 0 });
  assert.deepEqual([subscription.status, subscription.trialEnd], ['incomplete', null]);
  assert.equal(typeof clientSecret, 'string');
});

test('201: a free plan has nothing to confirm, and is active at once', async () => {
  const { id: planId } = await createPlan(till, { amount: 0 });
  const { subscription, clientSecret } = await createSubscription(till, { planId });
  assert.deepEqual([subscription.status, clientSecret], ['active', null]);
});

test('201: a repeated idempotency key returns the same subscription and a newly read secret; none is created twice', async () => {
  const customer = await createCustomer(till);
  const { id: planId } = await createPlan(till);
  const body = { customerId: customer.id, planId, idempotencyKey: 'subscription-1' };
  const first = await readJson<CreatedSubscriptionBody>(await call('POST', '/subscriptions', body), 201);
  const again = await call('POST', '/subscriptions', { ...body, trialPeriodDays: 0 });
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(await readJson(again, 201), first);
  const { data } = await stripe.subscriptions.list({ customer: customer.processorCustomerId, status: 'all' });
  assert.equal(data.length, 1);
});

test('201: a repeated idempotency key after the first invoice was paid returns the active subscription, without a secret', async () => {
  const { id: customerId } = await createCustomer(till);
  const { id: planId } = await createPlan(till);
  const body = { customerId, planId, idempotencyKey: 'subscription-2' };
  const first = await readJson<CreatedSubscriptionBody>(await call('POST', '/subscriptions', body), 201);
  await confirmSecret(till, first.clientSecret);
  const again = await readJson<CreatedSubscriptionBody>(await call('POST', '/subscriptions', body), 201);
  assert.deepEqual([again.subscription.id, again.subscription.status], [first.subscription.id, 'active']);
  assert.equal(again.clientSecret, null);
  assert.equal((await readSubscription(first.subscription)).status, 'active');
});

test('201: a repeated idempotency key returns its subscription even if the plan has been archived since', async () => {
  const { id: customerId } = await createCustomer(till);
  const { id: planId } = await createPlan(till);
  const body = { customerId, planId, idempotencyKey: 'subscription-3' };
  const first = await readJson<CreatedSubscriptionBody>(await call('POST', '/subscriptions', body), 201);
  await call('POST', `/plans/${planId}/archive`);
  assert.deepEqual(await readJson(await call('POST', '/subscriptions', body), 201), first);
});

test('200: a subscription is read as it was created, and no secret with it', async () => {
  const { subscription } = await createSubscription(till);
  assert.deepEqual(await readSubscription(subscription), subscription);
});

test('200: a subscription is canceled at once, whatever its state, and again changes nothing', async () => {
  const incomplete = await createSubscription(till);
  const trialing = await createSubscription(till, { trialPeriodDays: 7 });
  const paid = await createSubscription(till);
  await confirmSecret(till, paid.clientSecret);
  for (const { subscription } of [incomplete, trialing, paid]) {
    const path = `/subscriptions/${subscription.id}`;
    const canceled = await readJson<SubscriptionBody>(await call('DELETE', path), 200);
    const { status, ...there } = await stripe.subscriptions.retrieve(subscription.processorSubscriptionId);
    assert.equal(status, 'canceled');
    const { canceled_at: canceledAt, ended_at: endedAt, default_payment_method: card } = there;
    assert(canceledAt !== null && endedAt !== null);
    assert.deepEqual(
      { ...canceled, updatedAt: '' },
      {
        ...{ ...subscription, status: 'canceled', entitled: false, updatedAt: '' },
        canceledAt: new Date(canceledAt * 1_000).toISOString(),
        endedAt: new Date(endedAt * 1_000).toISOString(),
        defaultPaymentMethodId: card,
      },
    );
    assert.deepEqual(await readJson(await call('DELETE', path), 200), canceled);
    assert.deepEqual(await readSubscription(subscription), canceled);
  }
});

test('200: a subscription that was canceled at the processor is corrected first', async () => {
  const { subscription } = await createSubscription(till, { trialPeriodDays: 7 });
  await stripe.subscriptions.cancel(subscription.processorSubscriptionId);
  assert.equal((await readSubscription(subscription)).status, 'trialing', 'the webhook has not arrived');
  const response = await call('DELETE', `/subscriptions/${subscription.id}`);
  assert.equal((await readJson<SubscriptionBody>(response, 200)).status, 'canceled');
});

test('200: twenty cancels at once all return the canceled subscription', async () => {
  const { subscription } = await createSubscription(till, { trialPeriodDays: 7 });
  const responses = await Promise.all(
    Array.from({ length: 20 }, async () =>
      readJson<SubscriptionBody>(await call('DELETE', `/subscriptions/${subscription.id}`), 200),
    ),
  );
  assert.ok(responses.every(({ status }) => status === 'canceled'));
});

test('404: a customer or a plan that does not exist is named', async () => {
  const { id: customerId } = await createCustomer(till);
  const { id: planId } = await createPlan(till);
  const noCustomer = await call('POST', '/subscriptions', { customerId: unknownId, planId });
  assert.match((await readProblem(noCustomer, 404, 'not_found')).detail, /customer/);
  const noPlan = await call('POST', '/subscriptions', { customerId, planId: unknownId });
  assert.match((await readProblem(noPlan, 404, 'not_found')).detail, /plan/);
});

test('409: an archived plan takes no new subscription, and the idempotency key stays free for another plan', async () => {
  const { id: customerId } = await createCustomer(till);
  const archived = await createPlan(till);
  const active = await createPlan(till);
  await call('POST', `/plans/${archived.id}/archive`);
  const body = { customerId, planId: archived.id, idempotencyKey: 'subscription-4' };
  await readProblem(await call('POST', '/subscriptions', body), 409, 'plan_archived');
  await readJson(await call('POST', '/subscriptions', { ...body, planId: active.id }), 201);
});

test('422: an idempotency key that was used for another subscription', async () => {
  const { id: customerId } = await createCustomer(till);
  const { id: planId } = await createPlan(till);
  const body = { customerId, planId, idempotencyKey: 'subscription-5' };
  await readJson(await call('POST', '/subscriptions', body), 201);
  for (const change of [{ trialPeriodDays: 7 }, { planId: unknownId }, { customerId: unknownId }]) {
    const response = await call('POST', '/subscriptions', { ...body, ...change });
    await readProblem(response, 422, 'idempotency_key_reused');
  }
});

test('404 and 409: a row that differs from the processor is corrected first, and the response shows the correction', async () => {
  const [customer, plan] = [await createCustomer(till), await createPlan(till)];
  const request = { customerId: customer.id, planId: plan.id, idempotencyKey: 'behind' };
  await till.stripe.prices.update(plan.processorPriceId, { active: false });
  await readProblem(await call('POST', '/subscriptions', request), 409, 'plan_archived');
  assert.equal((await readJson<PlanBody>(await call('GET', `/plans/${plan.id}`), 200)).active, false);

  const { id: planId } = await createPlan(till);
  await till.stripe.customers.del(customer.processorCustomerId);
  await readProblem(await call('POST', '/subscriptions', { ...request, planId }), 404, 'not_found');
  await readProblem(await call('GET', `/customers/${customer.id}`), 404, 'not_found');
});
