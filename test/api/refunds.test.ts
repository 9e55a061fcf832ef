import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readJson } from '../support/client.ts';
import {
  assertResource,
  createPaidPayment,
  createPayment,
  onlyPage,
  type PageBody,
  type PaymentBody,
  type RefundBody,
  type RefundedBody,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe, sql, control } = till;

async function refund({ id }: PaymentBody, body?: object): Promise<RefundedBody> {
  return readJson(await call('POST', `/payments/${id}/refund`, body), 200);
}

async function statusOf({ id }: PaymentBody): Promise<string> {
  return (await readJson<PaymentBody>(await call('GET', `/payments/${id}`), 200)).status;
}

async function refundsOf({ id }: PaymentBody, query = ''): Promise<PageBody<RefundBody>> {
  return readJson(await call('GET', `/payments/${id}/refunds${query}`), 200);
}

/** What the processor knows of, as amounts, in no order. */
async function refundedThere({ processorPaymentIntentId }: PaymentBody): Promise<readonly number[]> {
  const { data } = await stripe.refunds.list({ payment_intent: processorPaymentIntentId, limit: 100 });
  return data.map(({ amount }) => amount).sort((a, b) => a - b);
}

test('200: without a body everything is refunded, and the response is the payment and its refund', async () => {
  const payment = await createPaidPayment(till);
  const { refund: created, ...after } = await refund(payment);
  const paymentMethod = { ...after.paymentMethod, id: '' };
  assert.deepEqual(
    { ...after, paymentMethod, updatedAt: '' },
    {
      ...payment,
      status: 'refunded',
      amountReceived: 2_000,
      amountRefunded: 2_000,
      paymentMethod: { id: '', type: 'card', brand: 'visa', last4: '4242', expMonth: 12, expYear: 2034 },
      updatedAt: '',
    },
  );
  const { processorRefundId } = created;
  assertResource(created, {
    processorRefundId,
    paymentId: payment.id,
    amount: 2_000,
    currency: 'eur',
    status: 'succeeded',
    reason: null,
    kind: 'refund',
  });
  const there = await stripe.refunds.retrieve(processorRefundId);
  assert.deepEqual([there.amount, there.metadata?.['till_id']], [2_000, created.id]);
  assert.deepEqual(await readJson(await call('GET', `/payments/${payment.id}`), 200), after);
});

test('200: part after part is refunded until nothing is left; only then is the payment refunded', async () => {
  const payment = await createPaidPayment(till);
  const steps = [
    { body: { amount: 500, reason: 'requested_by_customer' }, amount: 500, status: 'succeeded' },
    { body: { amount: 1, reason: 'duplicate' }, amount: 1, status: 'succeeded' },
    { body: { reason: 'fraudulent' }, amount: 1_499, status: 'refunded' },
  ];
  for (const { body, amount, status } of steps) {
    const after = await refund(payment, body);
    assert.deepEqual([after.refund.amount, after.refund.reason, after.status], [amount, body.reason, status]);
  }
  assert.deepEqual(await refundedThere(payment), [1, 500, 1_499]);
  await readProblem(await call('POST', `/payments/${payment.id}/refund`), 409, 'payment_not_refundable');
});

test('200: the records of a payment are listed page by page, newest first', async () => {
  const payment = await createPaidPayment(till);
  assert.deepEqual(await refundsOf(payment), { ...onlyPage, data: [], total: 0 });
  const created: RefundBody[] = [];
  for (const amount of [100, 200, 300]) created.unshift((await refund(payment, { amount })).refund);
  assert.deepEqual(await refundsOf(payment), { ...onlyPage, data: created, total: 3 });
  const second = { ...onlyPage, data: created.slice(2), total: 3, page: 2, limit: 2 };
  assert.deepEqual(await refundsOf(payment, '?limit=2&page=2'), second);
  const { nextCursor } = await refundsOf(payment, '?limit=2');
  assert.deepEqual(await refundsOf(payment, `?limit=2&cursor=${nextCursor}`), second);
  const oldest = created[2]?.createdAt;
  assert.deepEqual(await refundsOf(payment, `?createdBefore=${oldest}`), { ...onlyPage, data: [], total: 0 });
  assert.equal((await refundsOf(payment, `?createdAfter=${oldest}`)).total, 3);
  const other = await createPaidPayment(till);
  const foreign = `/payments/${other.id}/refunds?cursor=${nextCursor}`;
  await readProblem(await call('GET', foreign), 400, 'invalid_request');
  assert.deepEqual((await refundsOf(payment, '?limit=2&page=3')).data, []);
});

