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
import { createCustomer, createPlan, readPayment, readSubscription } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import { triesPerCall } from '../support/till-in-process.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

const minutesFromNow = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();

test('201: a subscription checkout; completed, the subscription and the entitlements are right before any webhook', async () => {
  const plan = await createPlan(till, { features: { seats: 3 } });
  const customer = await createCustomer(till);
  const metadata = { orderId: '1' };
  const { checkout, url } = await createCheckout(till, {
    customerId: customer.id,
    planId: plan.id,
    metadata,
  });
  assert.ok(url?.startsWith('http'));
  assert.equal(checkout.mode, 'subscription');
  assert.equal(checkout.status, 'open');
  assert.equal(checkout.amount, plan.amount);
  assert.deepEqual(
    [checkout.subscriptionId, checkout.paymentId, checkout.paymentMethodId, checkout.completedAt],
    [null, null, null, null],
  );
  const session = await stripe.checkout.sessions.retrieve(checkout.processorCheckoutSessionId);
  assert.equal(session.success_url, pages.successUrl.replace('{CHECKOUT_ID}', checkout.id));
  assert.equal(await completeCheckout(till, checkout), 'complete');
  const done = await readCheckout(till, checkout);
  assert.equal(done.checkout.status, 'completed');
  assert.equal(done.checkout.paymentStatus, 'paid');
  assert.equal(done.url, null);
  const subscription = await readSubscription(till, { id: String(done.checkout.subscriptionId) });
  assert.equal(subscription.status, 'active');
  assert.deepEqual(subscription.metadata, metadata);
  const entitlements = Object(await till.get(`/customers/${customer.id}/entitlements`));
  assert.equal(entitlements.features.seats, 3);
  await till.settle();
  assert.deepEqual((await readCheckout(till, checkout)).checkout, done.checkout);
  assert.deepEqual(
    (
      await till.sql('select count(*)::int as n from till.subscriptions where customer_id = $1', [
        customer.id,
      ])
    )[0],
    { n: 1 },
  );
});

test('201: webhooks alone complete a checkout, and nothing is left reserved', async () => {
  const plan = await createPlan(till, { group: 'webhooks' });
  const { checkout } = await createCheckout(till, {
    customerId: (await createCustomer(till)).id,
    planId: plan.id,
  });
  await completeCheckout(till, checkout);
  await till.settle();
  const [row] = await till.sql('select status, subscription_id from till.checkouts where id = $1', [
    checkout.id,
  ]);
  assert.equal(row?.['status'], 'completed');
  await readSubscription(till, { id: String(row?.['subscription_id']) });
  assert.deepEqual(await till.sql('select * from till.group_reservations'), []);
});

test('201: a payment checkout; a decline records the payment early, and cancel expires the checkout', async () => {
  const { id: customerId } = await createCustomer(till);
  const payment = { amount: 2_500, currency: 'EUR', description: 'A book' };
  const declined = await createCheckout(till, { customerId, payment });
  assert.equal(
    await completeCheckout(till, declined.checkout, { payment_method: 'pm_card_visa_chargeDeclined' }),
    'open',
  );
  await till.settle();
  const { data } = await till.get<{ data: { id: string; checkoutId: string }[] }>(
    `/payments?customerId=${customerId}`,
  );
  assert.deepEqual(
    data.map(({ checkoutId }) => checkoutId),
    [declined.checkout.id],
  );
  const early = { id: String(data[0]?.id) };
  // Events do not contain it.
  assert.equal((await readPayment(till, early)).description, 'A book');
  assert.equal((await readCheckout(till, declined.checkout)).checkout.paymentId, null);
  const secret = await readJson<{ clientSecret: string | null }>(
    await call('POST', `/payments/${early.id}/client-secret`),
    200,
  );
  assert.equal(secret.clientSecret, null);
  await readJson(await call('POST', `/payments/${early.id}/cancel`), 200);
  assert.equal((await readPayment(till, early)).status, 'canceled');
  assert.equal((await readCheckout(till, declined.checkout)).checkout.status, 'expired');

  const paid = await createCheckout(till, { customerId, payment });
  await completeCheckout(till, paid.checkout);
  const { checkout } = await readCheckout(till, paid.checkout);
  const row = await readPayment(till, { id: String(checkout.paymentId) });
  assert.equal(row.status, 'succeeded');
  assert.equal(row.description, 'A book');
  assert.equal(row.checkoutId, checkout.id);
});

