import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  type CheckoutBody,
  completeCheckout,
  createCheckout,
  pages,
  readCheckout,
} from '../support/checkouts.ts';
import { assertMirrored, readMirroredIds } from '../support/checks/mirrors.ts';
import { readEvents } from '../support/checks/outbox.ts';
import { createClient, readJson } from '../support/client.ts';
import { parseCsv } from '../support/csv.ts';
import { dumpTables } from '../support/dump-tables.ts';
import { createCustomer, createPlan, readSubscription } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { createPromotionCode } from '../support/promotion-codes.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';

const till = await startTill({ in: 'process', for: { after }, logLevel: 'debug', mustNotLogErrors: true });
const { call, stripe } = till;

async function createOrder(more: object = {}): Promise<{ customerId: string; planId: string }> {
  const [customer, plan] = [await createCustomer(till), await createPlan(till)];
  return { customerId: customer.id, planId: plan.id, ...more };
}

test('waitSeconds: the response comes when a webhook completes the checkout, or when the time is over', async () => {
  const { checkout } = await createCheckout(till, await createOrder());
  const path = `/checkouts/${checkout.id}?waitSeconds=30`;
  const reads = () => till.count('processor_request_duration_seconds', { operation: 'checkouts.read' });
  const before = await reads();
  const waiting = till.get<{ checkout: CheckoutBody; url: string | null }>(path);
  // The first look has found it open.
  await until(async () => (await reads()) > before);
  await completeCheckout(till, checkout);
  await till.settle();
  const { checkout: done, url } = await waiting;
  assert.deepEqual([done.status, url], ['completed', null]);

  const open = (await createCheckout(till, await createOrder())).checkout;
  const late = await till.get<{ checkout: CheckoutBody; url: string | null }>(
    `/checkouts/${open.id}?waitSeconds=1`,
  );
  assert.equal(late.checkout.status, 'open');
  assert.ok(late.url !== null);
  await readProblem(await call('GET', `/checkouts/${open.id}?waitSeconds=31`), 400, 'invalid_request');
});

test('waitSeconds: a buyer who paid just after another request read the checkout does not wait for five seconds', async () => {
  const { checkout } = await createCheckout(till, await createOrder());
  await readCheckout(till, checkout);
  await completeCheckout(till, checkout);
  // Shares what the first request read, and no webhook comes.
  const path = `/checkouts/${checkout.id}?waitSeconds=4`;
  const ended = await till.get<{ checkout: CheckoutBody; url: string | null }>(path);
  assert.deepEqual([ended.checkout.status, ended.url], ['completed', null]);
});

test('an API key without write gets no URL, and can neither create nor expire', async () => {
  const { key } = await till.post<{ key: string }>('/api-keys', { name: 'reader', scopes: ['read'] });
  const reader = createClient(till, key);
  const order = await createOrder();
  const { checkout, url } = await createCheckout(till, order);
  assert.ok(url !== null);
  const shown = await readCheckout(reader, checkout);
  assert.deepEqual([shown.checkout.status, shown.url], ['open', null]);
  await readProblem(await reader.call('POST', '/checkouts', { ...pages, ...order }), 403, 'forbidden');
  await readProblem(await reader.call('POST', `/checkouts/${checkout.id}/expire`), 403, 'forbidden');
});

test('the list has filters and a CSV form, neither with a URL', async () => {
  const order = await createOrder();
  const first = (await createCheckout(till, order)).checkout;
  await readJson(await call('POST', `/checkouts/${first.id}/expire`), 200);
  const second = (await createCheckout(till, order)).checkout;
  const list = async (filter: string) =>
    (
      await till.get<{ data: readonly CheckoutBody[] }>(`/checkouts?customerId=${order.customerId}${filter}`)
    ).data.map(({ id }) => id);
  assert.deepEqual(await list(''), [second.id, first.id]);
  assert.deepEqual(await list('&status=expired'), [first.id]);
  assert.deepEqual(await list(`&createdAfter=${second.createdAt}`), [second.id]);
  const csv = await call('GET', `/checkouts?customerId=${order.customerId}`, undefined, {
    accept: 'text/csv',
  });
  const text = await csv.text();
  assert.equal(parseCsv(text).length, 3);
  assert.ok(!text.includes('/c/pay'), text);
});

