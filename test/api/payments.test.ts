import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readJson } from '../support/client.ts';
import {
  assertResource,
  type CreatedPaymentBody,
  confirmPayment,
  createCustomer,
  createPaidPayment,
  createPayment,
  type PaymentBody,
  untriedPayment,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe, sql } = till;

const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';

async function statusOf({ id }: PaymentBody): Promise<string> {
  return (await readJson<PaymentBody>(await call('GET', `/payments/${id}`), 200)).status;
}

test('201: a payment is created here and at the processor, with exactly the fields of the spec', async () => {
  const customer = await createCustomer(till);
  const values = { customerId: customer.id, amount: 2_000, currency: 'EUR' };
  const response = await call('POST', '/payments', values);
  const { payment, clientSecret, ...rest } = await readJson<CreatedPaymentBody>(response, 201);
  assert.deepEqual(rest, {});
  const { processorPaymentIntentId } = payment;
  const status = 'requires_payment_method';
  assertResource(payment, {
    ...untriedPayment,
    ...values,
    processorPaymentIntentId,
    currency: 'eur',
    status,
  });
  const intent = await stripe.paymentIntents.retrieve(processorPaymentIntentId);
  assert.equal(clientSecret, intent.client_secret);
  assert.deepEqual(
    [intent.amount, intent.currency, intent.customer, intent.metadata['till_id']],
    [2_000, 'eur', customer.processorCustomerId, payment.id],
  );
});

test('201: the smallest amount and the largest one', async () => {
  const { id: customerId } = await createCustomer(till);
  for (const [amount, currency] of [
    [50, 'usd'],
    [999_999_999_999, 'idr'],
  ] as const) {
    const response = await call('POST', '/payments', { customerId, amount, currency });
    assert.equal((await readJson<CreatedPaymentBody>(response, 201)).payment.amount, amount);
  }
});

test('201: a repeated idempotency key returns the same payment and a newly read secret; nothing is charged twice', async () => {
  const customer = await createCustomer(till);
  const body = { customerId: customer.id, amount: 2_000, currency: 'eur', idempotencyKey: 'payment-1' };
  const first = await readJson<CreatedPaymentBody>(await call('POST', '/payments', body), 201);
  const again = await call('POST', '/payments', { ...body, currency: 'Eur' });
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(await readJson(again, 201), first);
  const { data } = await stripe.paymentIntents.list({ customer: customer.processorCustomerId });
  assert.equal(data.length, 1);
});

test('201: a repeated idempotency key after the payment was paid returns the paid payment, without a secret', async () => {
  const { id: customerId } = await createCustomer(till);
  const body = { customerId, amount: 2_000, currency: 'eur', idempotencyKey: 'payment-2' };
  const { payment } = await readJson<CreatedPaymentBody>(await call('POST', '/payments', body), 201);
  await confirmPayment(till, payment);
  for (let times = 0; times < 2; times += 1) {
    const again = await readJson<CreatedPaymentBody>(await call('POST', '/payments', body), 201);
    assert.deepEqual([again.payment.id, again.payment.status], [payment.id, 'succeeded']);
    assert.equal(again.clientSecret, null);
  }
});

test('200: a payment is read as it was created, and no secret with it', async () => {
  const payment = await createPayment(till);
  assert.deepEqual(await readJson(await call('GET', `/payments/${payment.id}`), 200), payment);
});

test('200: an open payment is canceled here and at the processor, and again changes nothing', async () => {
  const payment = await createPayment(till);
  const path = `/payments/${payment.id}/cancel`;
  const canceled = await readJson<PaymentBody>(await call('POST', path), 200);
  assert.deepEqual({ ...canceled, updatedAt: '' }, { ...payment, status: 'canceled', updatedAt: '' });
  assert.equal((await stripe.paymentIntents.retrieve(payment.processorPaymentIntentId)).status, 'canceled');
  assert.deepEqual(await readJson(await call('POST', path), 200), canceled);
  assert.deepEqual(await readJson(await call('GET', `/payments/${payment.id}`), 200), canceled);
});

test('200: a payment that waits for its customer can be canceled', async () => {
  const payment = await createPayment(till);
  await confirmPayment(till, payment, 'pm_card_authenticationRequired');
  const canceled = await readJson<PaymentBody>(await call('POST', `/payments/${payment.id}/cancel`), 200);
  assert.equal(canceled.status, 'canceled');
});

test('200: a payment that was canceled at the processor is corrected first', async () => {
  const payment = await createPayment(till);
  await stripe.paymentIntents.cancel(payment.processorPaymentIntentId);
  assert.equal(await statusOf(payment), 'requires_payment_method', 'the webhook has not arrived');
  const canceled = await readJson<PaymentBody>(await call('POST', `/payments/${payment.id}/cancel`), 200);
  assert.equal(canceled.status, 'canceled');
});

test('200: twenty cancels at once all return the canceled payment', async () => {
  const payment = await createPayment(till);
  const responses = await Promise.all(
    Array.from({ length: 20 }, async () =>
      readJson<PaymentBody>(await call('POST', `/payments/${payment.id}/cancel`), 200),
    ),
  );
  assert.ok(responses.every(({ status }) => status === 'canceled'));
});