test('201: a checkout with manual capture is paid when the payment is captured', async () => {
  const { id: customerId } = await createCustomer(till);
  const payment = { amount: 2_500, currency: 'eur', description: 'A table', captureMethod: 'manual' };
  const { checkout } = await createCheckout(till, { customerId, payment });
  await completeCheckout(till, checkout);
  const done = (await readCheckout(till, checkout)).checkout;
  assert.deepEqual([done.status, done.paymentStatus], ['completed', 'unpaid']);
  await readJson(await call('POST', `/payments/${done.paymentId}/capture`, {}), 200);
  assert.equal((await readCheckout(till, checkout)).checkout.paymentStatus, 'paid');
});

test('201: a card is saved and not made the default', async () => {
  const customer = await createCustomer(till);
  const { checkout } = await createCheckout(till, { customerId: customer.id, saveCard: true });
  assert.deepEqual([checkout.mode, checkout.amount, checkout.currency], ['setup', null, null]);
  await completeCheckout(till, checkout);
  const done = (await readCheckout(till, checkout)).checkout;
  assert.match(String(done.paymentMethodId), /^pm_/);
  const found = await stripe.customers.retrieve(customer.processorCustomerId);
  assert.equal(Object(found).invoice_settings.default_payment_method, null);
});

test('201: the customer is found by its external id and used as it is, or else created', async () => {
  const { id: planId } = await createPlan(till, { repeatable: true });
  const buyer = { externalId: 'buyer-1', email: 'buyer@example.com', name: 'Buyer' };
  const first = await createCheckout(till, { customer: buyer, planId });
  const other = { ...buyer, email: 'other@example.com' };
  const second = await createCheckout(till, { customer: other, planId });
  assert.equal(second.checkout.customerId, first.checkout.customerId);
  assert.equal(Object(await till.get(`/customers/${first.checkout.customerId}`)).email, buyer.email);
});

test('a repeated idempotency key returns its checkout with its URL, and after completion without', async () => {
  const body = {
    customerId: (await createCustomer(till)).id,
    planId: (await createPlan(till)).id,
    idempotencyKey: 'once',
  };
  const first = await createCheckout(till, body);
  assert.deepEqual(await createCheckout(till, body), first);
  await completeCheckout(till, first.checkout);
  await till.settle();
  const after = await createCheckout(till, body);
  assert.deepEqual(
    [after.checkout.id, after.checkout.status, after.url],
    [first.checkout.id, 'completed', null],
  );
});

test('a repeated idempotency key returns its checkout, even if its customer has another external id or is deleted', async () => {
  const body = {
    customer: { externalId: 'moving', email: 'moving@example.com' },
    planId: (await createPlan(till)).id,
    idempotencyKey: 'moving-once',
  };
  const { checkout } = await createCheckout(till, body);
  const customerPath = `/customers/${checkout.customerId}`;
  await readJson(await call('PATCH', customerPath, { externalId: 'moved' }), 200);
  assert.equal((await createCheckout(till, body)).checkout.id, checkout.id);
  assert.equal((await call('DELETE', customerPath)).status, 204);
  const again = await createCheckout(till, body);
  assert.deepEqual([again.checkout.id, again.checkout.status], [checkout.id, 'expired']);
  assert.deepEqual(Object(await till.get('/customers?email=moving@example.com')).data, []);
  const other = { ...body, customer: { ...body.customer, externalId: 'another' } };
  await readProblem(await call('POST', '/checkouts', { ...pages, ...other }), 422, 'idempotency_key_reused');
});

test('200 and 409: expire is repeatable, and refuses a completed checkout with what resulted', async () => {
  const body = { customerId: (await createCustomer(till)).id, planId: (await createPlan(till)).id };
  const { checkout } = await createCheckout(till, body);
  for (let times = 0; times < 2; times += 1) {
    const expired = await readJson<OpenedBody>(await call('POST', `/checkouts/${checkout.id}/expire`), 200);
    assert.deepEqual([expired.checkout.status, expired.url], ['expired', null]);
  }
  const paid = (await createCheckout(till, body)).checkout;
  await completeCheckout(till, paid);
  const problem = await readProblem(
    await call('POST', `/checkouts/${paid.id}/expire`),
    409,
    'checkout_completed',
  );
  const { subscriptionId } = (await readCheckout(till, paid)).checkout;
  assert.equal(Object(problem).subscriptionId, subscriptionId);
});