test('a promotion code of the request and one entered on the page change the amount', async () => {
  const order = await createOrder();
  const { code } = await createPromotionCode(till);
  const given = await createCheckout(till, { ...order, promotionCode: code });
  assert.equal(given.checkout.amount, 720);
  const entered = (await createCheckout(till, { ...order, allowPromotionCodes: true })).checkout;
  assert.equal(entered.amount, 900);
  assert.equal(await completeCheckout(till, entered, { promotion_code: code }), 'complete');
  const done = (await readCheckout(till, entered)).checkout;
  assert.deepEqual([done.amount, done.paymentStatus], [720, 'paid']);
  const unknown = { ...pages, ...(await createOrder()), promotionCode: 'NO-SUCH-CODE' };
  await readProblem(await call('POST', '/checkouts', unknown), 422, 'promotion_code_invalid');
});

test('add-ons are sold with the plan, and no card is asked for in a trial with trialEndWithoutCard', async () => {
  const addOn = await createPlan(till, { addOn: true, amount: 300 });
  const addOns = [{ planId: addOn.id, quantity: 2 }];
  const order = await createOrder({ addOns, quantity: 3 });
  const { checkout } = await createCheckout(till, order);
  assert.deepEqual([checkout.addOns, checkout.quantity, checkout.amount], [addOns, 3, 3_300]);
  await completeCheckout(till, checkout);
  const { subscriptionId } = (await readCheckout(till, checkout)).checkout;
  const sold = await readSubscription(till, { id: String(subscriptionId) });
  assert.deepEqual([sold.addOns, sold.quantity], [addOns, 3]);

  const trial = { ...(await createOrder()), trialPeriodDays: 7, trialEndWithoutCard: 'pause' };
  const free = (await createCheckout(till, trial)).checkout;
  await completeCheckout(till, free);
  const done = (await readCheckout(till, free)).checkout;
  assert.deepEqual([done.paymentStatus, done.trialPeriodDays], ['notRequired', 7]);
  const { processorSubscriptionId } = await readSubscription(till, { id: String(done.subscriptionId) });
  const found = await stripe.subscriptions.retrieve(processorSubscriptionId);
  assert.equal(found.default_payment_method, null);
  assert.equal(found.trial_settings?.end_behavior.missing_payment_method, 'pause');
});

test('400: a URL of another origin than RETURN_URL_ORIGINS', async () => {
  const returnUrlOrigins = ['https://shop.example.com'];
  const strict = await startTill({ in: 'process', on: till, returnUrlOrigins });
  const order = await createOrder();
  await createCheckout(strict, order);
  for (const field of ['successUrl', 'cancelUrl']) {
    const body = { ...pages, ...order, [field]: 'https://evil.example.com/' };
    const { errors } = await readProblem(
      await strict.call('POST', '/checkouts', body),
      400,
      'invalid_request',
    );
    assert.equal(Object(errors)[0].path, `body.${field}`);
  }
  await strict.stop();
  till.deliverTo(() => till.url);
});

