import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setInterval } from 'node:timers/promises';
import { type Method, readSuccess, testKey } from '../support/client.ts';
import { copyCluster } from '../support/cluster-template.ts';
import { startTill } from '../support/till.ts';

/**
 * The typical flows of the spec, played from outside as a client application, its frontend and its customers play
 * them: over HTTP alone, on the service as `npm start` brings it up. Nothing here knows the code.
 */
const dataDir = await mkdtemp(join(tmpdir(), 'till-acceptance-'));
copyCluster(dataDir);
const till = await startTill({
  in: 'child',
  environment: { DATA_DIR: dataDir, API_KEY: testKey },
  command: ['npm', 'start'],
});
after(async () => {
  await till.stop();
  await rm(dataDir, { recursive: true, force: true });
});
const ready = await till.logged('ready');
const processorUrl = String(ready['processor']).replace('sandbox at ', '');

/** Far longer than a webhook takes, even on a busy machine. */
const newsTimeoutMs = 20_000;
const askAgainDelayMs = 50;
const monthSeconds = 31 * 86_400;
const hourSeconds = 3_600;
const returnUrl = 'https://shop.example.com/done';

interface Payment {
  readonly id: string;
  readonly status: string;
}
interface Subscription {
  readonly id: string;
  readonly processorSubscriptionId: string;
  readonly status: string;
  readonly currentPeriodStart: string;
  readonly currentPeriodEnd: string;
}
interface Invoice {
  readonly status: string;
  readonly amountDue: number;
  readonly amountPaid: number;
  readonly processorSubscriptionId: string;
}
interface Customer {
  readonly id: string;
  readonly processorCustomerId: string;
}

/** What the client application sends. */
async function api<T>(method: Method, path: string, body?: object): Promise<T> {
  return readSuccess(await till.call(method, path, body));
}

/** What a browser sends to the processor: the publishable key, a card, and the secret that it was given. */
async function confirmInBrowser(clientSecret: string, cardNumber = '4242424242424242'): Promise<string> {
  const post = async (path: string, fields: Readonly<Record<string, string>>) => {
    const response = await fetch(`${processorUrl}/v1/${path}`, {
      method: 'POST',
      headers: { origin: 'https://shop.example.com' },
      body: new URLSearchParams({ key: 'pk_test_shop', ...fields }),
    });
    const answered: { id: string; status: string } = JSON.parse(await response.text());
    return answered;
  };
  const method = await post('payment_methods', {
    type: 'card',
    'card[number]': cardNumber,
    'card[exp_month]': '12',
    'card[exp_year]': '34',
    'card[cvc]': '123',
  });
  const intentId = clientSecret.slice(0, clientSecret.indexOf('_secret_'));
  const kind = intentId.startsWith('seti_') ? 'setup_intents' : 'payment_intents';
  const confirmed = await post(`${kind}/${intentId}/confirm`, {
    client_secret: clientSecret,
    payment_method: method.id,
    return_url: returnUrl,
  });
  return confirmed.status;
}

