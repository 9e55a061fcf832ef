import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapPaymentMethod, mapSetup, mapUse } from './map-payment-method.ts';

const createdSeconds = 1_767_225_600;
const createdAt = new Date(createdSeconds * 1_000);
const asOf = { earliest: new Date(0), latest: new Date(0) };

const method = { id: 'pm_1', object: 'payment_method', created: createdSeconds, customer: 'cus_1' };
const card = {
  brand: 'visa',
  exp_month: 12,
  exp_year: 2034,
  fingerprint: 'fp_hush',
  last4: '4242',
  iin: '424242',
};

test('of a card only the brand, the last four digits and the expiry date are read', () => {
  const billing_details = { email: 'ada@example.com', name: 'Ada' };
  assert.deepEqual(mapPaymentMethod({ ...method, type: 'card', card, billing_details }, asOf), {
    id: 'pm_1',
    type: 'card',
    brand: 'visa',
    last4: '4242',
    expMonth: 12,
    expYear: 2034,
    processorCustomerId: 'cus_1',
    createdAt,
  });
});

test('other types have their own details, and null for the rest', () => {
  const none = { brand: null, last4: null, expMonth: null, expYear: null };
  const base = { id: 'pm_1', processorCustomerId: 'cus_1', createdAt };
  const debit = { ...method, type: 'sepa_debit', sepa_debit: { last4: '3000', country: 'DE' } };
  assert.deepEqual(mapPaymentMethod(debit, asOf), { ...base, ...none, type: 'sepa_debit', last4: '3000' });
  for (const details of [{}, { link: null }, { link: { email: 'ada@example.com' } }]) {
    const link = { ...method, type: 'link', ...details };
    assert.deepEqual(mapPaymentMethod(link, asOf), { ...base, ...none, type: 'link' });
  }
});

test('a payment method must have a type and a customer', () => {
  for (const field of ['id', 'object', 'type', 'customer'])
    assert.throws(() => mapPaymentMethod({ ...method, type: 'card', card, [field]: undefined }, asOf), {
      message: new RegExp(`payment_method.${field} is missing`),
    });
});

test('a setup has a secret as long as something is left to confirm', () => {
  const intent = { id: 'seti_1', object: 'setup_intent', client_secret: 'seti_1_secret_hush' };
  const secretIn = (status: string) => mapSetup({ ...intent, status }).clientSecret;
  for (const status of ['requires_payment_method', 'requires_confirmation', 'requires_action'])
    assert.equal(secretIn(status), 'seti_1_secret_hush');
  for (const status of ['processing', 'succeeded', 'canceled', 'made_up'])
    assert.equal(secretIn(status), null);
});

test('a subscription charges its own default, of the newer kind or of the older one', () => {
  const subscription = {
    id: 'sub_1',
    object: 'subscription',
    status: 'active',
    default_payment_method: null,
  };
  const useOf = (fields: object) => mapUse({ ...subscription, ...fields });
  const expected = {
    ...{ processorSubscriptionId: 'sub_1', status: 'active', paymentMethodId: null },
    scheduledMethodIds: [],
  };
  assert.deepEqual(useOf({}), expected);
  const both = { default_payment_method: 'pm_1', default_source: 'card_1' };
  assert.deepEqual(useOf(both), { ...expected, paymentMethodId: 'pm_1' });
  assert.deepEqual(useOf({ default_payment_method: { id: 'pm_1' } }), {
    ...expected,
    paymentMethodId: 'pm_1',
  });
  assert.deepEqual(useOf({ default_source: 'card_1' }), { ...expected, paymentMethodId: 'card_1' });
  assert.deepEqual(useOf({ status: 'paused' }), { ...expected, status: 'unpaid' });
  assert.deepEqual(useOf({ status: 'made_up' }), { ...expected, status: null });
});