test('each checkout has its events and is counted once, and its URL is stored and logged nowhere', async () => {
  const counted = (outcome: string) => till.count('checkouts_total', { mode: 'payment', outcome });
  const before = [await counted('created'), await counted('completed'), await counted('expired')];
  const { id: customerId } = await createCustomer(till);
  const payment = { amount: 500, currency: 'eur', description: 'A book', captureMethod: 'manual' };
  const [paid, left] = [
    await createCheckout(till, { customerId, payment }),
    await createCheckout(till, { customerId, payment }),
  ];
  await completeCheckout(till, paid.checkout);
  await till.settle();
  const { paymentId } = (await readCheckout(till, paid.checkout)).checkout;
  await readJson(await call('POST', `/payments/${paymentId}/capture`, {}), 200);
  await readJson(await call('POST', `/checkouts/${left.checkout.id}/expire`), 200);
  await till.settle();
  const typesOf = async ({ id }: CheckoutBody) => (await readEvents(till.sql, id)).map(({ type }) => type);
  assert.deepEqual(await typesOf(paid.checkout), [
    'checkout.created',
    'checkout.completed',
    'checkout.updated',
  ]);
  assert.deepEqual(await typesOf(left.checkout), ['checkout.created', 'checkout.expired']);
  const now = [await counted('created'), await counted('completed'), await counted('expired')];
  assert.deepEqual(
    now.map((value, index) => value - (before[index] ?? 0)),
    [2, 1, 1],
  );
  const stored = `${await dumpTables(till.databaseUrl)} ${JSON.stringify(till.lines)}`;
  for (const { url } of [paid, left]) {
    assert.ok(url !== null);
    assert.ok(!stored.includes(url), url);
    assert.ok(!stored.includes(new URL(url).pathname), url);
  }
});

test('completedAt is when the processor completed it, even if Till learns of it later', async () => {
  const [customer, order] = [await createCustomer(till), await createOrder()];
  const payment = { amount: 500, currency: 'eur', description: 'A book' };
  for (const sold of [{ saveCard: true }, { payment }, { planId: order.planId }]) {
    const { checkout } = await createCheckout(till, { customerId: customer.id, ...sold });
    await completeCheckout(till, checkout);
    const { data } = await stripe.events.list({ type: 'checkout.session.completed', limit: 1 });
    await till.control('clock', { advanceSeconds: 300 });
    const done = (await readCheckout(till, checkout)).checkout;
    assert.equal(Date.parse(String(done.completedAt)) / 1_000, data[0]?.created, done.mode);
  }
});

test('recovery asks for open checkouts without news, a resync compares them, and a lost row comes back', async () => {
  const open = async () => (await createCheckout(till, await createOrder())).checkout;
  const isCompleted = async ({ id }: CheckoutBody) =>
    (await till.sql('select status from till.checkouts where id = $1', [id]))[0]?.['status'] === 'completed';

  const stale = await open();
  await completeCheckout(till, stale);
  await till.sql(`update till.checkouts set created_at = created_at - interval '11 minutes' where id = $1`, [
    stale.id,
  ]);
  const { checkouts } = till.services.mirrors;
  assert.deepEqual(await checkouts.listStale(10), [stale.processorCheckoutSessionId]);
  await till.services.recovery.run();
  await till.drainAll();
  assert.ok(await isCompleted(stale));
  assert.deepEqual(await checkouts.listStale(10), []);

  const unheard = await open();
  await completeCheckout(till, unheard);
  const drift = await till.count('mirror_drift_total', { resource: 'checkout' });
  const response = await call('POST', '/resyncs', { customerId: unheard.customerId });
  const { id } = await readJson<{ id: string }>(response, 202);
  const isFinished = async () => (await till.get<{ status: string }>(`/resyncs/${id}`)).status === 'finished';
  await until(isFinished);
  assert.equal(await till.count('mirror_drift_total', { resource: 'checkout' }), drift + 1);
  assert.ok(await isCompleted(unheard));

  const lost = await open();
  await completeCheckout(till, lost);
  await till.sql('delete from till.checkouts where id = $1', [lost.id]);
  await till.settle();
  assert.ok(await isCompleted(lost));
  assert.equal((await readCheckout(till, lost)).checkout.createdAt, lost.createdAt);
  await assertMirrored(stripe, till.sql, await readMirroredIds(stripe));
});
