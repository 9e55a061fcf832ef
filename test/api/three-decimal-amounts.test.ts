/** In currencies with three decimals the processor only takes amounts that end in 0. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  confirmPayment,
  createCustomer,
  createPayment,
  createPlan,
  type PaymentBody,
  type RefundedBody,
  readPayment,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

const message = 'must end in 0 in a currency with three decimals';
const mistake = { path: 'body.amount', message };
const currencies = ['bhd', 'JOD', 'kwd', 'omr', 'tnd'];

async function assertMistakes(response: Response, ...expected: readonly object[]): Promise<void> {
  const { errors } = await readProblem(response, 400, 'invalid_request');
  assert.deepEqual(errors, expected);
}

test('400: a payment or a plan whose amount does not end in 0, and 201 for one that does', async () => {
  const { id: customerId } = await createCustomer(till);
  for (const currency of currencies) {
    for (const amount of [1_001, 1_005, 999_999_999_999]) {
      await assertMistakes(await call('POST', '/payments', { customerId, amount, currency }), mistake);
      const plan = { name: 'Gold', interval: 'month', amount, currency };
      await assertMistakes(await call('POST', '/plans', plan), mistake);
    }
    assert.equal((await createPayment(till, { customerId, amount: 1_010, currency })).amount, 1_010);
    assert.equal((await createPlan(till, { amount: 0, currency })).amount, 0);
    assert.equal((await createPlan(till, { amount: 1_010, currency })).amount, 1_010);
  }
  assert.equal((await createPayment(till, { customerId, amount: 1_001 })).amount, 1_001);
});

test('400: it is named with every other mistake of the request', async () => {
  const response = await call('POST', '/payments', {
    customerId: 'x',
    amount: 1_001,
    currency: 'kwd',
    more: 1,
  });
  const { errors } = await readProblem(response, 400, 'invalid_request');
  assert.deepEqual(errors?.map(({ path }) => path).toSorted(), [
    'body.amount',
    'body.customerId',
    'body.more',
  ]);
  // A malformed amount or currency is the only mistake of its field.
  for (const wrong of [
    { amount: 1_001.5, currency: 'kwd' },
    { amount: 1_001, currency: 'kw' },
    { amount: 1_001, currency: 7 },
  ]) {
    const refused = await call('POST', '/plans', { name: 'Gold', interval: 'month', ...wrong });
    const { errors: found } = await readProblem(refused, 400, 'invalid_request');
    assert.ok(
      found?.every((one) => one.message !== message),
      JSON.stringify(found),
    );
  }
});

async function paid(amount: number, more: { readonly captureMethod?: 'manual' } = {}): Promise<PaymentBody> {
  const payment = await createPayment(till, { amount, currency: 'kwd', ...more });
  await confirmPayment(till, payment);
  await till.settle();
  return payment;
}

test('400: a refund that does not end in 0; the rest can always be refunded', async () => {
  const payment = await paid(5_000);
  const path = `/payments/${payment.id}/refund`;
  // Before what its state forbids: the amount is wrong in any state.
  for (const amount of [1, 1_001, 9_999])
    await assertMistakes(await call('POST', path, { amount, idempotencyKey: `odd-${amount}` }), mistake);
  assert.deepEqual(
    await stripe.refunds.list({ payment_intent: payment.processorPaymentIntentId }).then((all) => all.data),
    [],
  );
  // A refused amount leaves the idempotency key free.
  const { refund } = await till.post<RefundedBody>(path, { amount: 1_010, idempotencyKey: 'odd-1001' });
  assert.equal(refund.amount, 1_010);
  assert.equal((await till.post<RefundedBody>(path)).refund.amount, 3_990);
  await readProblem(
    await call('POST', '/payments/0199c1f3-11d2-7b64-9e0f-7a6b5c4d3e2f/refund', { amount: 1 }),
    404,
    'not_found',
  );
});

test('400: a capture that does not end in 0; the whole can always be captured', async () => {
  const payment = await paid(5_000, { captureMethod: 'manual' });
  const path = `/payments/${payment.id}/capture`;
  for (const amount of [1, 1_001, 9_999])
    await assertMistakes(await call('POST', path, { amount, idempotencyKey: `odd-${amount}` }), mistake);
  assert.equal((await readPayment(till, payment)).amountCapturable, 5_000);
  const captured = await till.post<PaymentBody>(path, { amount: 1_010, idempotencyKey: 'odd-1001' });
  assert.equal(captured.amountReceived, 1_010);
  const whole = await paid(5_000, { captureMethod: 'manual' });
  assert.equal((await till.post<PaymentBody>(`/payments/${whole.id}/capture`)).amountReceived, 5_000);
});
