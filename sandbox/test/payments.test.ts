import assert from 'node:assert/strict';
import { test } from 'node:test';
import Stripe from 'stripe';
import { eventTypes, useSandbox } from './support.ts';

const returnUrl = 'https://example.com/done';

async function paid(stripe: Stripe, payment_method: string, amount = 1_000): Promise<Stripe.PaymentIntent> {
  return stripe.paymentIntents.create({
    amount,
    currency: 'usd',
    confirm: true,
    payment_method,
    return_url: returnUrl,
  });
}

const declines = [
  ['pm_card_visa_chargeDeclined', '4000000000000002', 'card_declined', 'generic_decline'],
  ['pm_card_visa_chargeDeclinedInsufficientFunds', '4000000000009995', 'card_declined', 'insufficient_funds'],
  ['pm_card_visa_chargeDeclinedLostCard', '4000000000009987', 'card_declined', 'lost_card'],
  ['pm_card_visa_chargeDeclinedStolenCard', '4000000000009979', 'card_declined', 'stolen_card'],
  [
    'pm_card_visa_chargeDeclinedVelocityLimitExceeded',
    '4000000000006975',
    'card_declined',
    'card_velocity_exceeded',
  ],
  ['pm_card_radarBlock', '4100000000000019', 'card_declined', 'fraudulent'],
  ['pm_card_chargeDeclinedExpiredCard', '4000000000000069', 'expired_card', 'expired_card'],
  ['pm_card_chargeDeclinedIncorrectCvc', '4000000000000127', 'incorrect_cvc', 'incorrect_cvc'],
  ['pm_card_chargeDeclinedProcessingError', '4000000000000119', 'processing_error', 'processing_error'],
] as const;

test('the description, the metadata and the shipping details of a charge can be changed', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { latest_charge: id } = await paid(stripe, 'pm_card_visa');
  // The payment reaches the balance a moment later, which changes the charge too.
  await advance(0);
  const charge = await stripe.charges.update(String(id), {
    description: 'Order 7',
    metadata: { order: '7' },
  });
  assert.deepEqual([charge.description, charge.metadata], ['Order 7', { order: '7' }]);
  assert.deepEqual(await stripe.charges.retrieve(charge.id), charge);
  assert.equal((await eventTypes(stripe)).filter((type) => type === 'charge.updated').length, 2);
});

for (const [token, number, code, declineCode] of declines) {
  test(`the card ${number} declines with ${declineCode}, by number and by name, and leaves a failed charge`, async (t) => {
    const { stripe } = await useSandbox(t);
    const byNumber = await stripe.paymentMethods.create({
      type: 'card',
      card: { number, exp_month: 12, exp_year: 2034, cvc: '123' },
    });
    for (const method of [token, byNumber.id]) {
      const intent = await stripe.paymentIntents.create({ amount: 1_000, currency: 'usd' });
      await assert.rejects(
        stripe.paymentIntents.confirm(intent.id, { payment_method: method, return_url: returnUrl }),
        (error: Stripe.errors.StripeCardError) => {
          assert.deepEqual([error.statusCode, error.code, error.decline_code], [402, code, declineCode]);
          assert.equal(error.payment_intent?.status, 'requires_payment_method');
          return true;
        },
      );
      const after = await stripe.paymentIntents.retrieve(intent.id, { expand: ['latest_charge'] });
      assert.deepEqual([after.status, after.last_payment_error?.code], ['requires_payment_method', code]);
      assert.equal((after.latest_charge as Stripe.Charge).status, 'failed');
    }
    assert.deepEqual((await eventTypes(stripe)).slice(-2), [
      'charge.failed',
      'payment_intent.payment_failed',
    ]);
  });
}

test('only the processor’s test numbers are taken', async (t) => {
  const { stripe } = await useSandbox(t);
  const card = (number: string) =>
    stripe.paymentMethods.create({
      type: 'card',
      card: { number, exp_month: 12, exp_year: 2034, cvc: '123' },
    });
  await assert.rejects(card('4111111111111111'), { decline_code: 'test_mode_live_card' });
  await assert.rejects(card('4242424242424241'), { code: 'incorrect_number' });
});

