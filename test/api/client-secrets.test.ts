import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readJson } from '../support/client.ts';
import {
  confirmPayment,
  confirmSecret,
  createPaidPayment,
  createPayment,
  createPlan,
  createSubscription,
  type PaymentBody,
  type SubscriptionBody,
} from '../support/objects.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

interface SecretBody {
  readonly clientSecret: string | null;
}

/** The whole response: it must contain only the secret. */
async function secretOf(path: string): Promise<string | null> {
  const response = await call('POST', `${path}/client-secret`);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  const body = await readJson<SecretBody>(response, 200);
  assert.deepEqual(Object.keys(body), ['clientSecret']);
  return body.clientSecret;
}

test('200: the secret of a payment can be read again until nothing is left to confirm', async () => {
  const payment = await createPayment(till);
  const path = `/payments/${payment.id}`;
  const { client_secret: secret } = await stripe.paymentIntents.retrieve(payment.processorPaymentIntentId);
  assert.equal(await secretOf(path), secret);
  await confirmPayment(till, payment, 'pm_card_threeDSecure2Required');
  assert.equal(await secretOf(path), secret);
  // The row is brought up to date with what was read, before any webhook.
  assert.equal((await till.get<PaymentBody>(path)).status, 'requires_action');
  await confirmPayment(till, payment);
  assert.equal(await secretOf(path), null);
  assert.equal((await till.get<PaymentBody>(path)).status, 'succeeded');
  assert.equal(await secretOf(path), null);
});

test('200: a canceled and an authorised payment have nothing left to confirm', async () => {
  const [canceled, authorised] = [
    await createPayment(till),
    await createPayment(till, { captureMethod: 'manual' }),
  ];
  await call('POST', `/payments/${canceled.id}/cancel`);
  assert.equal(await secretOf(`/payments/${canceled.id}`), null);
  await confirmPayment(till, authorised);
  assert.equal(await secretOf(`/payments/${authorised.id}`), null);
});

test('200: the secret of a subscription is that of its first invoice until that is paid', async () => {
  const { subscription, clientSecret } = await createSubscription(till);
  const path = `/subscriptions/${subscription.id}`;
  assert.equal(await secretOf(path), clientSecret);
  await confirmSecret(till, clientSecret, 'pm_card_visa_chargeDeclined').catch(() => {});
  assert.equal(await secretOf(path), clientSecret);
  await confirmSecret(till, clientSecret);
  assert.equal(await secretOf(path), null);
  assert.equal((await till.get<SubscriptionBody>(path)).status, 'active');
});

test('200: the invoice that decides the status counts; once it is paid, so does one that was created by hand', async () => {
  const { subscription, clientSecret } = await createSubscription(till);
  const path = `/subscriptions/${subscription.id}`;
  const { processorSubscriptionId } = subscription;
  const { customer } = await stripe.subscriptions.retrieve(processorSubscriptionId);
  await stripe.invoiceItems.create({ customer: String(customer), amount: 500, currency: 'eur' });
  const invoice = await stripe.invoices.create({
    customer: String(customer),
    subscription: processorSubscriptionId,
  });
  await stripe.invoices.finalizeInvoice(String(invoice.id), { auto_advance: false });
  assert.equal(await secretOf(path), clientSecret);
  await confirmSecret(till, clientSecret);
  const newer = await secretOf(path);
  assert.match(String(newer), /_secret_/);
  assert.notEqual(newer, clientSecret);
  await stripe.invoices.voidInvoice(String(invoice.id));
  assert.equal(await secretOf(path), null);
});

test('200: in a trial without a card, the secret is that of the card set-up', async () => {
  const { subscription, clientSecret } = await createSubscription(till, { trialPeriodDays: 7 });
  assert.equal(clientSecret, null);
  const path = `/subscriptions/${subscription.id}`;
  const secret = await secretOf(path);
  const setupIntentId = String(secret).split('_secret_')[0] ?? '';
  assert.match(setupIntentId, /^seti_/);
  await stripe.setupIntents.confirm(setupIntentId, { payment_method: 'pm_card_visa' });
  assert.equal(await secretOf(path), null);
});

test('200: a free subscription and one that has ended have nothing left to confirm', async () => {
  const { id: planId } = await createPlan(till, { amount: 0 });
  const { subscription: free } = await createSubscription(till, { planId });
  assert.equal(await secretOf(`/subscriptions/${free.id}`), null);
  const { subscription: trial } = await createSubscription(till, { trialPeriodDays: 7 });
  await call('DELETE', `/subscriptions/${trial.id}`);
  assert.equal(await secretOf(`/subscriptions/${trial.id}`), null);
});

test('an empty body and an idempotency key in the header make no difference', async () => {
  const { id } = await createPaidPayment(till);
  const { subscription } = await createSubscription(till);
  for (const path of [`/payments/${id}/client-secret`, `/subscriptions/${subscription.id}/client-secret`]) {
    const response = await call('POST', path, {}, { 'idempotency-key': 'ignored' });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('idempotent-replayed'), null);
  }
});

test('nothing is created, charged or changed, and no secret is stored', async () => {
  const payment = await createPayment(till);
  const { subscription } = await createSubscription(till);
  await till.settle();
  const { data: before } = await stripe.events.list({ limit: 1 });
  const secrets = [
    await secretOf(`/payments/${payment.id}`),
    await secretOf(`/subscriptions/${subscription.id}`),
  ];
  const { data: events } = await stripe.events.list({ limit: 1 });
  assert.equal(events[0]?.id, before[0]?.id);
  const log = JSON.stringify(till.lines);
  for (const secret of secrets) assert.ok(secret !== null && !log.includes(secret));
});
