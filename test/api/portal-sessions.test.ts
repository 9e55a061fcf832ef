import assert from 'node:assert/strict';
import { after, beforeEach, describe, type TestContext, test } from 'node:test';
import { subscribed } from '../support/changes.ts';
import { type Client, readJson } from '../support/client.ts';
import {
  confirmSecret,
  createCustomer,
  createPlan,
  createSubscription,
  type SubscriptionBody,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;
const returnUrl = 'https://shop.example.com/account';

type Id = { readonly id: string };

beforeEach(() => till.clearFaults());

function open({ id }: Id, body: object = {}, at: Client = till): Promise<Response> {
  return at.call('POST', `/customers/${id}/portal-sessions`, { returnUrl, ...body });
}

async function urlOf(response: Response): Promise<string> {
  const body = await readJson<{ url: string }>(response, 201);
  assert.deepEqual(Object.keys(body), ['url']);
  return body.url;
}

/** Sessions can only be created. The events show them. */
async function sessionAt(url: string) {
  const { data } = await stripe.events.list({ type: 'billing_portal.session.created', limit: 10 });
  const session = data
    .map((event) => event.data.object)
    .find((object) => 'url' in object && object.url === url);
  assert(session?.object === 'billing_portal.session');
  return session;
}

async function subscribe(): Promise<SubscriptionBody> {
  const { subscription, clientSecret } = await createSubscription(till);
  await confirmSecret(till, clientSecret);
  await till.settle();
  return subscription;
}

const cancelOf = ({ id, customerId }: SubscriptionBody, at: Client = till) =>
  open({ id: customerId }, { flow: 'cancel', subscriptionId: id }, at);

describe('POST /customers/{id}/portal-sessions', () => {
  test("201: the portal of the customer, with Till's own configuration", async () => {
    const customer = await createCustomer(till);
    const url = await urlOf(await open(customer, { locale: 'de' }));
    const session = await sessionAt(url);
    assert.deepEqual(
      [session.customer, session.return_url, session.locale, session.flow],
      [customer.processorCustomerId, returnUrl, 'de', null],
    );
    const { features, metadata } = await stripe.billingPortal.configurations.retrieve(
      String(session.configuration),
    );
    assert.deepEqual(metadata, { till_portal: '1' });
    const enabled = Object.entries(features).filter(([, feature]) => feature.enabled);
    assert.deepEqual(enabled.map(([name]) => name).toSorted(), [
      'customer_update',
      'invoice_history',
      'payment_method_update',
      'subscription_cancel',
    ]);
    assert.deepEqual(
      [features.subscription_cancel.mode, features.customer_update.allowed_updates],
      ['at_period_end', ['address']],
    );
  });

  test('201: a flow begins with the card or the cancellation, and then returns', async () => {
    const subscription = await subscribe();
    const card = await sessionAt(
      await urlOf(await open({ id: subscription.customerId }, { flow: 'paymentMethod' })),
    );
    assert.equal(card.flow?.type, 'payment_method_update');
    assert.equal(card.flow?.after_completion.redirect?.return_url, returnUrl);
    const { flow } = await sessionAt(await urlOf(await cancelOf(subscription)));
    assert.equal(flow?.subscription_cancel?.subscription, subscription.processorSubscriptionId);
    assert.equal((await open({ id: subscription.customerId }, { flow: null })).status, 201);
  });

  test('201: of an own configuration of the application', async () => {
    const own = await stripe.billingPortal.configurations.create({
      features: { invoice_history: { enabled: true } },
    });
    const body = { processorConfigurationId: own.id };
    const session = await sessionAt(await urlOf(await open(await createCustomer(till), body)));
    assert.equal(session.configuration, own.id);
  });

  test('400: a flow without its subscription, and URLs that lead nowhere or have a password', async () => {
    const customer = await createCustomer(till);
    for (const body of [
      { returnUrl: '/account' },
      { returnUrl: 'javascript:alert(1)' },
      { returnUrl: 'https://ada:secret@shop.example.com' },
      { flow: 'cancel' },
      { flow: 'paymentMethod', subscriptionId: customer.id },
      { subscriptionId: customer.id },
    ])
      await readProblem(await open(customer, body), 400, 'invalid_request');
  });

  test('400: a flow that is unknown, with all that are known', async () => {
    const response = await open(await createCustomer(till), { flow: 'foo' });
    const { detail, errors } = await readProblem(response, 400, 'invalid_request');
    assert.deepEqual(errors, [{ path: 'body.flow', message: 'must be one of paymentMethod, cancel, null' }]);
    assert.equal(detail, 'body.flow must be one of paymentMethod, cancel, null');
  });

  test('400: a URL of another origin than RETURN_URL_ORIGINS', async () => {
    const returnUrlOrigins = ['https://shop.example.com'];
    const strict = await startTill({ in: 'process', on: till, returnUrlOrigins });
    const customer = await createCustomer(till);
    await urlOf(await open(customer, {}, strict));
    const other = await open(customer, { returnUrl: 'https://evil.example.com/account' }, strict);
    const { errors } = await readProblem(other, 400, 'invalid_request');
    assert.deepEqual(errors, [
      { path: 'body.returnUrl', message: 'must begin with one of the origins in RETURN_URL_ORIGINS' },
    ]);
  });

  test("404: an unknown customer, a deleted one, and another customer's subscription", async () => {
    const customer = await createCustomer(till);
    const subscription = await subscribe();
    const unknown = { id: subscription.id };
    await readProblem(await open(unknown), 404, 'not_found');
    const body = { flow: 'cancel', subscriptionId: subscription.id };
    await readProblem(await open(customer, body), 404, 'not_found');
    await readProblem(await open(customer, { ...body, subscriptionId: customer.id }), 404, 'not_found');
    await stripe.customers.del(customer.processorCustomerId);
    await readProblem(await open(customer), 404, 'not_found');
    assert.equal((await call('GET', `/customers/${customer.id}`)).status, 404, 'the deletion is recorded');
  });

  test('409: a subscription that has ended, that ends already, or that has a pending change', async () => {
    const subscription = await subscribe();
    const { id: planId } = await createPlan(till, { amount: 100 });
    const path = `/subscriptions/${subscription.id}`;
    await readJson(await call('PATCH', path, { planId, when: 'periodEnd' }), 200);
    await readProblem(await cancelOf(subscription), 409, 'pending_change');
    await readJson(await call('PATCH', path, { planId: subscription.planId, when: 'periodEnd' }), 200);
    await readJson(await call('PATCH', path, { cancelAtPeriodEnd: true }), 200);
    await readProblem(await cancelOf(subscription), 409, 'subscription_ending');
    await readJson(await call('DELETE', path), 200);
    await readProblem(await cancelOf(subscription), 409, 'subscription_ended');
  });

  test('409: the same while the webhook of it has not arrived yet', async () => {
    const ending = await subscribe();
    await stripe.subscriptions.update(ending.processorSubscriptionId, { cancel_at_period_end: true });
    await readProblem(await cancelOf(ending), 409, 'subscription_ending');
    const ended = await subscribe();
    await stripe.subscriptions.cancel(ended.processorSubscriptionId);
    await readProblem(await cancelOf(ended), 409, 'subscription_ended');
  });

  test('422: a locale or a configuration that the processor does not know', async () => {
    const customer = await createCustomer(till);
    await readProblem(await open(customer, { locale: 'xx' }), 422, 'processor_rejected');
    const body = { processorConfigurationId: 'bpc_unknown' };
    await readProblem(await open(customer, body), 422, 'processor_rejected');
  });

  test("Till's own configuration: created once by processes that ask at the same time, and again if it is deactivated", async (t) => {
    const first = await startTill({ in: 'process', for: t, mustNotLogErrors: true });
    const proxy = await startProcessorProxy(first);
    const others = await Promise.all(
      [1, 2].map(() => startTill({ in: 'process', on: first, processorUrl: proxy.url })),
    );
    const customer = await createCustomer(first);
    // Both find none, and then both create it.
    const path = '/v1/billing_portal/configurations';
    proxy.hold(path, 'POST');
    const opening = others.map((other) =>
      Promise.all([open(customer, {}, other), open(customer, {}, other)]),
    );
    await proxy.nextHeld();
    await proxy.nextHeld();
    proxy.releaseAll();
    for (const response of (await Promise.all(opening)).flat()) await urlOf(response);
    const requests = proxy.seen.filter((seen) => seen.path === path);
    assert.equal(requests.filter(({ method }) => method === 'GET').length, 2, 'one list for each process');
    const list = async () => (await first.stripe.billingPortal.configurations.list()).data;
    const [own, ...more] = await list();
    assert.deepEqual([own?.metadata, more], [{ till_portal: '1' }, []]);
    await first.stripe.billingPortal.configurations.update(String(own?.id), { active: false });
    const [known] = others;
    assert(known);
    for (const process of [known, first]) await urlOf(await open(customer, {}, process));
    assert.deepEqual(
      (await list()).map(({ active }) => active),
      [true, false],
    );
  });

  test("Till's own configuration: a failure that the processor repeats does not stop the next request", async (t) => {
    const till = await startTill({ in: 'process', for: t });
    const customer = await createCustomer(till);
    // Each processor key gets one failure, and repeats it.
    await till.setFault({ operation: 'portal_configurations.create', kind: 'error', status: 500, times: 2 });
    await urlOf(await open(customer, {}, till));
    const { data } = await till.stripe.billingPortal.configurations.list();
    assert.equal(data.length, 1);
    // The next one has a processor key of its own.
    await till.stripe.billingPortal.configurations.update(String(data[0]?.id), { active: false });
    const other = await startTill({ in: 'process', on: till, for: t });
    await urlOf(await open(customer, {}, other));
    assert.equal((await till.stripe.billingPortal.configurations.list()).data.length, 2);
  });

  test('the URL is in no log and in no table', async () => {
    const url = await urlOf(await open(await createCustomer(till)));
    // The sandbox's id of a session is the end of its URL, and the inbox keeps ids.
    const secret = new URL(url).pathname;
    await till.settle();
    assert.ok(!JSON.stringify(till.lines).includes(secret));
    const rows = await till.sql<{ payload: string }>('select payload::text from till.webhook_events');
    assert.ok(rows.some(({ payload }) => payload.includes('billing_portal.session.created')));
    assert.ok(!rows.some(({ payload }) => payload.includes(secret)));
  });
});

describe('after a planned change has taken effect', () => {
  /** A subscription in the period after its plan has changed from one daily plan to another. */
  async function changedLastPeriod(t: TestContext) {
    const own = await startTill({ in: 'process', for: t, mustNotLogErrors: true });
    const [first, second] = await Promise.all(
      [1_000, 2_000].map((amount) => createPlan(own, { amount, interval: 'day' })),
    );
    const { subscription, changed, read } = await subscribed(own, { planId: String(first?.id) });
    await changed({ planId: second?.id, when: 'periodEnd' });
    await own.control('clock', { advanceSeconds: 90_000 });
    await own.settle();
    const { planId, pendingChange } = await read();
    assert.deepEqual([planId, pendingChange], [second?.id, null]);
    const { processorSubscriptionId: id } = subscription;
    const scheduleId = async () => (await own.stripe.subscriptions.retrieve(id)).schedule;
    return { own, first, subscription, changed, read, scheduleId };
  }

  test('201: without a flow, even while another request changes the subscription', async (t) => {
    const { own, subscription } = await changedLastPeriod(t);
    const proxy = await startProcessorProxy(own);
    const writer = await startTill({ in: 'process', on: own, for: t, processorUrl: proxy.url });
    const hasty = await startTill({ in: 'process', on: own, for: t, turnWaitMs: 1 });
    proxy.holdOne(`/v1/subscriptions/${subscription.processorSubscriptionId}`);
    const changing = writer.call('PATCH', `/subscriptions/${subscription.id}`, { metadata: { seat: '7' } });
    const held = await proxy.nextHeld();
    await urlOf(await open({ id: subscription.customerId }, {}, hasty));
    await readProblem(await cancelOf(subscription, hasty), 409, 'subscription_busy');
    held.release();
    assert.equal((await changing).status, 200);
    await urlOf(await cancelOf(subscription, hasty));
  });

  test('201: the portal cancels the subscription', async (t) => {
    const { own, subscription, read } = await changedLastPeriod(t);
    const url = await urlOf(await cancelOf(subscription, own));
    const fields = { method: 'POST', body: new URLSearchParams() };
    const confirmed = await fetch(`${url}?step=cancel&subscription=${subscription.processorSubscriptionId}`, {
      ...fields,
      redirect: 'manual',
    });
    assert.equal(confirmed.status, 303);
    await own.settle();
    assert.equal((await read()).cancelAtPeriodEnd, true);
  });

  test('201: the first page of the portal offers the cancellation', async (t) => {
    const { own, subscription } = await changedLastPeriod(t);
    const page = await fetch(await urlOf(await open({ id: subscription.customerId }, {}, own)));
    assert.match(await page.text(), /Cancel plan/);
  });

  test('409: a change that is planned meanwhile stays', async (t) => {
    const { own, first, subscription, changed, read } = await changedLastPeriod(t);
    const proxy = await startProcessorProxy(own);
    const other = await startTill({ in: 'process', on: own, processorUrl: proxy.url });
    proxy.holdOne('/v1/subscriptions', 'GET');
    const opening = cancelOf(subscription, other);
    const passOn = await (await proxy.nextHeld()).holdResponse();
    await changed({ planId: first?.id, when: 'periodEnd' });
    passOn();
    await readProblem(await opening, 409, 'pending_change');
    assert.equal((await read()).pendingChange?.planId, first?.id);
  });

  test('409: a schedule of the dashboard that still plans something stays', async (t) => {
    const { own, subscription, scheduleId } = await changedLastPeriod(t);
    const { stripe } = own;
    const before = await scheduleId();
    const { phases, current_phase: current } = await stripe.subscriptionSchedules.retrieve(String(before));
    const last = phases.at(-1);
    const items = last?.items.map(({ price, quantity }) => ({
      price: String(price),
      quantity: quantity ?? 1,
    }));
    assert(current && items);
    await stripe.subscriptionSchedules.update(String(before), {
      phases: [
        { items, start_date: current.start_date, end_date: current.end_date },
        { items, metadata: { ours: 'yes' } },
      ],
    });
    await own.settle();
    await readProblem(await cancelOf(subscription, own), 409, 'pending_change');
    await urlOf(await open({ id: subscription.customerId }, {}, own));
    assert.equal(await scheduleId(), before);
  });
});

describe('what a customer does on the portal', () => {
  test('arrives by webhooks, and with fresh=true before them', async () => {
    const subscription = await subscribe();
    // As the portal does.
    const { current_period_end: end = 0 } =
      (await stripe.subscriptions.retrieve(subscription.processorSubscriptionId)).items.data[0] ?? {};
    await stripe.subscriptions.update(subscription.processorSubscriptionId, { cancel_at: end });
    const path = `/subscriptions/${subscription.id}`;
    assert.equal((await till.get<SubscriptionBody>(path)).cancelAtPeriodEnd, false);
    await till.get(`/customers/${subscription.customerId}/entitlements?fresh=true`);
    assert.equal((await till.get<SubscriptionBody>(path)).cancelAtPeriodEnd, true);
    await till.settle();
    assert.equal((await till.get<SubscriptionBody>(path)).cancelAtPeriodEnd, true);
  });
});
