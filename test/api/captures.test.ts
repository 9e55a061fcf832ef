import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { readJson } from '../support/client.ts';
import {
  confirmPayment,
  createPaidPayment,
  createPayment,
  type PaymentBody,
  readPayment,
  readRefunds,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe, control } = till;

const weekMs = 7 * 86_400_000;

/** A payment that is authorised at the processor. Till does not know it yet. */
async function authorise(card?: string): Promise<PaymentBody> {
  const payment = await createPayment(till, { captureMethod: 'manual' });
  await confirmPayment(till, payment, card);
  return payment;
}

async function capture({ id }: PaymentBody, body?: object): Promise<Response> {
  return call('POST', `/payments/${id}/capture`, body);
}

describe('an authorised payment', () => {
  test('shows the amount to capture and when the authorisation expires, as its webhooks say', async () => {
    const payment = await authorise();
    await till.settle();
    const authorised = await readPayment(till, payment);
    assert.equal(authorised.status, 'requires_action');
    assert.equal(authorised.amountCapturable, 2_000);
    assert.equal(authorised.amountReceived, 0);
    const { latest_charge: charge } = await stripe.paymentIntents.retrieve(payment.processorPaymentIntentId, {
      expand: ['latest_charge'],
    });
    assert(typeof charge === 'object' && charge !== null);
    const expiresMs = (charge.payment_method_details?.card?.capture_before ?? 0) * 1_000;
    assert.equal(expiresMs, charge.created * 1_000 + weekMs);
    assert.equal(authorised.captureBefore, new Date(expiresMs).toISOString());
  });

  test('200: is captured in full, here and at the processor', async () => {
    const payment = await authorise();
    await till.settle();
    const captured = await readJson<PaymentBody>(await capture(payment), 200);
    assert.deepEqual(
      [captured.status, captured.amountReceived, captured.amountCapturable, captured.captureBefore],
      ['succeeded', 2_000, 0, null],
    );
    const intent = await stripe.paymentIntents.retrieve(payment.processorPaymentIntentId);
    assert.deepEqual([intent.status, intent.amount_received], ['succeeded', 2_000]);
    await till.settle();
    assert.deepEqual(await readPayment(till, payment), captured);
  });

  test('200: is captured in part before its webhooks arrive; the rest is not received and cannot be refunded', async () => {
    const payment = await authorise();
    const before = await till.count('payments_succeeded_total');
    const captured = await readJson<PaymentBody>(await capture(payment, { amount: 1_500 }), 200);
    assert.deepEqual(
      [captured.status, captured.amount, captured.amountReceived],
      ['succeeded', 2_000, 1_500],
    );
    await till.settle();
    assert.equal(await till.count('payments_succeeded_total'), before + 1);
    assert.equal((await readPayment(till, payment)).amountRefunded, 0);
    const refused = await call('POST', `/payments/${payment.id}/refund`, { amount: 1_501 });
    await readProblem(refused, 409, 'refund_exceeds_remaining');
    const refunded = await readJson<PaymentBody>(await call('POST', `/payments/${payment.id}/refund`), 200);
    assert.deepEqual([refunded.status, refunded.amountRefunded], ['refunded', 1_500]);
    // The processor released the rest with a refund of its own.
    assert.deepEqual(
      (await readRefunds(till, payment)).map(({ amount }) => amount),
      [1_500, 500],
    );
  });

  test('200: a refund of exactly what was not captured counts, before and after the processor releases it', async () => {
    const payment = await authorise();
    await readJson<PaymentBody>(await capture(payment, { amount: 1_500 }), 200);
    const refund = await call('POST', `/payments/${payment.id}/refund`, { amount: 500 });
    assert.equal((await readJson<PaymentBody>(refund, 200)).amountRefunded, 500);
    await till.settle();
    assert.equal((await readPayment(till, payment)).amountRefunded, 500);
  });

  test('200: is captured at the processor; a webhook says so', async () => {
    const payment = await authorise();
    await till.settle();
    await stripe.paymentIntents.capture(payment.processorPaymentIntentId, { amount_to_capture: 700 });
    await till.settle();
    const captured = await readPayment(till, payment);
    assert.deepEqual(
      [captured.status, captured.amountReceived, captured.amountRefunded],
      ['succeeded', 700, 0],
    );
  });

  test('200: is canceled, which gives back what was authorised', async () => {
    const payment = await authorise();
    await till.settle();
    const canceled = await readJson<PaymentBody>(await call('POST', `/payments/${payment.id}/cancel`), 200);
    assert.deepEqual(
      [canceled.status, canceled.amountCapturable, canceled.captureBefore, canceled.amountReceived],
      ['canceled', 0, null, 0],
    );
    const intent = await stripe.paymentIntents.retrieve(payment.processorPaymentIntentId);
    assert.deepEqual([intent.status, intent.amount_capturable], ['canceled', 0]);
    await readProblem(await capture(payment), 409, 'payment_not_capturable');
    await till.settle();
    assert.deepEqual(
      [(await readPayment(till, payment)).amountRefunded, (await readRefunds(till, payment)).length],
      [0, 1],
    );
  });

  test('is authorised after authentication too, and has no secret left to confirm', async () => {
    const { customerId } = await createPayment(till);
    const body = {
      ...{ customerId, amount: 2_000, currency: 'eur', captureMethod: 'manual' },
      idempotencyKey: 'authenticated',
    };
    const { payment } = await readJson<{ payment: PaymentBody }>(await call('POST', '/payments', body), 201);
    await confirmPayment(till, payment, 'pm_card_authenticationRequired');
    const path = `payment_intents/${payment.processorPaymentIntentId}/authenticate`;
    await control(path, { result: 'succeeded' });
    const again = await readJson<{ payment: PaymentBody; clientSecret: string | null }>(
      await call('POST', '/payments', body),
      201,
    );
    assert.deepEqual([again.payment.amountCapturable, again.clientSecret], [2_000, null]);
  });
});

