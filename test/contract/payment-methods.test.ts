import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { type Contract, contractCustomer, contractPrice, useContract } from './support.ts';

const returnUrl = 'https://example.com/done';

async function setUp({ stripe }: Contract, customer: string): Promise<Stripe.SetupIntent> {
  return stripe.setupIntents.create({
    customer,
    usage: 'off_session',
    automatic_payment_methods: { enabled: true },
    metadata: { till_id: 'contract' },
  });
}

/** Saves a card that needs no authentication. */
async function saveCard(contract: Contract, customer: string, card = 'pm_card_visa'): Promise<string> {
  const { id } = await setUp(contract, customer);
  const { payment_method: saved } = await contract.stripe.setupIntents.confirm(id, {
    payment_method: card,
    return_url: returnUrl,
  });
  return String(saved);
}

test('a setup intent saves a card without a payment, and is listed by customer', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const intent = await setUp(contract, customer.id);
  assert.deepEqual(
    [intent.object, intent.status, intent.customer, intent.usage],
    ['setup_intent', 'requires_payment_method', customer.id, 'off_session'],
  );
  assert.ok(String(intent.client_secret).startsWith(`${intent.id}_secret_`));
  const done = await stripe.setupIntents.confirm(intent.id, {
    payment_method: 'pm_card_visa',
    return_url: returnUrl,
  });
  assert.equal(done.status, 'succeeded');
  const { data } = await stripe.setupIntents.list({
    customer: customer.id,
    created: { gte: intent.created },
  });
  assert.deepEqual(
    data.map(({ id, status, metadata }) => [id, status, metadata]),
    [[intent.id, 'succeeded', { till_id: 'contract' }]],
  );
  const [method, ...others] = (await stripe.paymentMethods.list({ customer: customer.id })).data;
  assert.equal(others.length, 0);
  assert.deepEqual(
    [method?.object, method?.id, method?.customer],
    ['payment_method', done.payment_method, customer.id],
  );
  assert.deepEqual([method?.type, method?.card?.brand, method?.card?.last4], ['card', 'visa', '4242']);
});

test('a card that needs authentication is not saved before the customer has authenticated', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const { id } = await setUp(contract, customer.id);
  const waiting = await stripe.setupIntents.confirm(id, {
    payment_method: 'pm_card_authenticationRequired',
    return_url: returnUrl,
  });
  assert.equal(waiting.status, 'requires_action');
  assert.equal(waiting.next_action?.type, 'redirect_to_url');
  assert.equal((await stripe.paymentMethods.list({ customer: customer.id })).data.length, 0);
});

test('a card that the bank declines is not saved, and the setup intent takes another', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const { id } = await setUp(contract, customer.id);
  await assert.rejects(
    stripe.setupIntents.confirm(id, {
      payment_method: 'pm_card_visa_chargeDeclined',
      return_url: returnUrl,
    }),
    { statusCode: 402, code: 'card_declined' },
  );
  assert.equal((await stripe.setupIntents.retrieve(id)).status, 'requires_payment_method');
  const done = await stripe.setupIntents.confirm(id, {
    payment_method: 'pm_card_visa',
    return_url: returnUrl,
  });
  assert.equal(done.status, 'succeeded');
});

test('a default must belong to the customer, of a customer as of a subscription', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const other = await contractCustomer(contract);
  const [own, foreign] = [await saveCard(contract, customer.id), await saveCard(contract, other.id)];
  const price = await contractPrice(contract);
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    trial_period_days: 7,
  });
  assert.equal(subscription.default_payment_method, null);
  await assert.rejects(
    stripe.customers.update(customer.id, { invoice_settings: { default_payment_method: foreign } }),
  );
  await assert.rejects(stripe.subscriptions.update(subscription.id, { default_payment_method: foreign }));
  const updated = await stripe.customers.update(customer.id, {
    invoice_settings: { default_payment_method: own },
  });
  assert.equal(updated.invoice_settings.default_payment_method, own);
  const moved = await stripe.subscriptions.update(subscription.id, { default_payment_method: own });
  assert.equal(moved.default_payment_method, own);
  await stripe.subscriptions.cancel(subscription.id);
  await assert.rejects(stripe.subscriptions.update(subscription.id, { default_payment_method: own }));
});

test('a detached card belongs to no customer, stays readable, and cannot be used or detached again', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const id = await saveCard(contract, customer.id);
  assert.equal((await stripe.paymentMethods.detach(id)).customer, null);
  assert.equal((await stripe.paymentMethods.retrieve(id)).customer, null);
  assert.equal((await stripe.paymentMethods.list({ customer: customer.id })).data.length, 0);
  await assert.rejects(stripe.paymentMethods.detach(id), { statusCode: 400 });
  await assert.rejects(stripe.paymentMethods.attach(id, { customer: customer.id }), { statusCode: 400 });
});

test('what does not exist is missing, and names its parameter', async (t) => {
  const { stripe } = await useContract(t);
  const gone = { statusCode: 404, code: 'resource_missing' };
  await assert.rejects(stripe.paymentMethods.retrieve('pm_contract_unknown'), gone);
  await assert.rejects(stripe.paymentMethods.list({ customer: 'cus_contract_unknown' }), {
    code: 'resource_missing',
    param: 'customer',
  });
  await assert.rejects(stripe.setupIntents.create({ customer: 'cus_contract_unknown' }), {
    code: 'resource_missing',
    param: 'customer',
  });
});