test('200: a repeated idempotency key returns the first refund, and none is created twice', async () => {
  const payment = await createPaidPayment(till);
  const first = await refund(payment, { amount: 500, idempotencyKey: 'refund-1' });
  const again = await call(
    'POST',
    `/payments/${payment.id}/refund`,
    { amount: 500 },
    { 'idempotency-key': 'refund-1' },
  );
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(await readJson(again, 200), first);
  assert.deepEqual(await refundedThere(payment), [500]);
});

test('200: a repeated idempotency key for all that is left is the same request, though less is left by then', async () => {
  const payment = await createPaidPayment(till);
  const first = await refund(payment, { idempotencyKey: 'refund-2' });
  assert.deepEqual(await refund(payment, { idempotencyKey: 'refund-2' }), first);
  assert.deepEqual(await refundedThere(payment), [2_000]);
});

test('200: a pending refund counts, and the payment is refunded at once', async () => {
  const payment = await createPaidPayment(till, { card: 'pm_card_pendingRefund' });
  const after = await refund(payment);
  assert.deepEqual([after.status, after.refund.status], ['refunded', 'pending']);
});

test('200: a refund that fails later changes the payment to succeeded again, and the money can be refunded again', async () => {
  const payment = await createPaidPayment(till, { card: 'pm_card_refundFail' });
  assert.equal((await refund(payment)).status, 'refunded');
  await control('clock', { advanceSeconds: 61 });
  await till.settle();
  assert.equal(await statusOf(payment), 'succeeded');
  assert.deepEqual(
    (await refundsOf(payment)).data.map(({ status }) => status),
    ['failed'],
  );
  assert.equal((await refund(payment, { amount: 500 })).refund.amount, 500);
});

test('200: a repeated request shows a refund that has failed since its response was lost', async (t) => {
  const hasty = await startTill({ in: 'process', on: till, for: t, limits: { retriesMax: 0 } });
  const payment = await createPaidPayment(till, { card: 'pm_card_refundFail' });
  const body = { idempotencyKey: 'refund-that-fails' };
  await till.setFault({ operation: 'refunds.create', kind: 'reset_after' });
  const lost = await hasty.call('POST', `/payments/${payment.id}/refund`, body);
  await readProblem(lost, 503, 'processor_unavailable');
  await control('clock', { advanceSeconds: 61 });
  const after = await refund(payment, body);
  assert.deepEqual([after.status, after.refund.status], ['succeeded', 'failed']);
  await till.settle();
  const { data } = await till.get<{ data: { type: string }[] }>(`/events?objectId=${payment.id}`);
  assert.equal(
    data.some(({ type }) => type === 'payment.refunded'),
    false,
  );
});

test('200: all that is left is what the processor says is left, if part was refunded on its dashboard', async () => {
  const payment = await createPaidPayment(till);
  await stripe.refunds.create({ payment_intent: payment.processorPaymentIntentId, amount: 600 });
  const after = await refund(payment);
  assert.deepEqual([after.refund.amount, after.status], [1_400, 'refunded']);
  const { data } = await refundsOf(payment);
  assert.deepEqual(data.map(({ amount }) => amount).sort(), [1_400, 600]);
  assert.deepEqual(await refundedThere(payment), [600, 1_400]);
});

test('200: the list shows no refund that the processor has not confirmed yet', async () => {
  const payment = await createPaidPayment(till);
  await refund(payment, { amount: 100 });
  await control('faults', { operation: 'refunds.create', kind: 'hang' });
  const pending = call('POST', `/payments/${payment.id}/refund`, { amount: 200 });
  const reserved = 'select 1 from till.refunds where payment_id = $1 and processor_refund_id is null';
  // The reservation is committed before the processor is called, which hangs until the fault is cleared.
  await until(async () => (await sql(reserved, [payment.id])).length > 0, 'nothing was reserved');
  const during = await refundsOf(payment);
  await till.clearFaults();
  assert.deepEqual([during.data.map(({ amount }) => amount), during.total], [[100], 1]);
  assert.equal((await pending).status, 200);
  assert.equal((await refundsOf(payment)).total, 2);
});

test('409: a payment that is not paid, or canceled, is not refunded', async () => {
  const payment = await createPayment(till);
  const unpaid = await call('POST', `/payments/${payment.id}/refund`);
  assert.match((await readProblem(unpaid, 409, 'payment_not_refundable')).detail, /requires_payment_method/);
  await call('POST', `/payments/${payment.id}/cancel`);
  const canceled = await call('POST', `/payments/${payment.id}/refund`);
  assert.match((await readProblem(canceled, 409, 'payment_not_refundable')).detail, /canceled/);
  assert.deepEqual((await refundsOf(payment)).data, []);
});