test('refunds take at most what is left, and the charge adds them up', async (t) => {
  const { stripe } = await useSandbox(t);
  const intent = await paid(stripe, 'pm_card_visa');
  await stripe.refunds.create({ payment_intent: intent.id, amount: 400, reason: 'duplicate' });
  await assert.rejects(stripe.refunds.create({ payment_intent: intent.id, amount: 601 }), {
    param: 'amount',
  });
  const rest = await stripe.refunds.create({ payment_intent: intent.id });
  assert.deepEqual([rest.amount, rest.status], [600, 'succeeded']);
  await assert.rejects(stripe.refunds.create({ payment_intent: intent.id }), {
    code: 'charge_already_refunded',
  });
  const charge = await stripe.charges.retrieve(String(intent.latest_charge), { expand: ['refunds'] });
  assert.deepEqual([charge.amount_refunded, charge.refunded, charge.refunds?.data.length], [1_000, true, 2]);
  assert.equal((await stripe.refunds.list({ payment_intent: intent.id })).data.length, 2);
  assert.equal((await eventTypes(stripe)).filter((type) => type === 'charge.refunded').length, 2);
});

test('a payment that never succeeded cannot be refunded', async (t) => {
  const { stripe } = await useSandbox(t);
  const intent = await stripe.paymentIntents.create({ amount: 1_000, currency: 'usd' });
  await assert.rejects(stripe.refunds.create({ payment_intent: intent.id }), { statusCode: 400 });
});

test('a pending refund succeeds later', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const intent = await paid(stripe, 'pm_card_pendingRefund');
  const refund = await stripe.refunds.create({ payment_intent: intent.id });
  assert.equal(refund.status, 'pending');
  await advance(60);
  assert.equal((await stripe.refunds.retrieve(refund.id)).status, 'succeeded');
  assert.deepEqual((await eventTypes(stripe)).slice(-2), ['refund.updated', 'charge.refund.updated']);
});

test('a refund that fails later gives the charge its amount back', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const intent = await paid(stripe, 'pm_card_refundFail');
  const refund = await stripe.refunds.create({ payment_intent: intent.id });
  assert.equal(refund.status, 'succeeded');
  await advance(60);
  const failed = await stripe.refunds.retrieve(refund.id);
  assert.deepEqual([failed.status, failed.failure_reason], ['failed', 'expired_or_canceled_card']);
  const charge = await stripe.charges.retrieve(String(intent.latest_charge));
  assert.deepEqual([charge.amount_refunded, charge.refunded], [0, false]);
  assert.deepEqual((await eventTypes(stripe)).slice(-3), [
    'refund.failed',
    'refund.updated',
    'charge.refund.updated',
  ]);
});

test('a card that needs authentication is refused off session', async (t) => {
  const { stripe } = await useSandbox(t);
  await assert.rejects(
    stripe.paymentIntents.create({
      amount: 1_000,
      currency: 'usd',
      confirm: true,
      off_session: true,
      payment_method: 'pm_card_authenticationRequired',
      return_url: returnUrl,
    }),
    { code: 'authentication_required' },
  );
});

test('a manual capture waits, and may take less: the rest is refunded', async (t) => {
  const { stripe } = await useSandbox(t);
  const intent = await stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    capture_method: 'manual',
    confirm: true,
    payment_method: 'pm_card_visa',
    return_url: returnUrl,
  });
  assert.deepEqual([intent.status, intent.amount_capturable], ['requires_capture', 1_000]);
  const captured = await stripe.paymentIntents.capture(intent.id, { amount_to_capture: 700 });
  assert.deepEqual([captured.status, captured.amount_received], ['succeeded', 700]);
  assert.deepEqual((await eventTypes(stripe)).slice(-5), [
    'payment_intent.amount_capturable_updated',
    'charge.captured',
    'refund.created',
    'charge.refunded',
    'payment_intent.succeeded',
  ]);
  const charge = await stripe.charges.retrieve(String(captured.latest_charge));
  assert.deepEqual([charge.amount_captured, charge.amount_refunded, charge.refunded], [700, 300, false]);
  await assert.rejects(stripe.refunds.create({ payment_intent: intent.id, amount: 701 }), /Only/);
  await stripe.refunds.create({ payment_intent: intent.id, amount: 700 });
  assert.equal((await stripe.charges.retrieve(charge.id)).refunded, true);
});