/** What a person does on the processor's dashboard. */
async function onDashboard(path: string, fields: Readonly<Record<string, string>>): Promise<string> {
  const response = await fetch(`${processorUrl}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk_test_dashboard' },
    body: new URLSearchParams(fields),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text).id;
}

async function letTimePass(advanceSeconds: number): Promise<void> {
  const body = JSON.stringify({ advanceSeconds });
  const response = await fetch(`${processorUrl}/sandbox/clock`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  assert.equal(response.status, 200, await response.text());
}

/** Polls until the expected state is seen. If it never is, fails with what was seen last. */
async function eventually<T>(read: () => Promise<T>, isThere: (value: T) => boolean): Promise<T> {
  let last: T | undefined;
  const signal = AbortSignal.timeout(newsTimeoutMs);
  try {
    for await (const _ of setInterval(askAgainDelayMs, undefined, { signal })) {
      last = await read();
      if (isThere(last)) return last;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  throw new Error(`the expected state was never seen; last seen: ${JSON.stringify(last)}`);
}

const readPayment = (id: string) => api<Payment>('GET', `/payments/${id}`);
const readSubscription = (id: string) => api<Subscription>('GET', `/subscriptions/${id}`);
const invoicesOf = async (customerId: string) =>
  (await api<{ data: readonly Invoice[] }>('GET', `/invoices?customerId=${customerId}`)).data;

/** The rule by which a client grants access. */
function isEntitled({ status }: Subscription): boolean {
  return status === 'active' || status === 'trialing';
}

function newCustomer(): Promise<Customer> {
  return api('POST', '/customers', { email: 'ada@example.com', name: 'Ada' });
}

async function newPlan(): Promise<string> {
  const plan = { name: 'Gold', amount: 1_900, currency: 'eur', interval: 'month' };
  return (await api<{ id: string }>('POST', '/plans', plan)).id;
}

test('one-time payment: created, confirmed by the frontend, succeeded, and refunded', async () => {
  const { id: customerId } = await newCustomer();
  const body = { customerId, amount: 2_000, currency: 'eur', idempotencyKey: 'order-1' };
  const { payment, clientSecret } = await api<{ payment: Payment; clientSecret: string }>(
    'POST',
    '/payments',
    body,
  );
  assert.equal(payment.status, 'requires_payment_method');
  assert.equal(await confirmInBrowser(clientSecret), 'succeeded');
  await eventually(
    () => readPayment(payment.id),
    ({ status }) => status === 'succeeded',
  );

  const again = await api<{ payment: Payment; clientSecret: null }>('POST', '/payments', body);
  assert.deepEqual(
    [again.payment.id, again.payment.status, again.clientSecret],
    [payment.id, 'succeeded', null],
  );

  const refunded = await api<Payment & { refund: { amount: number } }>(
    'POST',
    `/payments/${payment.id}/refund`,
  );
  assert.deepEqual([refunded.status, refunded.refund.amount], ['refunded', 2_000]);
  assert.equal((await readPayment(payment.id)).status, 'refunded');
});

test('one-time payment: a declined card leaves it open, and another card pays it', async () => {
  const { id: customerId } = await newCustomer();
  const body = { customerId, amount: 2_000, currency: 'eur' };
  const { payment, clientSecret } = await api<{ payment: Payment; clientSecret: string }>(
    'POST',
    '/payments',
    body,
  );
  await confirmInBrowser(clientSecret, '4000000000000002');
  assert.equal((await readPayment(payment.id)).status, 'requires_payment_method');
  assert.equal(await confirmInBrowser(clientSecret), 'succeeded');
  await eventually(
    () => readPayment(payment.id),
    ({ status }) => status === 'succeeded',
  );
});

test('one-time payment: the counter of succeeded payments has counted each of them once', async () => {
  const metrics = await (await fetch(`${till.url}/metrics`)).text();
  const counted = metrics.split('\n').filter((line) => line.startsWith('payments_succeeded_total '));
  assert.deepEqual(counted, ['payments_succeeded_total 2']);
});

test('subscription: paid by the frontend it begins, renews by itself, and ends when it is no longer paid', async () => {
  const customer = await newCustomer();
  const planId = await newPlan();
  const body = { customerId: customer.id, planId, idempotencyKey: 'signup-1' };
  const { subscription, clientSecret } = await api<{ subscription: Subscription; clientSecret: string }>(
    'POST',
    '/subscriptions',
    body,
  );
  const { id, processorSubscriptionId } = subscription;
  assert.ok(!isEntitled(await readSubscription(id)), 'it is not paid yet');
  assert.equal(await confirmInBrowser(clientSecret), 'succeeded');
  const begun = await eventually(() => readSubscription(id), isEntitled);
  assert.equal(begun.status, 'active');
  const [invoice, ...others] = await eventually(
    () => invoicesOf(customer.id),
    (invoices) => invoices.some(({ status }) => status === 'paid'),
  );
  assert.deepEqual(others, []);
  assert.deepEqual(
    [invoice?.amountDue, invoice?.amountPaid, invoice?.processorSubscriptionId],
    [1_900, 1_900, processorSubscriptionId],
  );

  await letTimePass(monthSeconds + 2 * hourSeconds);
  const renewed = await eventually(
    () => readSubscription(id),
    ({ currentPeriodStart }) => currentPeriodStart === begun.currentPeriodEnd,
  );
  assert.ok(isEntitled(renewed));
  await eventually(
    () => invoicesOf(customer.id),
    (invoices) => invoices.filter(({ status }) => status === 'paid').length === 2,
  );

  // The card that the renewals are charged to is replaced by one that can be saved and never pays.
  const broken = await onDashboard('payment_methods/pm_card_chargeCustomerFail/attach', {
    customer: customer.processorCustomerId,
  });
  await onDashboard(`subscriptions/${processorSubscriptionId}`, { default_payment_method: broken });
  await letTimePass(monthSeconds + 2 * hourSeconds);
  const overdue = await eventually(
    () => readSubscription(id),
    ({ status }) => status === 'past_due',
  );
  assert.ok(!isEntitled(overdue));
  await letTimePass(monthSeconds);
  await eventually(
    () => readSubscription(id),
    ({ status }) => status === 'canceled',
  );
});

test('subscription with a trial: entitled at once, with nothing to confirm, until it is canceled', async () => {
  const { id: customerId } = await newCustomer();
  const planId = await newPlan();
  const { subscription, clientSecret } = await api<{ subscription: Subscription; clientSecret: null }>(
    'POST',
    '/subscriptions',
    { customerId, planId, trialPeriodDays: 14 },
  );
  assert.equal(clientSecret, null);
  assert.equal(subscription.status, 'trialing');
  assert.ok(isEntitled(await readSubscription(subscription.id)));
  const canceled = await api<Subscription>('DELETE', `/subscriptions/${subscription.id}`);
  assert.equal(canceled.status, 'canceled');
  assert.ok(!isEntitled(await readSubscription(subscription.id)));
});

test('access gating: a subscription that is canceled on the dashboard no longer entitles its customer', async () => {
  const { id: customerId } = await newCustomer();
  const planId = await newPlan();
  const { subscription } = await api<{ subscription: Subscription }>('POST', '/subscriptions', {
    customerId,
    planId,
    trialPeriodDays: 14,
  });
  assert.ok(isEntitled(await readSubscription(subscription.id)));
  const response = await fetch(`${processorUrl}/v1/subscriptions/${subscription.processorSubscriptionId}`, {
    method: 'DELETE',
    headers: { authorization: 'Bearer sk_test_dashboard' },
  });
  assert.equal(response.status, 200, await response.text());
  await eventually(
    () => readSubscription(subscription.id),
    (read) => !isEntitled(read),
  );
});

test('saved cards: saved without a payment, charged when the trial ends, replaced, and removed', async () => {
  const { id: customerId } = await newCustomer();
  const customer = `/customers/${customerId}`;
  const saveCard = async (cardNumber: string) => {
    const { clientSecret } = await api<{ clientSecret: string }>('POST', `${customer}/payment-methods`);
    assert.equal(await confirmInBrowser(clientSecret, cardNumber), 'succeeded');
    const [newest] = await api<readonly { id: string; last4: string }[]>(
      'GET',
      `${customer}/payment-methods`,
    );
    assert.equal(newest?.last4, cardNumber.slice(-4));
    return newest.id;
  };
  const trial = { customerId, planId: await newPlan(), trialPeriodDays: 7 };
  const { subscription } = await api<{ subscription: Subscription }>('POST', '/subscriptions', trial);
  const first = await saveCard('4242424242424242');
  const chosen = await api<{ isDefault: boolean }>('PUT', `${customer}/default-payment-method`, {
    paymentMethodId: first,
  });
  assert.equal(chosen.isDefault, true);
  await letTimePass(8 * 86_400);
  await eventually(
    () => readSubscription(subscription.id),
    ({ status }) => status === 'active',
  );
  await eventually(
    () => invoicesOf(customerId),
    (invoices) => invoices.some(({ status, amountPaid }) => status === 'paid' && amountPaid === 1_900),
  );

  assert.equal((await till.call('DELETE', `${customer}/payment-methods/${first}`)).status, 409);
  const second = await saveCard('5555555555554444');
  await api('PUT', `${customer}/default-payment-method`, { paymentMethodId: second });
  assert.equal((await till.call('DELETE', `${customer}/payment-methods/${first}`)).status, 204);
  const left = await api<readonly { id: string; isDefault: boolean }[]>('GET', `${customer}/payment-methods`);
  assert.deepEqual(
    left.map(({ id, isDefault }) => [id, isDefault]),
    [[second, true]],
  );
});
