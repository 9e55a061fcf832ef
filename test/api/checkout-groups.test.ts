import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { newestInvoice, waitingItems } from '../support/changes.ts';
import {
  completeCheckout,
  createCheckout,
  type OpenedBody,
  pages,
  readCheckout,
} from '../support/checkouts.ts';
import { readJson } from '../support/client.ts';
import {
  confirmSecret,
  createCustomer,
  createPlan,
  createSubscription,
  readSubscription,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { startTill } from '../support/till.ts';
import { triesPerCall } from '../support/till-in-process.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

let groups = 0;

/** A customer and two plans of a group of their own. */
async function createScene() {
  groups += 1;
  const group = `group-${groups}`;
  const { id: customerId, processorCustomerId } = await createCustomer(till);
  const [one, two] = [await createPlan(till, { group }), await createPlan(till, { group })];
  return { customerId, processorCustomerId, one, two };
}

async function createPaid(customerId: string, planId: string): Promise<{ readonly id: string }> {
  const { subscription, clientSecret } = await createSubscription(till, { customerId, planId });
  await confirmSecret(till, clientSecret);
  await till.settle();
  return subscription;
}

async function countSessions(customer: string, status?: 'open'): Promise<number> {
  const filter = status === undefined ? {} : { status };
  return (await stripe.checkout.sessions.list({ customer, ...filter, limit: 100 })).data.length;
}

async function assertSubscribed(response: Response, subscriptionId: string | null): Promise<void> {
  const problem = await readProblem(response, 409, 'already_subscribed');
  assert.equal(Object(problem).subscriptionId, subscriptionId);
}

test('200: fifty requests with the same terms share one checkout', async () => {
  const { customerId, processorCustomerId, one } = await createScene();
  const body = { ...pages, customerId, planId: one.id };
  const responses = await Promise.all(Array.from({ length: 50 }, () => call('POST', '/checkouts', body)));
  const statuses = responses.map(({ status }) => status).toSorted();
  assert.deepEqual(statuses, [...Array.from({ length: 49 }, () => 200), 201]);
  const bodies = await Promise.all(responses.map((response) => response.json() as Promise<OpenedBody>));
  assert.equal(new Set(bodies.map(({ checkout, url }) => `${checkout.id} ${url}`)).size, 1);
  assert.equal(await countSessions(processorCustomerId), 1);
});

test('201: other terms expire the open checkout first, and so does one that expires soon', async () => {
  const { customerId, processorCustomerId, one, two } = await createScene();
  const first = await createCheckout(till, { customerId, planId: one.id });
  const second = await createCheckout(till, { customerId, planId: two.id });
  assert.equal((await readCheckout(till, first.checkout)).checkout.status, 'expired');
  assert.equal(await countSessions(processorCustomerId, 'open'), 1);
  await till.sql(`update till.checkouts set expires_at = now() + interval '9 minutes' where id = $1`, [
    second.checkout.id,
  ]);
  const third = await createCheckout(till, { customerId, planId: two.id });
  assert.notEqual(third.checkout.id, second.checkout.id);
  assert.equal(await countSessions(processorCustomerId, 'open'), 1);
});

test('409: a checkout that was paid meanwhile is recorded, and its subscription is named', async () => {
  const { customerId, one, two } = await createScene();
  const { checkout } = await createCheckout(till, { customerId, planId: one.id });
  await completeCheckout(till, checkout);
  const response = await call('POST', '/checkouts', { ...pages, customerId, planId: two.id });
  const { subscriptionId, status } = (await readCheckout(till, checkout)).checkout;
  assert.equal(status, 'completed');
  await assertSubscribed(response, subscriptionId);
  await assertSubscribed(
    await call('POST', '/checkouts', { ...pages, customerId, planId: one.id }),
    subscriptionId,
  );
});

test('POST and PATCH of a subscription expire an open checkout of the group', async () => {
  const { customerId, processorCustomerId, one, two } = await createScene();
  const first = await createCheckout(till, { customerId, planId: one.id });
  await createSubscription(till, { customerId, planId: two.id });
  assert.equal((await readCheckout(till, first.checkout)).checkout.status, 'expired');

  const other = await createScene();
  const free = await createPlan(till);
  const active = await createPaid(other.customerId, free.id);
  const open = await createCheckout(till, { customerId: other.customerId, planId: other.one.id });
  const change = await call('PATCH', `/subscriptions/${active.id}`, { planId: other.two.id });
  assert.equal(change.status, 200, await change.clone().text());
  assert.equal((await readCheckout(till, open.checkout)).checkout.status, 'expired');
  assert.equal(await countSessions(processorCustomerId, 'open'), 0);
});

test('409: a payment in progress keeps the checkout, and the customer too', async () => {
  const { customerId, one, two } = await createScene();
  const { checkout } = await createCheckout(till, { customerId, planId: one.id });
  const fault = { operation: 'checkout_sessions.expire', kind: 'error', status: 400, times: 1 } as const;
  for (const [method, path, body] of [
    ['POST', '/checkouts', { ...pages, customerId, planId: two.id }],
    ['POST', '/subscriptions', { customerId, planId: two.id }],
    ['POST', `/checkouts/${checkout.id}/expire`, undefined],
    ['DELETE', `/customers/${customerId}`, undefined],
  ] as const) {
    await till.setFault(fault);
    const response = await call(method, path, body);
    const problem = await readProblem(response, 409, 'checkout_in_progress');
    assert.equal(Object(problem).checkoutId, checkout.id);
    assert.ok(Number(response.headers.get('retry-after')) > 0);
  }
  await till.clearFaults();
  assert.equal((await readCheckout(till, checkout)).checkout.status, 'open');
});

test('503: without a response from the processor, the open checkout keeps the group', async () => {
  const { customerId, one, two } = await createScene();
  const { checkout } = await createCheckout(till, { customerId, planId: one.id });
  await till.setFault({
    operation: 'checkout_sessions.expire',
    kind: 'error',
    status: 500,
    times: triesPerCall,
  });
  const response = await call('POST', '/checkouts', { ...pages, customerId, planId: two.id });
  await readProblem(response, 503, 'processor_unavailable');
  await till.clearFaults();
  const again = await createCheckout(till, { customerId, planId: one.id }, 200);
  assert.equal(again.checkout.id, checkout.id);
});

test('201 and 409: an incomplete subscription is canceled first, unless it was paid meanwhile', async () => {
  const { customerId, one, two } = await createScene();
  const { subscription } = await createSubscription(till, { customerId, planId: one.id });
  const { checkout } = await createCheckout(till, { customerId, planId: two.id });
  assert.match(
    Object(await till.get(`/subscriptions/${subscription.id}`)).status,
    /^(canceled|incomplete_expired)$/,
  );
  await completeCheckout(till, checkout);
  const done = (await readCheckout(till, checkout)).checkout;
  assert.equal(done.status, 'completed');

  const other = await createScene();
  const paid = await createPaid(other.customerId, other.one.id);
  await till.sql(`update till.subscriptions set status = 'incomplete' where id = $1`, [paid.id]);
  const body = { ...pages, customerId: other.customerId, planId: other.two.id };
  await assertSubscribed(await call('POST', '/checkouts', body), paid.id);
  assert.equal(Object(await till.get(`/subscriptions/${paid.id}`)).status, 'active');
});

test('an item of the customer survives the end of an incomplete subscription whose invoice has taken it, once', async () => {
  for (const end of ['replaced', 'canceled', 'expired']) {
    const { customerId, processorCustomerId: customer, one, two } = await createScene();
    const fee = { customer, amount: 25_000, currency: 'eur', description: 'Setup fee' };
    await stripe.invoiceItems.create(fee);
    const { subscription } = await createSubscription(till, { customerId, planId: one.id });
    const waiting = async () => (await waitingItems(till, subscription)).map(({ amount }) => amount);
    assert.deepEqual(await waiting(), []);
    if (end === 'replaced') await createCheckout(till, { customerId, planId: two.id });
    else if (end === 'canceled') await call('DELETE', `/subscriptions/${subscription.id}`);
    else await till.control('clock', { advanceSeconds: 24 * 3_600 });
    if (end !== 'expired') assert.deepEqual(await waiting(), [fee.amount]);
    await till.settle();
    assert.deepEqual(await waiting(), [fee.amount]);
    const other = await createPlan(till);
    const next = await createSubscription(till, { customerId, planId: other.id });
    assert.equal((await newestInvoice(till, next.subscription)).amount_due, 900 + fee.amount);
  }
});

test('409: an incomplete subscription that is paid just before it would be ended stays', async () => {
  const proxy = await startProcessorProxy(till);
  const slow = await startTill({ in: 'process', on: till, processorUrl: proxy.url });
  const { customerId, one, two } = await createScene();
  const { subscription, clientSecret } = await createSubscription(till, { customerId, planId: one.id });
  const { data } = await stripe.invoices.list({ subscription: subscription.processorSubscriptionId });
  proxy.holdOne(`/v1/invoices/${data[0]?.id}/void`);
  const body = { ...pages, customerId, planId: two.id };
  const refusal = slow.call('POST', '/checkouts', body);
  const held = await proxy.nextHeld();
  await confirmSecret(till, clientSecret);
  held.release();
  await assertSubscribed(await refusal, subscription.id);
  assert.equal((await readSubscription(till, subscription)).status, 'active');
  assert.deepEqual(
    await till.sql('select * from till.group_reservations where customer_id = $1', [customerId]),
    [],
  );
  await slow.stop();
});

test('409: an incomplete subscription that is paid before the request ends it is found again', async () => {
  const proxy = await startProcessorProxy(till);
  const slow = await startTill({ in: 'process', on: till, processorUrl: proxy.url });
  const { customerId, processorCustomerId, one, two } = await createScene();
  const coupon = await stripe.coupons.create({ percent_off: 10, duration: 'once' });
  await stripe.promotionCodes.create({ promotion: { type: 'coupon', coupon: coupon.id }, code: 'TEN' });
  const { subscription, clientSecret } = await createSubscription(till, { customerId, planId: one.id });
  proxy.holdOne('/v1/promotion_codes', 'GET');
  const refusal = slow.call('POST', '/checkouts', {
    ...pages,
    customerId,
    planId: two.id,
    promotionCode: 'TEN',
  });
  const held = await proxy.nextHeld();
  await confirmSecret(till, clientSecret);
  await till.settle();
  held.release();
  await assertSubscribed(await refusal, subscription.id);
  assert.equal(await countSessions(processorCustomerId), 0);
  await slow.stop();
});

test('409: a plan of an open checkout does not become an add-on', async () => {
  const { customerId, one } = await createScene();
  const free = await createPlan(till);
  const { checkout } = await createCheckout(till, { customerId, planId: free.id });
  await readProblem(await call('PATCH', `/plans/${free.id}`, { addOn: true }), 409, 'plan_in_use');
  await readJson(await call('POST', `/checkouts/${checkout.id}/expire`), 200);
  await readJson(await call('PATCH', `/plans/${free.id}`, { addOn: true }), 200);
  assert.equal(one.addOn, false);
});
