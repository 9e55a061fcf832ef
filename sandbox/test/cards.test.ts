import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { useSandbox } from './support.ts';

const visa = { number: '4242424242424242', exp_month: 12, exp_year: 2_034, cvc: '123' };

const create = (stripe: Stripe, card: object) =>
  stripe.paymentMethods.create({ type: 'card', card: { ...visa, ...card } });

test('an expired card is refused, by the clock of the sandbox', async (t) => {
  const { stripe, control } = await useSandbox(t);
  const year = { statusCode: 402, type: 'StripeCardError', code: 'invalid_expiry_year', param: 'exp_year' };
  const month = { statusCode: 402, code: 'invalid_expiry_month', param: 'exp_month' };
  await control('POST', 'clock', { to: Date.UTC(2_030, 4, 31, 23, 59, 58) / 1_000 });
  await assert.rejects(create(stripe, { exp_year: 2_029 }), year);
  await assert.rejects(create(stripe, { exp_year: 29 }), year);
  await assert.rejects(create(stripe, { exp_year: 2_081 }), year);
  await assert.rejects(create(stripe, { exp_month: 4, exp_year: 2_030 }), month);
  await assert.rejects(create(stripe, { exp_month: 13 }), month);
  assert.equal((await create(stripe, { exp_month: 5, exp_year: 2_030 })).card?.exp_month, 5);
  await control('POST', 'clock', { to: Date.UTC(2_030, 5, 1) / 1_000 });
  await assert.rejects(create(stripe, { exp_month: 5, exp_year: 30 }), month);
});

test('a security code has three digits, and on American Express may have four', async (t) => {
  const { stripe } = await useSandbox(t);
  const invalid = { statusCode: 402, type: 'StripeCardError', code: 'invalid_cvc', param: 'cvc' };
  for (const cvc of ['12', '1234', '12345', 'abc'])
    await assert.rejects(create(stripe, { cvc }), invalid, cvc);
  const amex = { number: '378282246310005' };
  await assert.rejects(create(stripe, { ...amex, cvc: '12' }), invalid);
  for (const cvc of ['123', '1234'])
    assert.equal((await create(stripe, { ...amex, cvc })).card?.brand, 'amex');
  const intent = await stripe.paymentIntents.create({ amount: 1_000, currency: 'usd' });
  const card = { ...visa, cvc: '99' };
  const confirmation = { payment_method_data: { type: 'card', card }, return_url: 'https://example.com' };
  await assert.rejects(
    // The package's type leaves out card numbers, which browsers send.
    stripe.paymentIntents.confirm(intent.id, confirmation as Stripe.PaymentIntentConfirmParams),
    invalid,
  );
});

test('debit and prepaid cards say what they are', async (t) => {
  const { stripe } = await useSandbox(t);
  for (const [token, number, brand, funding] of [
    ['pm_card_visa_debit', '4000056655665556', 'visa', 'debit'],
    ['pm_card_mastercard_debit', '5200828282828210', 'mastercard', 'debit'],
    ['pm_card_mastercard_prepaid', '5105105105105100', 'mastercard', 'prepaid'],
    ['pm_card_visa', '4242424242424242', 'visa', 'credit'],
    ['pm_card_discover', '6011111111111117', 'discover', 'credit'],
    ['pm_card_diners', '3056930009020004', 'diners', 'credit'],
    ['pm_card_jcb', '3566002020360505', 'jcb', 'credit'],
  ] as const) {
    const intent = await stripe.paymentIntents.create({
      amount: 1_000,
      currency: 'usd',
      confirm: true,
      payment_method: token,
      return_url: 'https://example.com',
      expand: ['latest_charge', 'payment_method'],
    });
    const { card } = intent.payment_method as Stripe.PaymentMethod;
    assert.deepEqual([card?.brand, card?.funding, card?.last4], [brand, funding, number.slice(-4)]);
    const details = (intent.latest_charge as Stripe.Charge).payment_method_details?.card;
    assert.deepEqual([details?.brand, details?.funding], [brand, funding]);
    assert.equal((await create(stripe, { number })).card?.funding, funding);
  }
});

test('a fraudulent payment is blocked before it reaches the bank', async (t) => {
  const { stripe } = await useSandbox(t);
  const intent = await stripe.paymentIntents.create({ amount: 1_000, currency: 'usd' });
  const confirmation = { payment_method: 'pm_card_radarBlock', return_url: 'https://example.com' };
  await assert.rejects(stripe.paymentIntents.confirm(intent.id, confirmation), {
    code: 'card_declined',
    decline_code: 'fraudulent',
  });
  const [charge] = (await stripe.charges.list({ payment_intent: intent.id })).data;
  const { type, network_status, risk_level, reason } = charge?.outcome ?? {};
  assert.deepEqual(
    [type, network_status, risk_level, reason],
    ['blocked', 'not_sent_to_network', 'highest', 'highest_risk_level'],
  );
});
