import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { startBackend } from '../support/backend.ts';
import { readJson } from '../support/client.ts';
import {
  confirmSecret,
  createCustomer,
  createSubscription,
  intentOf,
  listCards,
  type PaymentMethodBody,
  type SubscriptionBody,
  saveCard,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startProcessorProxy } from '../support/processor-proxy.ts';
import { changed, subscribe } from '../support/subscribed.ts';
import { startTill } from '../support/till.ts';
import { triesPerCall } from '../support/till-in-process.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';
const needsAuthentication = 'pm_card_authenticationRequiredOnSetup';

type Id = { readonly id: string };

beforeEach(() => till.clearFaults());

function save({ id }: Id, body: object = {}): Promise<Response> {
  return call('POST', `/customers/${id}/payment-methods`, body);
}

function setDefault({ id }: Id, paymentMethodId: unknown): Promise<Response> {
  return call('PUT', `/customers/${id}/default-payment-method`, { paymentMethodId });
}

function remove({ id }: Id, paymentMethodId: string): Promise<Response> {
  return call('DELETE', `/customers/${id}/payment-methods/${encodeURIComponent(paymentMethodId)}`);
}

/** The default that each subscription charges at the processor. */
async function defaultOf(processorSubscriptionId: string): Promise<unknown> {
  return (await stripe.subscriptions.retrieve(processorSubscriptionId)).default_payment_method;
}

/** The default that the API shows. */
async function shownDefault({ id }: Id): Promise<unknown> {
  return (await till.get<SubscriptionBody>(`/subscriptions/${id}`)).defaultPaymentMethodId;
}

async function defaultOfCustomer(processorCustomerId: string): Promise<unknown> {
  const customer = await stripe.customers.retrieve(processorCustomerId);
  assert(!customer.deleted);
  return customer.invoice_settings.default_payment_method;
}

/** A customer's subscription, in a trial: it is live and has no payment method of its own. */
async function createTrial(customerId: string): Promise<string> {
  const { subscription } = await createSubscription(till, { customerId, trialPeriodDays: 7 });
  return subscription.processorSubscriptionId;
}

