import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { type Contract, contractCustomer, contractPrice, useContract } from './support.ts';

/** A subscription created with a saved card that is not the customer's default. */
async function subscribedWith(
  contract: Contract,
  card: string,
  more: Partial<Stripe.SubscriptionCreateParams> = {},
) {
  const { stripe } = contract;
  const [customer, price] = await Promise.all([contractCustomer(contract), contractPrice(contract)]);
  const method = await stripe.paymentMethods.attach(card, { customer: customer.id });
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    default_payment_method: method.id,
    payment_behavior: 'allow_incomplete',
    expand: ['latest_invoice.confirmation_secret'],
    ...more,
  });
  return { method, subscription, invoice: subscription.latest_invoice as Stripe.Invoice };
}

test('a card given at creation is charged at once', async (t) => {
  const contract = await useContract(t);
  const { method, subscription, invoice } = await subscribedWith(contract, 'pm_card_visa');
  assert.deepEqual(
    [subscription.status, subscription.default_payment_method, invoice.status, invoice.amount_paid],
    ['active', method.id, 'paid', 1_500],
  );
});

test('a card that is declined leaves an open invoice, which another card pays', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { subscription, invoice } = await subscribedWith(contract, 'pm_card_chargeCustomerFail');
  assert.deepEqual(
    [subscription.status, invoice.status, invoice.amount_remaining],
    ['incomplete', 'open', 1_500],
  );
  const secret = String(invoice.confirmation_secret?.client_secret);
  const intent = await stripe.paymentIntents.retrieve(secret.slice(0, secret.indexOf('_secret_')));
  assert.deepEqual(
    [intent.status, intent.last_payment_error?.code],
    ['requires_payment_method', 'card_declined'],
  );
  await stripe.paymentIntents.confirm(intent.id, {
    payment_method: 'pm_card_visa',
    return_url: 'https://example.com',
  });
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'active');
});

test('a card that needs authentication leaves the subscription incomplete, with its secret', async (t) => {
  const contract = await useContract(t);
  const { subscription, invoice } = await subscribedWith(contract, 'pm_card_authenticationRequired');
  assert.deepEqual([subscription.status, invoice.status], ['incomplete', 'open']);
  assert.match(String(invoice.confirmation_secret?.client_secret), /^pi_.*_secret_/);
});

test('a card of another customer is refused', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const other = await contractCustomer(contract);
  const theirs = await stripe.paymentMethods.attach('pm_card_visa', { customer: other.id });
  const [customer, price] = await Promise.all([contractCustomer(contract), contractPrice(contract)]);
  await assert.rejects(
    stripe.subscriptions.create({
      customer: customer.id,
      items: [{ price: price.id }],
      default_payment_method: theirs.id,
    }),
    { statusCode: 400, type: 'StripeInvalidRequestError' },
  );
});

test('a trial without a card has a setup intent whose card becomes the default', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const [customer, price] = await Promise.all([contractCustomer(contract), contractPrice(contract)]);
  const trial = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    trial_period_days: 7,
    payment_behavior: 'default_incomplete',
    payment_settings: { save_default_payment_method: 'on_subscription' },
    trial_settings: { end_behavior: { missing_payment_method: 'cancel' } },
    expand: ['pending_setup_intent'],
  });
  assert.equal(trial.trial_settings?.end_behavior.missing_payment_method, 'cancel');
  const setup = trial.pending_setup_intent as Stripe.SetupIntent;
  assert.match(String(setup.client_secret), /^seti_.*_secret_/);
  await stripe.setupIntents.confirm(setup.id, {
    payment_method: 'pm_card_visa',
    return_url: 'https://example.com',
  });
  const ready = await stripe.subscriptions.retrieve(trial.id);
  assert.deepEqual([ready.status, ready.pending_setup_intent], ['trialing', null]);
  assert.match(String(ready.default_payment_method), /^pm_/);
});