test('409: more than is left is not refunded, and says how much that is', async () => {
  const payment = await createPaidPayment(till);
  await refund(payment, { amount: 1_500 });
  const response = await call('POST', `/payments/${payment.id}/refund`, { amount: 501 });
  assert.match((await readProblem(response, 409, 'refund_exceeds_remaining')).detail, /5\.00 EUR.*\b500\b/);
  assert.equal(await statusOf(payment), 'succeeded');
  assert.equal((await refund(payment, { amount: 500 })).status, 'refunded');
});

test('409: what was refunded on the dashboard counts: the row is corrected first, and the response shows it', async () => {
  const whole = await createPaidPayment(till);
  await stripe.refunds.create({ payment_intent: whole.processorPaymentIntentId });
  for (let times = 0; times < 2; times += 1) {
    const response = await call('POST', `/payments/${whole.id}/refund`, { amount: 500 });
    await readProblem(response, 409, 'payment_not_refundable');
    assert.equal(await statusOf(whole), 'refunded');
  }
  assert.deepEqual(
    (await refundsOf(whole)).data.map(({ amount }) => amount),
    [2_000],
  );

  const part = await createPaidPayment(till);
  await stripe.refunds.create({ payment_intent: part.processorPaymentIntentId, amount: 1_800 });
  const response = await call('POST', `/payments/${part.id}/refund`, { amount: 500 });
  const problem = await readProblem(response, 409, 'refund_exceeds_remaining');
  assert.match(problem.detail, /2\.00 EUR.*\b200\b/);
  assert.equal(await statusOf(part), 'succeeded');
});

test('409: of twenty refunds of everything at once one goes through', async () => {
  const payment = await createPaidPayment(till);
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => call('POST', `/payments/${payment.id}/refund`, { amount: 2_000 })),
  );
  const statuses = responses.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, ...Array.from({ length: 19 }, () => 409)]);
  assert.deepEqual(await refundedThere(payment), [2_000]);
  assert.equal(await statusOf(payment), 'refunded');
});

test('409: of twenty refunds of a third at once three go through', async () => {
  const payment = await createPaidPayment(till, { amount: 3_000 });
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => call('POST', `/payments/${payment.id}/refund`, { amount: 1_000 })),
  );
  assert.equal(responses.filter(({ status }) => status === 200).length, 3);
  assert.deepEqual(await refundedThere(payment), [1_000, 1_000, 1_000]);
});

test('409: a cancel and a refund at once: the refund succeeds, and the cancel is refused', async () => {
  const payment = await createPaidPayment(till);
  const [canceled, refunded] = await Promise.all([
    call('POST', `/payments/${payment.id}/cancel`),
    call('POST', `/payments/${payment.id}/refund`),
  ]);
  await readProblem(canceled, 409, 'payment_not_cancelable');
  assert.equal((await readJson<RefundedBody>(refunded, 200)).status, 'refunded');
});

test('422: an idempotency key that was used for another refund, or for one of another payment', async () => {
  const payment = await createPaidPayment(till);
  const other = await createPaidPayment(till);
  await refund(payment, { amount: 500, idempotencyKey: 'refund-3' });
  for (const [{ id }, body] of [
    [payment, { amount: 501 }],
    [payment, {}],
    [payment, { amount: 500, reason: 'duplicate' }],
    [other, { amount: 500 }],
  ] as const) {
    const response = await call('POST', `/payments/${id}/refund`, { ...body, idempotencyKey: 'refund-3' });
    await readProblem(response, 422, 'idempotency_key_reused');
  }
});

test('409: while the outcome of a refund is unknown, the payment is not shown as refunded', async () => {
  const payment = await createPaidPayment(till);
  const refund = () => call('POST', `/payments/${payment.id}/refund`);
  await till.control('faults', { operation: 'refunds.create', kind: 'reset_before', times: 3 });
  await readProblem(await refund(), 503, 'processor_unavailable');
  const { status } = await readJson<PaymentBody>(await call('GET', `/payments/${payment.id}`), 200);
  assert.equal(status, 'succeeded');
  const again = await refund();
  assert.equal(again.headers.get('retry-after'), '60');
  const { detail } = await readProblem(again, 409, 'refund_in_flight');
  assert.match(detail, /^A refund of 20\.00 EUR is still pending\./);
});
