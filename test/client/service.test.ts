import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { isTillError, type Payment, Till, verifyEvent } from '@till/client';
import { testKey } from '../support/client.ts';
import { deliveryCalls } from '../support/deliveries.ts';
import { startEventSink } from '../support/event-sink.ts';
import { confirmPayment, confirmSecret, saveCard } from '../support/objects.ts';
import { idOfPlace } from '../support/stored-events.ts';
import { startTill } from '../support/till.ts';

/** The client against the service itself. Its rules of retries and errors have unit tests beside their files. */
const server = await startTill({
  in: 'process',
  for: { after },
  delivers: true,
  events: { allowPrivate: true },
  mustNotLogErrors: true,
});
const statuses: string[] = [];
const till = new Till({
  url: server.url,
  apiKey: testKey,
  fetch: async (input, init) => {
    const response = await fetch(input, init);
    statuses.push(`${init?.method} ${response.status}`);
    return response;
  },
});

const newCustomer = (externalId = randomUUID()) =>
  till.customers.create({ email: 'ada@example.com', externalId });
const newPlan = (features: Record<string, boolean | number | string> = {}) =>
  till.plans.create({ name: 'Gold', amount: 900, currency: 'eur', interval: 'month', features });

/** The error of a call that must be refused. */
async function refusal(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => assert.fail('the call succeeded'),
    (error: unknown) => error,
  );
}

test('a payment: created once with its idempotency key, changed, paid, refunded, found and listed', async () => {
  const customer = await newCustomer();
  const order = { customerId: customer.id, amount: 2_000, currency: 'eur' };
  const options = { idempotencyKey: randomUUID() };
  const { payment, clientSecret } = await till.payments.create(order, options);
  assert.equal((await till.payments.create(order, options)).payment.id, payment.id);
  assert.equal((await till.payments.clientSecret(payment.id)).clientSecret, clientSecret);
  await till.payments.update(payment.id, { metadata: { orderId: '1' } });
  await confirmPayment(server, payment);
  await server.settle();
  const refunded = await till.payments.refund(payment.id, { amount: 500 });
  assert.equal(refunded.amountRefunded, 500);
  const { status, metadata } = await till.payments.get(payment.id);
  assert.deepEqual([status, metadata], ['succeeded', { orderId: '1' }]);
  const refunds = await Array.fromAsync(till.payments.refunds(payment.id));
  assert.deepEqual(refunds, await Array.fromAsync(till.refunds.list({ limit: 1 })));
  assert.deepEqual(
    (await till.search(payment.id)).map(({ objectId }) => objectId),
    [payment.id],
  );
  const authorised = await till.payments.create({ ...order, captureMethod: 'manual' });
  await confirmPayment(server, authorised.payment);
  assert.equal((await till.payments.capture(authorised.payment.id, { amount: 700 })).amountReceived, 700);
  const open = await till.payments.create(order);
  assert.equal((await till.payments.cancel(open.payment.id)).status, 'canceled');
});

test('a subscription: created, previewed, changed, canceled, and what it entitles to', async () => {
  const externalId = randomUUID();
  const plan = await newPlan({ reports: true, seats: 3, exports: false, none: 0, support: 'gold' });
  const larger = await newPlan();
  const customer = await newCustomer(externalId);
  assert.equal(await till.isEntitled({ externalId }, 'reports'), false);
  const { subscription, clientSecret } = await till.subscriptions.create({
    customerId: customer.id,
    planId: plan.id,
  });
  await confirmSecret(server, clientSecret);
  await server.settle();
  assert.equal(await till.isEntitled({ externalId }), true);
  assert.equal(await till.isEntitled({ customerId: customer.id }, 'reports'), true);
  const granted = async (feature: string) => till.isEntitled({ externalId }, feature);
  assert.deepEqual(await Promise.all(['reports', 'seats', 'support'].map(granted)), [true, true, true]);
  assert.deepEqual(await Promise.all(['exports', 'none', 'toString'].map(granted)), [false, false, false]);
  assert.equal(statuses.at(-1), 'GET 304', 'nothing has changed since the last response');
  const change = { planId: larger.id };
  assert.equal((await till.subscriptions.preview(subscription.id, change)).currency, 'eur');
  assert.equal((await till.subscriptions.update(subscription.id, change)).subscription.planId, larger.id);
  assert.equal(await till.isEntitled({ externalId }, 'reports'), false, 'a change is seen at once');
  const seat = await till.plans.create({
    ...{ name: 'Seat', amount: 100, currency: 'eur', interval: 'month', addOn: true },
    features: { seats: 2 },
  });
  const addOns = [{ planId: seat.id, quantity: 3 }];
  assert.ok((await till.subscriptions.preview(subscription.id, { addOns })).lines.length > 1);
  assert.deepEqual(
    (await till.subscriptions.update(subscription.id, { addOns })).subscription.addOns,
    addOns,
  );
  const [having] = (await till.subscriptions.list({ addOnPlanId: seat.id }).page()).data;
  assert.equal(having?.id, subscription.id);
  assert.equal(await till.isEntitled({ externalId }, 'seats'), true);
  assert.equal((await till.subscriptions.clientSecret(subscription.id)).clientSecret, null);
  assert.equal((await till.subscriptions.cancel(subscription.id)).status, 'canceled');
  const [invoice] = (await till.invoices.list({ customerId: customer.id }).page()).data;
  assert.equal(invoice?.subscriptionId, subscription.id);
  assert.equal(await till.isEntitled({ externalId: 'unknown' }, 'reports'), false);
  assert.equal((await till.plans.archive(plan.id)).active, false);
});

