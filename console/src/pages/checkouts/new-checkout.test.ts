import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CheckoutInputs, emptyCheckout, newCheckout } from './new-checkout.ts';

const returnUrl = 'https://shop.example.com/account';
const base: CheckoutInputs = { ...emptyCheckout, returnUrl };
const urls = { successUrl: returnUrl, cancelUrl: returnUrl };

test('a checkout sells a subscription, a payment or nothing but a saved card', () => {
  const terms = { planId: 'gold', quantity: '2', addOns: [], trialDays: '7' };
  assert.deepEqual(newCheckout('c1', { ...base, terms }), {
    customerId: 'c1',
    planId: 'gold',
    quantity: 2,
    addOns: [],
    trialPeriodDays: 7,
    ...urls,
  });
  const order = { amount: '42.00', currency: ' EUR ', description: ' Lamp ' };
  assert.deepEqual(newCheckout('c1', { ...base, sells: 'payment', ...order }), {
    customerId: 'c1',
    payment: { amount: 4_200, currency: 'eur', description: 'Lamp' },
    ...urls,
  });
  assert.deepEqual(newCheckout('c1', { ...base, sells: 'setup' }), {
    customerId: 'c1',
    saveCard: true,
    ...urls,
  });
});

test('a checkout that the API would refuse is not sent', () => {
  const payment: CheckoutInputs = { ...base, sells: 'payment', amount: '42', description: 'Lamp' };
  const wrong: readonly Partial<CheckoutInputs>[] = [
    { amount: '0' },
    { amount: '4.205' },
    { currency: 'euro' },
    { description: ' ' },
    { returnUrl: 'shop.example.com' },
    { returnUrl: 'javascript:alert(1)' },
    { sells: 'subscription' },
  ];
  assert.ok(newCheckout('c1', payment) !== undefined);
  for (const change of wrong) assert.equal(newCheckout('c1', { ...payment, ...change }), undefined);
});