test('a payment intent behind an invoice cannot be canceled on its own', async (t) => {
  const { stripe } = await useSandbox(t);
  const customer = await stripe.customers.create({});
  const price = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 900,
    recurring: { interval: 'day' },
    product_data: { name: 'P' },
  });
  await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    payment_behavior: 'default_incomplete',
  });
  const [intent] = (await stripe.paymentIntents.list({ customer: customer.id })).data;
  await assert.rejects(stripe.paymentIntents.cancel(intent?.id ?? ''), {
    code: 'payment_intent_unexpected_state',
  });
});

test('a refused operation leaves nothing behind', async (t) => {
  const { stripe } = await useSandbox(t);
  const customer = await stripe.customers.create({});
  const price = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 900,
    recurring: { interval: 'day' },
    product_data: { name: 'P' },
  });
  const before = await eventTypes(stripe);
  const items = [{ price: price.id }];
  await assert.rejects(stripe.subscriptions.create({ customer: customer.id, items }), {
    code: 'resource_missing',
  });
  const failing = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', { customer: customer.id });
  await assert.rejects(
    stripe.subscriptions.create({
      customer: customer.id,
      items,
      default_payment_method: failing.id,
      payment_behavior: 'error_if_incomplete',
    }),
    { statusCode: 402 },
  );
  assert.equal((await stripe.subscriptions.list({ status: 'all' })).data.length, 0);
  assert.equal((await stripe.invoices.list()).data.length, 0);
  assert.equal((await stripe.paymentIntents.list()).data.length, 0);
  assert.deepEqual(await eventTypes(stripe), [...before, 'payment_method.attached']);
});

test('the Date of a response is sandbox time, as in the objects', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  await advance(86_400);
  const customer = await stripe.customers.create({ email: 'ada@example.com' });
  const date = customer.lastResponse.headers['date'];
  assert.equal(Date.parse(date ?? '') / 1_000, customer.created);
  const error = await stripe.customers.retrieve('cus_nobody').catch((thrown: unknown) => thrown);
  assert(error instanceof Stripe.errors.StripeError);
  assert.ok(Date.parse(error.headers?.['date'] ?? '') / 1_000 >= customer.created);
});

test('amounts of a currency with three decimals end in 0, but all that is left can be captured or refunded', async (t) => {
  const { stripe } = await useSandbox(t);
  const refusal = { statusCode: 400, code: 'parameter_invalid_integer' };
  const currency = 'kwd';
  const order = { currency, confirm: true, payment_method: 'pm_card_visa', return_url: returnUrl };
  await assert.rejects(stripe.paymentIntents.create({ ...order, amount: 1_001 }), refusal);
  await assert.rejects(
    stripe.prices.create({ currency, unit_amount: 1_001, product_data: { name: 'P' } }),
    refusal,
  );
  await assert.rejects(stripe.coupons.create({ currency, amount_off: 11 }), refusal);
  const held = await stripe.paymentIntents.create({ ...order, amount: 5_000, capture_method: 'manual' });
  await assert.rejects(stripe.paymentIntents.capture(held.id, { amount_to_capture: 1_001 }), refusal);
  const captured = await stripe.paymentIntents.capture(held.id, { amount_to_capture: 1_010 });
  assert.equal(captured.amount_received, 1_010);
  const charged = await stripe.paymentIntents.create({ ...order, amount: 5_000 });
  const refund = (amount?: number) =>
    stripe.refunds.create({ payment_intent: charged.id, ...(amount === undefined ? {} : { amount }) });
  await assert.rejects(refund(1_001), refusal);
  await refund(10);
  assert.equal((await refund()).amount, 4_990);
});