test('the portal of a customer, and what the customer may use after it', async () => {
  const externalId = randomUUID();
  const customer = await newCustomer(externalId);
  const { url } = await till.portal(customer.id, { returnUrl: 'https://shop.example.com/account' });
  assert.match(url, /^http/);
  const { subscription } = await till.subscriptions.create({
    ...{ customerId: customer.id, planId: (await newPlan()).id, trialPeriodDays: 7 },
  });
  assert.equal(await till.isEntitled({ externalId }), true);
  await server.stripe.subscriptions.cancel(subscription.processorSubscriptionId);
  assert.equal(await till.isEntitled({ externalId }), true, 'the webhook has not arrived');
  assert.equal((await till.entitlements({ externalId }, { fresh: true })).entitled, false);
});

test('saved payment methods: saved, made the default, deleted', async () => {
  const customer = await newCustomer();
  const methods = till.customers.paymentMethods(customer.id);
  assert.match((await methods.create()).clientSecret ?? '', /_secret_/);
  const { paymentMethodId } = await saveCard(server, customer);
  assert.equal((await methods.setDefault(paymentMethodId)).isDefault, true);
  assert.deepEqual(
    (await methods.list()).map(({ id }) => id),
    [paymentMethodId],
  );
  await methods.delete(paymentMethodId);
  assert.deepEqual(await methods.list(), []);
  await till.customers.delete(customer.id);
  assert.ok(isTillError(await refusal(till.customers.get(customer.id)), 'not_found'));
});

test('a list is walked page by page, by cursor or by number, and has pages too', async () => {
  const customer = await newCustomer();
  const created: string[] = [];
  for (const amount of [100, 200, 300, 400, 500]) {
    const { payment } = await till.payments.create({ customerId: customer.id, amount, currency: 'eur' });
    created.unshift(payment.id);
  }
  const ids = (payments: readonly Payment[]) => payments.map(({ id }) => id);
  const query = { customerId: customer.id, limit: 2 };
  assert.deepEqual(ids(await Array.fromAsync(till.payments.list(query))), created);
  assert.deepEqual(ids(await Array.fromAsync(till.payments.list({ ...query, page: 2 }))), created.slice(2));
  const pages = await Array.fromAsync(till.payments.list(query).pages());
  assert.deepEqual(
    pages.map(({ data, total }) => [data.length, total]),
    [
      [2, 5],
      [2, 5],
      [1, 5],
    ],
  );
  const { data, nextCursor } = await till.payments.list(query).page();
  assert.deepEqual(ids(data), created.slice(0, 2));
  assert.ok(nextCursor !== null);
  const before = statuses.length;
  for await (const payment of till.payments.list(query)) {
    assert.equal(payment.id, created[0]);
    break;
  }
  assert.equal(statuses.length, before + 1, 'a loop that ends early reads no further page');
  await server.settle();
  const webhookEvents = await Array.fromAsync(till.webhookEvents.list({ limit: 7 }));
  assert.equal(webhookEvents.length, (await till.webhookEvents.list().page()).total);
  assert.ok(webhookEvents.length > 7);
});