test('400: each mistake in the body', async () => {
  const { id: customerId } = await createCustomer(till);
  const { id: planId } = await createPlan(till);
  const payment = { amount: 500, currency: 'eur', description: 'A book' };
  for (const wrong of [
    { planId },
    { customerId, customer: { externalId: 'x', email: 'x@example.com' }, planId },
    { customerId },
    { customerId, planId, payment },
    { customerId, saveCard: true, quantity: 2 },
    { customerId, saveCard: true, trialPeriodDays: 1 },
    { customerId, payment, addOns: [] },
    { customerId, saveCard: false },
    { customerId, payment: { amount: 500, currency: 'eur' } },
    { customerId, planId, promotionCode: 'A', allowPromotionCodes: true },
    { customerId, planId, successUrl: 'shop.example.com' },
    { customerId, planId, cancelUrl: 'https://ada:secret@shop.example.com' },
    { customerId, planId, expiresAt: minutesFromNow(30) },
    { customerId, planId, expiresAt: minutesFromNow(24 * 60 + 1) },
  ])
    await readProblem(await call('POST', '/checkouts', { ...pages, ...wrong }), 400, 'invalid_request');
});

test('404: an unknown customer or plan', async () => {
  const unknown = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
  const planId = (await createPlan(till)).id;
  await readProblem(
    await call('POST', '/checkouts', { ...pages, customerId: unknown, planId }),
    404,
    'not_found',
  );
  const customerId = (await createCustomer(till)).id;
  await readProblem(
    await call('POST', '/checkouts', { ...pages, customerId, planId: unknown }),
    404,
    'not_found',
  );
});

test('503: an open checkout is never shown as it was before', async () => {
  const { checkout } = await createCheckout(till, {
    customerId: (await createCustomer(till)).id,
    planId: (await createPlan(till)).id,
  });
  await till.setFault({
    operation: 'checkout_sessions.retrieve',
    kind: 'error',
    status: 500,
    times: triesPerCall,
  });
  await readProblem(await call('GET', `/checkouts/${checkout.id}`), 503, 'processor_unavailable');
  await till.clearFaults();
});

test('trialOnce gives a trial once in a group', async () => {
  const [one, two] = [await createPlan(till, { group: 'trial' }), await createPlan(till, { group: 'trial' })];
  const { id: customerId } = await createCustomer(till);
  const wanted = { customerId, trialPeriodDays: 14, trialOnce: true };
  const first = await createCheckout(till, { ...wanted, planId: one.id });
  assert.equal(first.checkout.trialPeriodDays, 14);
  await completeCheckout(till, first.checkout);
  const { checkout } = await readCheckout(till, first.checkout);
  assert.equal(checkout.paymentStatus, 'notRequired');
  await readJson(await call('DELETE', `/subscriptions/${checkout.subscriptionId}`), 200);
  const second = await createCheckout(till, { ...wanted, planId: two.id });
  assert.equal(second.checkout.trialPeriodDays, null);
  await readJson(await call('POST', `/checkouts/${second.checkout.id}/expire`), 200);
  const again = await readJson<{ subscription: { trialEnd: string | null } }>(
    await call('POST', '/subscriptions', { ...wanted, planId: two.id }),
    201,
  );
  assert.equal(again.subscription.trialEnd, null);
});

test('a customer is deleted with their open checkouts, and a session without a Till id is ignored', async () => {
  const customer = await createCustomer(till);
  const { checkout } = await createCheckout(till, {
    customerId: customer.id,
    saveCard: true,
    metadata: { a: 'b' },
  });
  assert.equal((await call('DELETE', `/customers/${customer.id}`)).status, 204);
  const { checkout: expired } = await readCheckout(till, checkout);
  assert.deepEqual([expired.status, expired.metadata], ['expired', {}]);
  const foreign = await stripe.checkout.sessions.create({
    mode: 'setup',
    allowed_payment_method_types: ['card'],
    success_url: 'https://elsewhere.example.com',
  });
  await stripe.checkout.sessions.expire(foreign.id);
  const ignored = await till.count('webhook_events_ignored_total', { type: 'checkout.session.expired' });
  await till.settle();
  const now = await till.count('webhook_events_ignored_total', { type: 'checkout.session.expired' });
  assert.equal(now, ignored + 1);
});
