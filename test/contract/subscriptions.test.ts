import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { type Contract, contractCustomer, contractPrice, useContract } from './support.ts';

async function subscribed(contract: Contract, extra: Partial<Stripe.SubscriptionCreateParams> = {}) {
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const price = await contractPrice(contract);
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    payment_behavior: 'default_incomplete',
    payment_settings: { save_default_payment_method: 'on_subscription' },
    metadata: { till_id: 's' },
    expand: ['latest_invoice.confirmation_secret'],
    ...extra,
  });
  return { customer, price, subscription, invoice: subscription.latest_invoice as Stripe.Invoice };
}

test('a subscription starts incomplete with a secret to confirm, and is active once that is paid', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { customer, price, subscription, invoice } = await subscribed(contract);
  assert.deepEqual(
    [subscription.object, subscription.status, subscription.customer, subscription.metadata],
    ['subscription', 'incomplete', customer.id, { till_id: 's' }],
  );
  const item = subscription.items.data[0];
  assert.equal(item?.price.id, price.id);
  assert.ok((item?.current_period_end ?? 0) > (item?.current_period_start ?? 0));
  assert.deepEqual(
    [
      invoice.status,
      invoice.amount_due,
      invoice.amount_paid,
      invoice.currency,
      invoice.billing_reason,
      invoice.customer,
    ],
    ['open', 1_500, 0, 'usd', 'subscription_create', customer.id],
  );
  assert.equal(invoice.parent?.subscription_details?.subscription, subscription.id);
  assert.equal(typeof invoice.hosted_invoice_url, 'string');
  const secret = String(invoice.confirmation_secret?.client_secret);
  const intentId = secret.slice(0, secret.indexOf('_secret_'));

  const paid = await stripe.paymentIntents.confirm(intentId, {
    payment_method: 'pm_card_visa',
    return_url: 'https://example.com',
  });
  assert.equal(paid.status, 'succeeded');
  const active = await stripe.subscriptions.retrieve(subscription.id, {
    expand: ['latest_invoice.payments'],
  });
  assert.equal(active.status, 'active');
  assert.match(String(active.default_payment_method), /^pm_/);
  const settled = active.latest_invoice as Stripe.Invoice;
  assert.deepEqual([settled.status, settled.amount_paid, settled.amount_remaining], ['paid', 1_500, 0]);
  assert.equal(settled.payments?.data[0]?.payment.payment_intent, intentId);
  const payments = await stripe.invoicePayments.list({ invoice: settled.id });
  assert.equal(payments.data[0]?.status, 'paid');
});

test('a trial has a paid invoice over nothing and no secret, but a card to set up', async (t) => {
  const contract = await useContract(t);
  const { subscription, invoice } = await subscribed(contract, { trial_period_days: 7 });
  assert.equal(subscription.status, 'trialing');
  assert.equal(subscription.trial_end, subscription.created + 7 * 86_400);
  assert.equal(subscription.items.data[0]?.current_period_end, subscription.trial_end);
  assert.deepEqual(
    [invoice.status, invoice.amount_due, invoice.confirmation_secret ?? null],
    ['paid', 0, null],
  );
  assert.match(String(subscription.pending_setup_intent), /^seti_/);
});

test('a canceled subscription is canceled, and cannot be canceled again', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { subscription } = await subscribed(contract, { trial_period_days: 7 });
  const canceled = await stripe.subscriptions.cancel(subscription.id);
  assert.equal(canceled.status, 'canceled');
  assert.equal(typeof canceled.ended_at, 'number');
  await assert.rejects(stripe.subscriptions.cancel(subscription.id), {
    statusCode: 404,
    code: 'resource_missing',
  });
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'canceled');
});

