import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { readJson } from '../support/client.ts';
import {
  type CreatedPaymentBody,
  type CustomerBody,
  confirmPayment,
  createCustomer,
  createPaidPayment,
  createPayment,
  type PaymentBody,
  readPayment,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';
import { triesPerCall } from '../support/till-in-process.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe, control } = till;

/** A customer with a saved card. */
async function withCard(card = 'pm_card_visa'): Promise<{ customer: CustomerBody; paymentMethodId: string }> {
  const customer = await createCustomer(till);
  const { id } = await stripe.paymentMethods.attach(card, { customer: customer.processorCustomerId });
  return { customer, paymentMethodId: id };
}

function create(body: object): Promise<Response> {
  return call('POST', '/payments', { amount: 2_000, currency: 'eur', ...body });
}

async function chargeOffSession(card?: string, more: object = {}): Promise<CreatedPaymentBody> {
  const { customer, paymentMethodId } = await withCard(card);
  const body = { customerId: customer.id, paymentMethodId, offSession: true, ...more };
  return readJson(await create(body), 201);
}

const visa = { type: 'card', brand: 'visa', expMonth: 12, expYear: 2034 };
const decline = {
  code: 'card_declined',
  declineCode: 'generic_decline',
  message: 'Your card was declined.',
};

describe('an off-session charge', () => {
  test('201: succeeds at once, with its payment method and no secret, and is counted once', async () => {
    const before = await till.count('payments_succeeded_total');
    const { payment, clientSecret } = await chargeOffSession();
    assert.deepEqual(
      [payment.status, payment.amountReceived, payment.failure, clientSecret],
      ['succeeded', 2_000, null, null],
    );
    assert.deepEqual({ ...payment.paymentMethod, id: '' }, { ...visa, last4: '4242', id: '' });
    await till.settle();
    assert.deepEqual(await readPayment(till, payment), payment);
    assert.equal(await till.count('payments_succeeded_total'), before + 1);
  });

  test('201: is only authorised with captureMethod manual', async () => {
    const { payment, clientSecret } = await chargeOffSession('pm_card_visa', { captureMethod: 'manual' });
    assert.deepEqual(
      [payment.status, payment.amountCapturable, payment.amountReceived, clientSecret],
      ['requires_action', 2_000, 0, null],
    );
    assert.notEqual(payment.captureBefore, null);
    const captured = await readJson<PaymentBody>(await call('POST', `/payments/${payment.id}/capture`), 200);
    assert.equal(captured.status, 'succeeded');
  });

  test('201: is declined; the payment says why, and the customer can come back with the secret', async () => {
    const failed = await till.count('payments_failed_total');
    const { payment, clientSecret } = await chargeOffSession('pm_card_chargeCustomerFail');
    assert.equal(payment.status, 'requires_payment_method');
    assert.deepEqual(payment.failure, decline);
    assert.deepEqual({ ...payment.paymentMethod, id: '' }, { ...visa, last4: '0341', id: '' });
    const intent = await stripe.paymentIntents.retrieve(payment.processorPaymentIntentId);
    assert.equal(clientSecret, intent.client_secret);
    await till.settle();
    assert.deepEqual(await readPayment(till, payment), payment);
    assert.equal(await till.count('payments_failed_total'), failed + 1);
    await stripe.paymentIntents.confirm(payment.processorPaymentIntentId, { payment_method: 'pm_card_visa' });
    await till.settle();
    const paid = await readPayment(till, payment);
    assert.deepEqual([paid.status, paid.failure, paid.paymentMethod?.last4], ['succeeded', null, '4242']);
  });

  test('201: the same idempotency key returns the same decline, and a new attempt needs a new one', async () => {
    const { customer, paymentMethodId } = await withCard('pm_card_chargeCustomerFail');
    const body = { customerId: customer.id, paymentMethodId, offSession: true };
    const first = await readJson<CreatedPaymentBody>(
      await create({ ...body, idempotencyKey: 'decline-1' }),
      201,
    );
    const again = await create({ ...body, idempotencyKey: 'decline-1' });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(await readJson(again, 201), first);
    await readJson(await create({ ...body, idempotencyKey: 'decline-2' }), 201);
    const { data } = await stripe.charges.list({ customer: customer.processorCustomerId });
    assert.equal(data.length, 2);
  });

  test('201: needs authentication; the payment waits for the customer, with its secret', async () => {
    const { payment, clientSecret } = await chargeOffSession('pm_card_authenticationRequired');
    assert.equal(payment.status, 'requires_action');
    assert.notEqual(clientSecret, null);
    await till.settle();
    assert.equal((await readPayment(till, payment)).status, 'requires_action');
    await control(`payment_intents/${payment.processorPaymentIntentId}/authenticate`, {
      result: 'succeeded',
    });
    await till.settle();
    const paid = await readPayment(till, payment);
    assert.deepEqual([paid.status, paid.amountReceived], ['succeeded', 2_000]);
  });

  for (const operation of ['payment_intents.create', 'payment_intents.confirm', 'payment_intents.retrieve']) {
    for (const kind of ['reset_before', 'reset_after'] as const) {
      test(`201: is created once, although the first ${operation} ends with ${kind}`, async () => {
        const { customer, paymentMethodId } = await withCard('pm_card_authenticationRequired');
        const idempotencyKey = `${operation} ${kind}`.replaceAll(' ', '-');
        const body = { customerId: customer.id, paymentMethodId, offSession: true, idempotencyKey };
        await till.setFault({ operation, kind, times: triesPerCall });
        const first = await create(body);
        await till.clearFaults();
        // The retry of a write that took effect gets the processor's remembered response.
        const isRemembered = kind === 'reset_after' && operation !== 'payment_intents.retrieve';
        assert.equal(first.status, isRemembered ? 201 : 503);
        const { payment, clientSecret } = await readJson<CreatedPaymentBody>(await create(body), 201);
        assert.equal(payment.status, 'requires_action');
        assert.notEqual(clientSecret, null);
        const { data } = await stripe.paymentIntents.list({ customer: customer.processorCustomerId });
        assert.deepEqual(
          data.map(({ id, status }) => [id, status]),
          [[payment.processorPaymentIntentId, 'requires_action']],
        );
      });
    }
  }

  test('400: without a payment method, or to save it', async () => {
    const { customer, paymentMethodId } = await withCard();
    const body = { customerId: customer.id, offSession: true };
    const without = await readProblem(await create(body), 400, 'invalid_request');
    assert.deepEqual(without.errors, [
      { path: 'body.paymentMethodId', message: 'is required with offSession' },
    ]);
    const saving = await create({ ...body, paymentMethodId, savePaymentMethod: true });
    const problem = await readProblem(saving, 400, 'invalid_request');
    assert.equal(problem.errors?.[0]?.path, 'body.savePaymentMethod');
    const { data } = await stripe.paymentIntents.list({ customer: customer.processorCustomerId });
    assert.deepEqual(data, []);
  });

  test("404: with an unknown, a removed or another customer's payment method, and the idempotency key stays free", async () => {
    const [{ customer, paymentMethodId }, other] = [await withCard(), await withCard()];
    const removed = await stripe.paymentMethods.attach('pm_card_visa', {
      customer: customer.processorCustomerId,
    });
    await stripe.paymentMethods.detach(removed.id);
    const body = { customerId: customer.id, idempotencyKey: 'method-1' };
    for (const offSession of [true, false]) {
      for (const wrong of ['pm_unknown', 'pm/../x', removed.id, other.paymentMethodId]) {
        const refused = await create({ ...body, paymentMethodId: wrong, offSession });
        assert.match((await readProblem(refused, 404, 'not_found')).detail, /payment method/);
      }
    }
    await readJson(await create({ ...body, paymentMethodId, offSession: true }), 201);
    const { data } = await stripe.paymentIntents.list({ customer: customer.processorCustomerId });
    assert.equal(data.length, 1);
  });
});

describe('a payment with the customer present', () => {
  test('201: has its payment method ready, and the frontend confirms', async () => {
    const { customer, paymentMethodId } = await withCard();
    const { payment, clientSecret } = await readJson<CreatedPaymentBody>(
      await create({ customerId: customer.id, paymentMethodId }),
      201,
    );
    assert.equal(payment.status, 'requires_confirmation');
    assert.equal(payment.paymentMethod, null, 'it was not used yet');
    assert.notEqual(clientSecret, null);
    await stripe.paymentIntents.confirm(payment.processorPaymentIntentId, {
      return_url: 'https://shop.example.com/done',
    });
    await till.settle();
    const paid = await readPayment(till, payment);
    assert.deepEqual(
      [paid.status, paid.paymentMethod],
      ['succeeded', { ...visa, last4: '4242', id: paymentMethodId }],
    );
  });

  test('201: saves the card that it is paid with, for later charges without the customer', async () => {
    const customer = await createCustomer(till);
    const { payment } = await readJson<CreatedPaymentBody>(
      await create({ customerId: customer.id, savePaymentMethod: true }),
      201,
    );
    await confirmPayment(till, payment);
    const { data } = await stripe.paymentMethods.list({ customer: customer.processorCustomerId });
    const [saved] = data;
    assert(saved);
    const later = { customerId: customer.id, paymentMethodId: saved.id, offSession: true };
    const { payment: second } = await readJson<CreatedPaymentBody>(await create(later), 201);
    assert.equal(second.status, 'succeeded');
  });

  test('201: a request with explicit defaults is the same request', async () => {
    const { id: customerId } = await createCustomer(till);
    const body = { customerId, idempotencyKey: 'defaults' };
    const { payment } = await readJson<CreatedPaymentBody>(await create(body), 201);
    const spelt = { ...body, captureMethod: 'automatic', offSession: false, savePaymentMethod: false };
    const again = await readJson<CreatedPaymentBody>(await create(spelt), 201);
    assert.equal(again.payment.id, payment.id);
  });
});

describe('what a payment shows', () => {
  test('a description of up to 500 characters, also at the processor', async () => {
    const description = 'ä'.repeat(500);
    const payment = await createPayment(till, { description });
    assert.equal(payment.description, description);
    const intent = await stripe.paymentIntents.retrieve(payment.processorPaymentIntentId);
    assert.equal(intent.description, description);
    await confirmPayment(till, payment);
    await till.settle();
    assert.equal((await readPayment(till, payment)).description, description);
  });

  test('why the last attempt failed, until one succeeds', async () => {
    const payment = await createPayment(till);
    for (const [card, declineCode, last4] of [
      ['pm_card_visa_chargeDeclinedInsufficientFunds', 'insufficient_funds', '9995'],
      ['pm_card_visa_chargeDeclined', 'generic_decline', '0002'],
    ] as const) {
      await assert.rejects(confirmPayment(till, payment, card));
      await till.settle();
      const { status, failure, paymentMethod } = await readPayment(till, payment);
      assert.deepEqual(
        [status, failure?.code, failure?.declineCode, paymentMethod?.last4],
        ['requires_payment_method', 'card_declined', declineCode, last4],
      );
    }
    await confirmPayment(till, payment, 'pm_card_mastercard');
    await till.settle();
    const paid = await readPayment(till, payment);
    assert.deepEqual([paid.failure, paid.paymentMethod?.brand], [null, 'mastercard']);
  });

  test('what was received and refunded', async () => {
    const payment = await createPaidPayment(till);
    const path = `/payments/${payment.id}/refund`;
    const refunded = await readJson<PaymentBody>(await call('POST', path, { amount: 500 }), 200);
    assert.deepEqual([refunded.amountReceived, refunded.amountRefunded], [2_000, 500]);
    assert.equal((await readPayment(till, payment)).amountRefunded, 500);
  });

  test('nothing else about a card is stored or logged', async () => {
    const payment = await createPaidPayment(till);
    await till.settle();
    const [row] = await till.sql<{ payload: string }>(
      `select payload::text as payload from till.webhook_events
       where type = 'charge.succeeded' and payload::text like '%' || $1 || '%'`,
      [payment.processorPaymentIntentId],
    );
    const { payment_method_details: details } = JSON.parse(row?.payload ?? '').data.object;
    assert.deepEqual(details, {
      type: 'card',
      card: { brand: 'visa', last4: '4242', exp_month: 12, exp_year: 2034 },
    });
  });
});