describe('an expired authorisation', () => {
  test('ends as canceled by webhook, and cannot be captured', async () => {
    const [payment, unheard] = [await authorise(), await authorise()];
    await till.settle();
    await control('clock', { advanceSeconds: weekMs / 1_000 });
    // No webhook has arrived yet: the processor refuses, and the response says why.
    await readProblem(await capture(unheard), 409, 'payment_not_capturable');
    assert.equal((await readPayment(till, unheard)).status, 'canceled');
    await till.settle();
    const expired = await readPayment(till, payment);
    assert.deepEqual(
      [expired.status, expired.amountCapturable, expired.captureBefore],
      ['canceled', 0, null],
    );
  });
});

describe('a repeated capture', () => {
  test('200: the same idempotency key returns the same payment, and nothing is captured twice', async () => {
    const payment = await authorise();
    const body = { amount: 500, idempotencyKey: 'capture-1' };
    const first = await readJson<PaymentBody>(await capture(payment, body), 200);
    const again = await capture(payment, body);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(await readJson(again, 200), first);
    await readProblem(await capture(payment, { ...body, amount: 501 }), 422, 'idempotency_key_reused');
  });

  test('409: with another idempotency key, because a payment is captured once', async () => {
    const payment = await authorise();
    await readJson(await capture(payment, { amount: 500, idempotencyKey: 'capture-2' }), 200);
    for (const body of [undefined, { amount: 500 }, { idempotencyKey: 'capture-3' }]) {
      const problem = await readProblem(await capture(payment, body), 409, 'payment_not_capturable');
      assert.match(problem.detail, /succeeded/);
    }
  });

  test('one of twenty at once captures, and the others are refused', async () => {
    const payment = await authorise();
    const responses = await Promise.all(
      Array.from(
        { length: 20 },
        async (_, index) => (await capture(payment, { amount: 100 + index })).status,
      ),
    );
    assert.deepEqual(responses.toSorted(), [200, ...Array.from({ length: 19 }, () => 409)]);
  });

  test('the idempotency key of a refused capture stays free for a corrected request', async () => {
    const payment = await authorise();
    const idempotencyKey = 'capture-4';
    const problem = await readProblem(
      await capture(payment, { amount: 2_001, idempotencyKey }),
      409,
      'capture_exceeds_authorized',
    );
    assert.match(problem.detail, /20\.00 EUR.*2000/);
    await readJson(await capture(payment, { amount: 2_000, idempotencyKey }), 200);
  });
});

describe('a capture whose response was lost', () => {
  test('200: is sent again, and shows that the payment is captured and disputed before any webhook', async () => {
    const payment = await authorise('pm_card_createDispute');
    await till.setFault({ operation: 'payment_intents.capture', kind: 'reset_after' });
    const captured = await readJson<PaymentBody>(await capture(payment), 200);
    assert.deepEqual([captured.status, captured.dispute?.status], ['succeeded', 'needs_response']);
    await till.settle();
    assert.deepEqual(await readPayment(till, payment), captured);
  });
});

describe('a payment that is not authorised', () => {
  test('409: if it has no payment attempt, waits for authentication, was declined, or is paid', async () => {
    const untried = await createPayment(till, { captureMethod: 'manual' });
    const waiting = await authorise('pm_card_authenticationRequired');
    const declined = await createPayment(till, { captureMethod: 'manual' });
    await assert.rejects(confirmPayment(till, declined, 'pm_card_visa_chargeDeclined'));
    const paid = await createPaidPayment(till);
    for (const payment of [untried, waiting, declined, paid])
      await readProblem(await capture(payment), 409, 'payment_not_capturable');
  });
});