test('the comment of a cancellation is kept, replaced and cleared, and outlives the subscription', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { subscription } = await subscribed(contract, { trial_period_days: 7 });
  const { id } = subscription;
  const commented = async (comment: string, ends: boolean) => {
    const details = { cancel_at_period_end: ends, cancellation_details: { comment } };
    return (await stripe.subscriptions.update(id, details)).cancellation_details?.comment;
  };
  assert.equal(await commented('Too expensive', true), 'Too expensive');
  assert.equal(await commented('No time', true), 'No time');
  assert.equal(await commented('', false), null);
  const details = { cancellation_details: { comment: 'x'.repeat(500) } };
  await stripe.subscriptions.cancel(id, details);
  assert.equal((await stripe.subscriptions.retrieve(id)).cancellation_details?.comment, 'x'.repeat(500));
});

test('deleting the customer cancels its subscriptions at once', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { customer, subscription } = await subscribed(contract, { trial_period_days: 7 });
  await stripe.customers.del(customer.id);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'canceled');
});

test('an archived price cannot be subscribed to', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { customer, price } = await subscribed(contract, { trial_period_days: 7 });
  await stripe.prices.update(price.id, { active: false });
  await assert.rejects(
    stripe.subscriptions.create({
      customer: customer.id,
      items: [{ price: price.id }],
      trial_period_days: 7,
    }),
    {
      statusCode: 400,
    },
  );
});

test('a subscription can be set to end with its period, and to continue', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { subscription } = await subscribed(contract, { trial_period_days: 7 });
  const leaving = await stripe.subscriptions.update(subscription.id, { cancel_at_period_end: true });
  assert.deepEqual(
    [leaving.status, leaving.cancel_at_period_end, leaving.cancel_at],
    ['trialing', true, subscription.trial_end],
  );
  const staying = await stripe.subscriptions.update(subscription.id, { cancel_at_period_end: false });
  assert.deepEqual([staying.cancel_at_period_end, staying.cancel_at], [false, null]);
});

test('an end by date is cleared by date alone, and no request names both ways of ending', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { subscription } = await subscribed(contract, { trial_period_days: 7 });
  const { id, trial_end: end } = subscription;
  assert(end !== null);
  const both = [
    { cancel_at: end, cancel_at_period_end: true },
    { cancel_at: '' as const, cancel_at_period_end: false },
    { cancel_at: '' as const, cancel_at_period_end: true },
  ];
  for (const params of both)
    await assert.rejects(stripe.subscriptions.update(id, params), {
      statusCode: 400,
      message: /^Received both cancel_at_period_end and cancel_at parameters/,
    });
  const leaving = await stripe.subscriptions.update(id, { cancel_at: end });
  assert.deepEqual([leaving.cancel_at_period_end, leaving.cancel_at], [false, end]);
  const same = await stripe.subscriptions.update(id, { cancel_at_period_end: false });
  assert.deepEqual([same.cancel_at_period_end, same.cancel_at], [false, end]);
  const staying = await stripe.subscriptions.update(id, { cancel_at: '' });
  assert.deepEqual([staying.cancel_at_period_end, staying.cancel_at], [false, null]);
  // An end with the period is cleared by its date too.
  await stripe.subscriptions.update(id, { cancel_at_period_end: true });
  const cleared = await stripe.subscriptions.update(id, { cancel_at: '' });
  assert.deepEqual([cleared.cancel_at_period_end, cleared.cancel_at], [false, null]);
});

test('the metadata of a subscription can be changed once it has ended, and little else', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { subscription } = await subscribed(contract, { trial_period_days: 7 });
  await stripe.subscriptions.cancel(subscription.id);
  const changed = await stripe.subscriptions.update(subscription.id, { metadata: { new: '1' } });
  assert.deepEqual([changed.status, changed.metadata['new']], ['canceled', '1']);
  await assert.rejects(stripe.subscriptions.update(subscription.id, { cancel_at_period_end: true }), {
    statusCode: 400,
  });
});

test('an open invoice can be voided, and is then final', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { invoice } = await subscribed(contract);
  assert.equal((await stripe.invoices.voidInvoice(invoice.id)).status, 'void');
  await assert.rejects(stripe.invoices.pay(invoice.id), { statusCode: 400 });
});
