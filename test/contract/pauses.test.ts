import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { type Contract, contractCustomer, contractPrice, useContract } from './support.ts';

const daySeconds = 86_400;

/** A subscription in its trial, whose customer has no card. */
async function trialing(contract: Contract, extra: Partial<Stripe.SubscriptionCreateParams> = {}) {
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const price = await contractPrice(contract);
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    trial_period_days: 7,
    ...extra,
  });
  return { customer, price, subscription };
}

/** An active subscription, paid with the customer's default card. */
async function active(contract: Contract) {
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const price = await contractPrice(contract);
  await withCard(contract, customer.id);
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
  });
  assert.equal(subscription.status, 'active');
  return { customer, price, subscription };
}

async function withCard({ stripe }: Contract, customer: string, card = 'pm_card_visa'): Promise<string> {
  const method = await stripe.paymentMethods.attach(card, { customer });
  await stripe.customers.update(customer, { invoice_settings: { default_payment_method: method.id } });
  return method.id;
}

const endBehavior = (missing_payment_method: 'cancel' | 'create_invoice' | 'pause') => ({
  trial_settings: { end_behavior: { missing_payment_method } },
});

test('a trial that ends without a card pauses or cancels the subscription, if it is set up so', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { subscription: pausing } = await trialing(contract, endBehavior('pause'));
  const paused = await stripe.subscriptions.update(pausing.id, { trial_end: 'now' });
  assert.deepEqual(
    [paused.status, paused.status_details?.paused.subscription.type, paused.ended_at],
    ['paused', 'trial_end_without_payment_method', null],
  );
  const { subscription: ending } = await trialing(contract, endBehavior('cancel'));
  const ended = await stripe.subscriptions.update(ending.id, { trial_end: 'now' });
  assert.equal(ended.status, 'canceled');
});

test('a trial that ends now is charged now', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { customer, subscription } = await trialing(contract, endBehavior('pause'));
  await withCard(contract, customer.id);
  const billed = await stripe.subscriptions.update(subscription.id, {
    trial_end: 'now',
    expand: ['latest_invoice'],
  });
  const invoice = billed.latest_invoice as Stripe.Invoice;
  assert.equal(billed.status, 'active');
  assert.deepEqual([invoice.status, invoice.amount_paid], ['paid', 1_500]);
  assert.ok((billed.trial_end ?? Number.POSITIVE_INFINITY) < (subscription.trial_end ?? 0));
  assert.ok((billed.items.data[0]?.current_period_end ?? 0) > billed.billing_cycle_anchor);
});

test('a trial can be moved, and given to a subscription that has none', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { subscription } = await trialing(contract);
  const trialEnd = (subscription.trial_end ?? 0) + 5 * daySeconds;
  const longer = await stripe.subscriptions.update(subscription.id, {
    trial_end: trialEnd,
    proration_behavior: 'none',
  });
  assert.deepEqual(
    [longer.status, longer.trial_end, longer.billing_cycle_anchor, longer.items.data[0]?.current_period_end],
    ['trialing', trialEnd, trialEnd, trialEnd],
  );
  const { subscription: running } = await active(contract);
  const tried = await stripe.subscriptions.update(running.id, {
    trial_end: trialEnd,
    proration_behavior: 'none',
  });
  assert.deepEqual([tried.status, tried.trial_end], ['trialing', trialEnd]);
  await assert.rejects(stripe.subscriptions.update(running.id, { trial_end: 1_000_000_000 }), {
    statusCode: 400,
  });
});

test('a paused subscription resumes when its new invoice is paid', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { customer, subscription } = await trialing(contract, endBehavior('pause'));
  await assert.rejects(stripe.subscriptions.resume(subscription.id), { statusCode: 400 });
  await stripe.subscriptions.update(subscription.id, { trial_end: 'now' });
  const method = await withCard(contract, customer.id);
  const preview = await stripe.invoices.createPreview({
    subscription: subscription.id,
    subscription_details: { resume_at: 'now' },
  });
  assert.deepEqual([preview.amount_due, preview.billing_reason], [1_500, 'upcoming']);
  const resuming = await stripe.subscriptions.resume(subscription.id, { expand: ['latest_invoice'] });
  const invoice = resuming.latest_invoice as Stripe.Invoice;
  assert.deepEqual([resuming.status, invoice.status, invoice.amount_due], ['paused', 'open', 1_500]);
  await stripe.invoices.pay(invoice.id, { payment_method: method });
  const resumed = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual([resumed.status, resumed.status_details], ['active', undefined]);
});

test('a resumption can be charged at once, and waits for a card that works', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { customer, subscription } = await trialing(contract, endBehavior('pause'));
  await stripe.subscriptions.update(subscription.id, { trial_end: 'now' });
  await withCard(contract, customer.id);
  const resumed = await stripe.subscriptions.resume(subscription.id, {
    billing_cycle_anchor: { type: 'now' },
    payment_behavior: 'resume_on_payment_success',
  });
  assert.equal(resumed.status, 'active');
});

test('a resumption whose payment fails leaves the subscription past due', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { customer, subscription } = await trialing(contract, endBehavior('pause'));
  await stripe.subscriptions.update(subscription.id, { trial_end: 'now' });
  const method = await withCard(contract, customer.id, 'pm_card_chargeCustomerFail');
  const resuming = await stripe.subscriptions.resume(subscription.id);
  await assert.rejects(stripe.invoices.pay(String(resuming.latest_invoice), { payment_method: method }), {
    statusCode: 402,
  });
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'past_due');
});

test('the collection of payments can be paused and resumed', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { subscription } = await active(contract);
  const resumes_at = subscription.created + 20 * daySeconds;
  const paused = await stripe.subscriptions.update(subscription.id, {
    pause_collection: { behavior: 'void', resumes_at },
  });
  assert.deepEqual([paused.status, paused.pause_collection], ['active', { behavior: 'void', resumes_at }]);
  const kept = await stripe.subscriptions.update(subscription.id, {
    pause_collection: { behavior: 'keep_as_draft' },
  });
  assert.deepEqual(kept.pause_collection, { behavior: 'keep_as_draft', resumes_at: null });
  const resumed = await stripe.subscriptions.update(subscription.id, { pause_collection: '' });
  assert.deepEqual([resumed.status, resumed.pause_collection], ['active', null]);
});