describe('POST /customers/{id}/payment-methods', () => {
  test('201: a card is saved without a payment, for charges while the customer is away', async () => {
    const customer = await createCustomer(till);
    const body = await readJson<{ clientSecret: string }>(await save(customer), 201);
    assert.deepEqual(Object.keys(body), ['clientSecret']);
    const setupIntentId = intentOf(body.clientSecret);
    const setup = await stripe.setupIntents.retrieve(setupIntentId);
    assert.equal(setup.client_secret, body.clientSecret);
    assert.deepEqual([setup.customer, setup.usage], [customer.processorCustomerId, 'off_session']);
    assert.deepEqual(await listCards(till, customer), []);
    await stripe.setupIntents.confirm(setupIntentId, {
      payment_method: 'pm_card_visa',
      return_url: 'https://shop.example.com/done',
    });
    const [card, ...others] = await listCards(till, customer);
    assert.deepEqual(others, []);
    assert(card);
    const { id, createdAt, ...rest } = card;
    assert.match(id, /^pm_\w+$/);
    assert.equal(new Date(createdAt).toISOString(), createdAt);
    assert.deepEqual(rest, {
      type: 'card',
      brand: 'visa',
      last4: '4242',
      expMonth: 12,
      expYear: 2034,
      isDefault: false,
    });
  });

  test('201: a card that needs 3-D Secure is saved once the customer has authenticated', async () => {
    const customer = await createCustomer(till);
    const { setupIntentId, paymentMethodId } = await saveCard(till, customer, needsAuthentication);
    assert.deepEqual(await listCards(till, customer), []);
    await till.control(`setup_intents/${setupIntentId}/authenticate`, { result: 'succeeded' });
    const cards = await listCards(till, customer);
    assert.deepEqual(
      cards.map(({ id }) => id),
      [paymentMethodId],
    );
  });

  test('201: a card whose 3-D Secure fails is not saved, and the same secret takes another card', async () => {
    const customer = await createCustomer(till);
    const { setupIntentId } = await saveCard(till, customer, needsAuthentication);
    await till.control(`setup_intents/${setupIntentId}/authenticate`, { result: 'failed' });
    assert.deepEqual(await listCards(till, customer), []);
    await stripe.setupIntents.confirm(setupIntentId, {
      payment_method: 'pm_card_mastercard',
      return_url: 'https://shop.example.com/done',
    });
    assert.deepEqual(
      (await listCards(till, customer)).map(({ brand }) => brand),
      ['mastercard'],
    );
  });

  test('201: the same idempotency key returns the same secret, and null once nothing is left to confirm', async () => {
    const customer = await createCustomer(till);
    const body = { idempotencyKey: `save-${customer.id}` };
    const first = await readJson<{ clientSecret: string }>(await save(customer, body), 201);
    const second = await save(customer, body);
    assert.equal(second.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(await readJson(second, 201), first);
    await stripe.setupIntents.confirm(intentOf(first.clientSecret), {
      payment_method: 'pm_card_visa',
      return_url: 'https://shop.example.com/done',
    });
    const third = await save(customer, body);
    assert.equal(third.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(await readJson(third, 201), { clientSecret: null });
    const setups = await stripe.setupIntents.list({ customer: customer.processorCustomerId });
    assert.equal(setups.data.length, 1);
  });

  test('201: twenty requests at once with one idempotency key, in either case of the id, share one setup', async () => {
    const customer = await createCustomer(till);
    const ids = [customer.id, customer.id.toUpperCase()];
    const body = { idempotencyKey: `save-${customer.id}` };
    const responses = await Promise.all(
      Array.from({ length: 20 }, async (_, index) =>
        readJson<{ clientSecret: string }>(await save({ id: ids[index % 2] ?? '' }, body), 201),
      ),
    );
    assert.equal(new Set(responses.map(({ clientSecret }) => clientSecret)).size, 1);
    const setups = await stripe.setupIntents.list({ customer: customer.processorCustomerId });
    assert.equal(setups.data.length, 1);
  });

  test('422: the idempotency key of a request for another customer', async () => {
    const [ada, grace] = [await createCustomer(till), await createCustomer(till)];
    const body = { idempotencyKey: `save-${ada.id}` };
    await readJson(await save(ada, body), 201);
    await readProblem(await save(grace, body), 422, 'idempotency_key_reused');
  });

  test('404: a deleted customer, even when a request is repeated', async () => {
    const customer = await createCustomer(till);
    const body = { idempotencyKey: `save-${customer.id}` };
    await readJson(await save(customer, body), 201);
    await call('DELETE', `/customers/${customer.id}`);
    await readProblem(await save(customer, body), 404, 'not_found');
    await readProblem(await save(customer), 404, 'not_found');
  });

  test('404: a customer that was deleted at the processor a moment ago', async () => {
    const customer = await createCustomer(till);
    await stripe.customers.del(customer.processorCustomerId);
    await readProblem(await save(customer), 404, 'not_found');
    await readProblem(await call('GET', `/customers/${customer.id}`), 404, 'not_found');
  });
});

describe('GET /customers/{id}/payment-methods', () => {
  test('200: all cards, newest first, with the default', async () => {
    const customer = await createCustomer(till);
    const saved = [];
    for (const card of ['pm_card_visa', 'pm_card_mastercard', 'pm_card_amex']) {
      saved.push((await saveCard(till, customer, card)).paymentMethodId);
      await till.control('clock', { advanceSeconds: 60 });
    }
    await readJson(await setDefault(customer, saved[1]), 200);
    const cards = await listCards(till, customer);
    assert.deepEqual(
      cards.map(({ id }) => id),
      saved.toReversed(),
    );
    assert.deepEqual(
      cards.map(({ brand, isDefault }) => [brand, isDefault]),
      [
        ['amex', false],
        ['mastercard', true],
        ['visa', false],
      ],
    );
  });

  test('200: more cards than the processor shows on one page', async () => {
    const customer = await createCustomer(till);
    for (let count = 0; count < 101; count += 1)
      await stripe.paymentMethods.attach('pm_card_visa', { customer: customer.processorCustomerId });
    const ids = (await listCards(till, customer)).map(({ id }) => id);
    assert.equal(new Set(ids).size, 101);
  });

  test('200: a default of the older kind counts too', async () => {
    const customer = await createCustomer(till);
    await stripe.customers.update(customer.processorCustomerId, { source: 'tok_visa' });
    const [card] = await listCards(till, customer);
    assert.equal(card?.isDefault, true);
  });

  test('404: a customer that was deleted at the processor', async () => {
    const read = (id: string) => call('GET', `/customers/${id}/payment-methods`);
    const customer = await createCustomer(till);
    await stripe.customers.del(customer.processorCustomerId);
    await readProblem(await read(customer.id), 404, 'not_found');
    await readProblem(await read(customer.id), 404, 'not_found');
  });
});

describe('PUT /customers/{id}/default-payment-method', () => {
  test('200: the card becomes the default of the customer and of each live subscription', async () => {
    const customer = await createCustomer(till);
    const { paymentMethodId } = await saveCard(till, customer);
    const trial = await createTrial(customer.id);
    const paid = await createSubscription(till, { customerId: customer.id });
    await confirmSecret(till, paid.clientSecret);
    const active = paid.subscription.processorSubscriptionId;
    const { subscription: open } = await createSubscription(till, { customerId: customer.id });
    const ended = await createTrial(customer.id);
    await stripe.subscriptions.cancel(ended);
    const entry = await readJson<PaymentMethodBody>(await setDefault(customer, paymentMethodId), 200);
    assert.deepEqual([entry], await listCards(till, customer).then((cards) => cards.filter(isDefault)));
    assert.equal(entry.id, paymentMethodId);
    assert.equal(await defaultOfCustomer(customer.processorCustomerId), paymentMethodId);
    assert.equal(await defaultOf(trial), paymentMethodId);
    assert.equal(await defaultOf(active), paymentMethodId);
    assert.equal(await defaultOf(open.processorSubscriptionId), null);
    assert.equal(await defaultOf(ended), null);
  });

  test('200: reads after it show the new default of each live subscription, before any webhook', async () => {
    const customer = await createCustomer(till);
    const first = await saveCard(till, customer);
    const second = await saveCard(till, customer, 'pm_card_mastercard');
    const [trial, other, planned] = [
      await createSubscription(till, { customerId: customer.id, trialPeriodDays: 7 }),
      await createSubscription(till, { customerId: customer.id, trialPeriodDays: 7 }),
      { subscription: await subscribe(till, { customerId: customer.id }) },
    ];
    await changed(till, planned.subscription, { quantity: 2, when: 'periodEnd' });
    for (const { paymentMethodId } of [first, second]) {
      await readJson(await setDefault(customer, paymentMethodId), 200);
      for (const { subscription } of [trial, other, planned])
        assert.equal(await shownDefault(subscription), paymentMethodId);
    }
  });

  test('200: reads after it show a default that the processor had already', async () => {
    const customer = await createCustomer(till);
    const { paymentMethodId } = await saveCard(till, customer);
    const { subscription } = await createSubscription(till, {
      customerId: customer.id,
      trialPeriodDays: 7,
    });
    // As if an earlier request had died before it recorded the response.
    await stripe.subscriptions.update(subscription.processorSubscriptionId, {
      default_payment_method: paymentMethodId,
    });
    await readJson(await setDefault(customer, paymentMethodId), 200);
    assert.equal(await shownDefault(subscription), paymentMethodId);
  });

  test('200: reads after it show the new default, even if the row changed during the request', async (t) => {
    const backend = await startBackend(t);
    const proxy = await startProcessorProxy(backend);
    const behind = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
    const customer = await createCustomer(behind);
    const { paymentMethodId } = await saveCard(behind, customer);
    const { subscription } = await createSubscription(behind, {
      customerId: customer.id,
      trialPeriodDays: 7,
    });
    const { processorSubscriptionId } = subscription;
    await behind.settle();
    proxy.hold(`/v1/subscriptions/${processorSubscriptionId}`);
    const response = behind.call('PUT', `/customers/${customer.id}/default-payment-method`, {
      paymentMethodId,
    });
    const held = await proxy.nextHeld();
    const pass = await held.holdResponse();
    await backend.stripe.subscriptions.update(processorSubscriptionId, { metadata: { team: 'blue' } });
    await behind.settle();
    pass();
    await readJson(await response, 200);
    const shown = await behind.get<SubscriptionBody>(`/subscriptions/${subscription.id}`);
    assert.deepEqual([shown.defaultPaymentMethodId, shown.metadata], [paymentMethodId, { team: 'blue' }]);
  });

  test('200: a late event with an earlier default does not undo it', async () => {
    const customer = await createCustomer(till);
    const [first, second] = [await saveCard(till, customer), await saveCard(till, customer)];
    const { subscription } = await createSubscription(till, {
      customerId: customer.id,
      trialPeriodDays: 7,
    });
    const { processorSubscriptionId } = subscription;
    await readJson(await setDefault(customer, first.paymentMethodId), 200);
    await till.settle();
    await till.control('clock', { advanceSeconds: 60 });
    await stripe.subscriptions.update(processorSubscriptionId, {
      default_payment_method: second.paymentMethodId,
    });
    const { data } = await stripe.events.list({ type: 'customer.subscription.updated', limit: 100 });
    const late = data.find((event) => String(Object(event.data.object).id) === processorSubscriptionId);
    assert(late);
    await till.control('clock', { advanceSeconds: 60 });
    await readJson(await setDefault(customer, first.paymentMethodId), 200);
    await till.take(JSON.stringify(late));
    assert.equal(await shownDefault(subscription), first.paymentMethodId);
  });

  test('200: a subscription that the processor has paused takes over the default', async () => {
    const customer = await createCustomer(till);
    const { paymentMethodId } = await saveCard(till, customer);
    const price = await stripe.prices.create({
      currency: 'eur',
      unit_amount: 900,
      recurring: { interval: 'month' },
      product_data: { name: 'Elsewhere' },
    });
    const { id } = await stripe.subscriptions.create({
      customer: customer.processorCustomerId,
      items: [{ price: price.id }],
      trial_period_days: 1,
      trial_settings: { end_behavior: { missing_payment_method: 'pause' } },
    });
    await stripe.subscriptions.update(id, { trial_end: 'now' });
    assert.equal((await stripe.subscriptions.retrieve(id)).status, 'paused');
    await readJson(await setDefault(customer, paymentMethodId), 200);
    assert.equal(await defaultOf(id), paymentMethodId);
  });

  test('a request that failed halfway shows no new default, and repeating it does the rest', async () => {
    const customer = await createCustomer(till);
    const { paymentMethodId } = await saveCard(till, customer);
    const trials = [];
    for (let count = 0; count < 7; count += 1) trials.push(await createTrial(customer.id));
    await till.setFault({
      operation: 'subscriptions.update',
      kind: 'error',
      status: 500,
      times: triesPerCall,
    });
    await readProblem(await setDefault(customer, paymentMethodId), 503, 'processor_unavailable');
    assert.equal((await listCards(till, customer)).some(isDefault), false);
    assert.equal(await defaultOfCustomer(customer.processorCustomerId), null);
    await till.clearFaults();
    const updates = () =>
      till.count('processor_request_duration_seconds', { operation: 'subscriptions.update' });
    const before = await Promise.all(trials.map(defaultOf));
    const updatesBefore = await updates();
    await readJson(await setDefault(customer, paymentMethodId), 200);
    for (const trial of trials) assert.equal(await defaultOf(trial), paymentMethodId);
    // Only what was left.
    assert.equal((await updates()) - updatesBefore, before.filter((id) => id === null).length);
    await till.setFault({ operation: 'customers.update', kind: 'error', status: 500, times: triesPerCall });
    // Nothing is left to do.
    await readJson(await setDefault(customer, paymentMethodId), 200);
  });

  test('a subscription that ends during the request does not fail it', async (t) => {
    const backend = await startBackend(t);
    const proxy = await startProcessorProxy(backend);
    const behind = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
    const customer = await createCustomer(behind);
    const { paymentMethodId } = await saveCard(behind, customer);
    const { subscription } = await createSubscription(behind, {
      customerId: customer.id,
      trialPeriodDays: 7,
    });
    const path = `/v1/subscriptions/${subscription.processorSubscriptionId}`;
    proxy.hold(path);
    const response = behind.call('PUT', `/customers/${customer.id}/default-payment-method`, {
      paymentMethodId,
    });
    const held = await proxy.nextHeld();
    await backend.stripe.subscriptions.cancel(subscription.processorSubscriptionId);
    held.release();
    assert.equal((await readJson<PaymentMethodBody>(await response, 200)).isDefault, true);
  });

  test('404: the payment method is removed during the request', async (t) => {
    const backend = await startBackend(t);
    const proxy = await startProcessorProxy(backend);
    const behind = await startTill({ in: 'process', on: backend, processorUrl: proxy.url });
    const customer = await createCustomer(behind);
    const { paymentMethodId } = await saveCard(behind, customer);
    proxy.hold(`/v1/customers/${customer.processorCustomerId}`);
    const response = behind.call('PUT', `/customers/${customer.id}/default-payment-method`, {
      paymentMethodId,
    });
    const held = await proxy.nextHeld();
    await backend.stripe.paymentMethods.detach(paymentMethodId);
    held.release();
    await readProblem(await response, 404, 'not_found');
  });
});

describe('DELETE /customers/{id}/payment-methods/{paymentMethodId}', () => {
  test('204: the card is gone, even if it was the default', async () => {
    const customer = await createCustomer(till);
    const { paymentMethodId } = await saveCard(till, customer);
    await readJson(await setDefault(customer, paymentMethodId), 200);
    const response = await remove(customer, paymentMethodId);
    assert.equal(response.status, 204);
    assert.equal(await response.text(), '');
    assert.deepEqual(await listCards(till, customer), []);
    assert.equal((await stripe.paymentMethods.retrieve(paymentMethodId)).customer, null);
    await readProblem(await remove(customer, paymentMethodId), 404, 'not_found');
    await readProblem(await setDefault(customer, paymentMethodId), 404, 'not_found');
  });

  test('409: the default of a live subscription, until another is the default or the subscription ends', async () => {
    const customer = await createCustomer(till);
    const [first, second] = [await saveCard(till, customer), await saveCard(till, customer)];
    const trial = await createTrial(customer.id);
    await readJson(await setDefault(customer, first.paymentMethodId), 200);
    await readProblem(await remove(customer, first.paymentMethodId), 409, 'payment_method_in_use');
    assert.equal((await listCards(till, customer)).length, 2);
    await readJson(await setDefault(customer, second.paymentMethodId), 200);
    assert.equal((await remove(customer, first.paymentMethodId)).status, 204);
    await readProblem(await remove(customer, second.paymentMethodId), 409, 'payment_method_in_use');
    await stripe.subscriptions.cancel(trial);
    assert.equal((await remove(customer, second.paymentMethodId)).status, 204);
  });

  test('409: the default of the customer, while a subscription without its own would charge it', async () => {
    const customer = await createCustomer(till);
    const { paymentMethodId } = await saveCard(till, customer);
    await readJson(await setDefault(customer, paymentMethodId), 200);
    const trial = await createTrial(customer.id);
    assert.equal(await defaultOf(trial), null);
    await readProblem(await remove(customer, paymentMethodId), 409, 'payment_method_in_use');
  });

  test('404: two requests at once remove it once', async () => {
    const customer = await createCustomer(till);
    const { paymentMethodId } = await saveCard(till, customer);
    const responses = await Promise.all([1, 2].map(() => remove(customer, paymentMethodId)));
    assert.deepEqual(responses.map(({ status }) => status).sort(), [204, 404]);
  });
});

describe('a payment method of another customer, or one that does not exist', () => {
  const malformed = [
    '.',
    '..',
    '../events',
    'pm_1/detach',
    'pm_1?expand[]=x',
    'pm 1',
    '%00',
    'pé',
    'x'.repeat(200),
  ];

  test('404: everywhere, and nothing changes', async () => {
    const [ada, grace] = [await createCustomer(till), await createCustomer(till)];
    const { paymentMethodId } = await saveCard(till, grace);
    const trial = await createTrial(ada.id);
    // Test cards by name, and payment methods that were never attached, belong to no customer.
    const loose = await stripe.paymentMethods.create({ type: 'card', card: { token: 'tok_visa' } });
    for (const id of [paymentMethodId, 'pm_unknown', 'pm_card_visa', loose.id, ...malformed]) {
      await readProblem(await setDefault(ada, id), 404, 'not_found');
      await readProblem(await remove(ada, id), 404, 'not_found');
    }
    assert.equal(await defaultOf(trial), null);
    assert.equal(await defaultOfCustomer(ada.processorCustomerId), null);
    assert.equal((await listCards(till, grace)).length, 1);
  });

  test('404: of an unknown or deleted customer', async () => {
    const customer = await createCustomer(till);
    const { paymentMethodId } = await saveCard(till, customer);
    await call('DELETE', `/customers/${customer.id}`);
    for (const id of [customer.id, unknownId, 'cus_1']) {
      await readProblem(await setDefault({ id }, paymentMethodId), 404, 'not_found');
      await readProblem(await remove({ id }, paymentMethodId), 404, 'not_found');
    }
  });
});

function isDefault(card: PaymentMethodBody): boolean {
  return card.isDefault;
}