test('errors have the fields of their code', async () => {
  const invalid = await refusal(
    till.payments.create({ customerId: randomUUID(), amount: -1, currency: 'e1r' }),
  );
  assert.ok(isTillError(invalid, 'invalid_request'));
  assert.deepEqual(invalid.errors.map(({ path }) => path).toSorted(), ['body.amount', 'body.currency']);
  const customer = await newCustomer();
  const taken = await refusal(
    till.customers.create({ email: 'bob@example.com', externalId: customer.externalId ?? '' }),
  );
  assert.ok(isTillError(taken, 'external_id_taken'));
  assert.equal(taken.customerId, customer.id);
  const bad = new Till({ url: server.url, apiKey: 'wrong' });
  assert.ok(isTillError(await refusal(bad.plans.list()), 'unauthorized'));
  const { id } = (await till.subscriptions.create({ customerId: customer.id, planId: (await newPlan()).id }))
    .subscription;
  const { id: badCard } = await server.stripe.paymentMethods.attach('pm_card_chargeCustomerFail', {
    customer: customer.processorCustomerId,
  });
  const declined = await refusal(till.subscriptions.pay(id, { paymentMethodId: badCard }));
  assert.ok(isTillError(declined, 'payment_declined'), String(declined));
  assert.equal(declined.declineCode, 'generic_decline');
});

test('operators: API keys, resyncs, replays, the overview and health', async () => {
  const { id } = await till.apiKeys.create({ name: 'shop', scopes: ['read'] });
  assert.ok((await Array.fromAsync(till.apiKeys.list({ limit: 1 }))).some((key) => key.id === id));
  await till.apiKeys.revoke(id);
  assert.ok((await till.apiKeys.current()).scopes.includes('admin'));
  const resync = await till.resyncs.start({ customerId: (await newCustomer()).id });
  await server.services.resyncRuns.stop();
  assert.equal((await till.resyncs.get(resync.id)).customerId, resync.customerId);
  assert.equal((await till.resyncs.list())[0]?.id, resync.id);
  assert.equal((await till.webhookEvents.replayFailed()).replayed, 0);
  assert.ok((await till.overview({ interval: 'week', compare: 'previous' })).currencies.length >= 0);
  assert.equal((await till.attention()).disputes.total, 0);
  assert.equal((await till.health()).status, 'ok');
  assert.deepEqual(await till.readiness(), { status: 'ok' });
  assert.match(await till.metrics(), /^payments_succeeded_total /m);
});

test('an event that Till sends to an endpoint verifies, even with the secret before a rotation', async (t) => {
  const sink = await startEventSink(t);
  const { id, secret } = await till.eventEndpoints.create({ url: sink.url, types: ['customer.created'] });
  assert.ok(secret !== null);
  const customer = await newCustomer();
  await sink.arrived(1);
  const rotated = await till.eventEndpoints.rotateSecret(id);
  await newCustomer();
  await sink.arrived(2);
  const [first, second] = sink.received;
  assert.ok(first !== undefined && second !== undefined && rotated.secret !== null);
  const event = await verifyEvent({ body: first.text, headers: first.headers, secret });
  assert.ok(event.type === 'customer.created');
  assert.equal(event.data.email, customer.email);
  for (const either of [secret, rotated.secret, [rotated.secret, secret]])
    assert.equal(
      (await verifyEvent({ body: second.text, headers: second.headers, secret: either })).type,
      event.type,
    );
  await deliveryCalls(server).recorded({ id }, 'succeeded', 2);
  assert.equal((await Array.fromAsync(till.eventEndpoints.deliveries(id))).length, 2);
  await till.eventEndpoints.delete(id);
});

test('the events so far: all pages, by type, and the newest place', async () => {
  const after = await till.events.latestCursor();
  assert.ok(after !== undefined);
  const customer = await newCustomer();
  await till.customers.update(customer.id, { name: 'Ada' });
  const types = (await Array.fromAsync(till.events.list({ after, limit: 1 }))).map(({ type }) => type);
  assert.deepEqual(types, ['customer.created', 'customer.updated']);
  const updates = till.events.list({ after, types: ['customer.updated', 'plan.created'] });
  assert.deepEqual(
    (await Array.fromAsync(updates)).map(({ objectId }) => objectId),
    [customer.id],
  );
});

test('410: following after an event that is no longer kept says what to do', async () => {
  const months = 120 * 86_400_000;
  const expired = await idOfPlace(server.sql, 1, Date.now() - months);
  const following = till.events.follow({ after: expired })[Symbol.asyncIterator]();
  const error = await refusal(following.next());
  assert.ok(isTillError(error, 'event_expired'), String(error));
  assert.match(error.detail, /Read the objects again/);
});