test('404: a customer that does not exist, and the idempotency key stays free', async () => {
  const { id: customerId } = await createCustomer(till);
  const body = { amount: 2_000, currency: 'eur', idempotencyKey: 'payment-3' };
  const unknown = await call('POST', '/payments', { ...body, customerId: unknownId });
  assert.match((await readProblem(unknown, 404, 'not_found')).detail, /customer/);
  await readJson(await call('POST', '/payments', { ...body, customerId }), 201);
});

test('409: a payment that succeeded is not canceled; the row is corrected first, and the response shows its status', async () => {
  const payment = await createPaidPayment(till);
  assert.equal(await statusOf(payment), 'requires_payment_method', 'the webhook has not arrived');
  for (let times = 0; times < 2; times += 1) {
    const response = await call('POST', `/payments/${payment.id}/cancel`);
    const problem = await readProblem(response, 409, 'payment_not_cancelable');
    assert.match(problem.detail, /succeeded/);
    assert.equal(await statusOf(payment), 'succeeded');
  }
  const [row] = await sql<{ amount_received: number }>(
    'select amount_received from till.payments where id = $1',
    [payment.id],
  );
  assert.equal(row?.amount_received, 2_000);
});

test('409: a refunded payment is not canceled', async () => {
  const payment = await createPaidPayment(till);
  assert.equal((await call('POST', `/payments/${payment.id}/refund`)).status, 200);
  const response = await call('POST', `/payments/${payment.id}/cancel`);
  const problem = await readProblem(response, 409, 'payment_not_cancelable');
  assert.match(problem.detail, /refunded/);
});

test('409: a payment that is paid while it is being canceled ends as the processor says, whichever comes first', async () => {
  for (let round = 0; round < 5; round += 1) {
    const payment = await createPayment(till);
    const [canceled] = await Promise.all([
      call('POST', `/payments/${payment.id}/cancel`),
      confirmPayment(till, payment).catch(() => undefined),
    ]);
    const { status } = await stripe.paymentIntents.retrieve(payment.processorPaymentIntentId);
    assert.equal(canceled.status, status === 'canceled' ? 200 : 409);
    assert.equal(await statusOf(payment), status);
  }
});

test('422: an idempotency key that was used for another payment', async () => {
  const { id: customerId } = await createCustomer(till);
  const body = { customerId, amount: 2_000, currency: 'eur', idempotencyKey: 'payment-4' };
  await readJson(await call('POST', '/payments', body), 201);
  for (const change of [{ amount: 2_001 }, { currency: 'usd' }, { customerId: unknownId }]) {
    const response = await call('POST', '/payments', { ...body, ...change });
    await readProblem(response, 422, 'idempotency_key_reused');
  }
});

test('422: an amount below the smallest of its currency, with the code of the processor, and the idempotency key stays free', async () => {
  const { id: customerId } = await createCustomer(till);
  const body = { customerId, amount: 1, currency: 'usd', idempotencyKey: 'payment-5' };
  const problem = await readProblem(await call('POST', '/payments', body), 422, 'processor_rejected');
  assert.equal(problem.processorCode, 'amount_too_small');
  await readJson(await call('POST', '/payments', { ...body, amount: 50 }), 201);
});

test('422: a currency that the processor does not know', async () => {
  const { id: customerId } = await createCustomer(till);
  const response = await call('POST', '/payments', { customerId, amount: 2_000, currency: 'zzz' });
  await readProblem(response, 422, 'processor_rejected');
});

test('404: a customer that is gone at the processor is corrected first', async () => {
  const customer = await createCustomer(till);
  await till.stripe.customers.del(customer.processorCustomerId);
  const request = { customerId: customer.id, amount: 2_000, currency: 'eur' };
  await readProblem(await call('POST', '/payments', request), 404, 'not_found');
  await readProblem(await call('GET', `/customers/${customer.id}`), 404, 'not_found');
});

test('201: the same request with its ids and its currency in another case is the same request', async () => {
  const customer = await createCustomer(till);
  const request = { customerId: customer.id, amount: 2_000, currency: 'eur', idempotencyKey: 'another-case' };
  const first = await readJson<{ payment: { id: string } }>(await call('POST', '/payments', request), 201);
  const upper = { ...request, customerId: customer.id.toUpperCase(), currency: 'EUR' };
  const again = await readJson<{ payment: { id: string } }>(await call('POST', '/payments', upper), 201);
  assert.equal(again.payment.id, first.payment.id);
});

test('201: an amount may be written in any way that is the same whole number in JSON', async () => {
  const { id } = await createCustomer(till);
  const headers = { 'content-type': 'application/json' };
  for (const amount of ['2000', '2000.0', '2e3', '200000e-2']) {
    const body = `{"customerId":"${id}","amount":${amount},"currency":"eur","idempotencyKey":"written-${id}"}`;
    const response = await till.fetch('/api/v1/payments', { method: 'POST', headers, body });
    assert.equal(response.status, 201, await response.text());
  }
});
