import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { customerAndPrice, eventTypes, incompleteSubscription, useSandbox } from './support.ts';

const daySeconds = 86_400;

async function allInvoices(stripe: Stripe, subscription: string): Promise<Stripe.Invoice[]> {
  return stripe.invoices.list({ subscription, limit: 100 }).autoPagingToArray({ limit: 10_000 });
}

test('paying the first invoice makes the subscription active and saves the card', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  const { subscription, invoice, intentId } = await incompleteSubscription(stripe, customer.id, price.id);
  assert.equal(subscription.status, 'incomplete');
  assert.equal(invoice.status, 'open');

  await stripe.paymentIntents.confirm(intentId, { payment_method: 'pm_card_visa' });

  const active = await stripe.subscriptions.retrieve(subscription.id, {
    expand: ['latest_invoice.payments', 'default_payment_method'],
  });
  assert.equal(active.status, 'active');
  assert.equal((active.default_payment_method as Stripe.PaymentMethod).customer, customer.id);
  const paid = active.latest_invoice as Stripe.Invoice;
  assert.equal(paid.status, 'paid');
  assert.equal(paid.amount_paid, 1_500);
  assert.equal(paid.payments?.data[0]?.payment.payment_intent, intentId);
  assert.deepEqual((await eventTypes(stripe)).slice(4), [
    'customer.updated',
    'customer.subscription.created',
    'invoice.created',
    'payment_intent.created',
    'invoice.finalized',
    'payment_method.attached',
    'charge.succeeded',
    'payment_intent.succeeded',
    'invoice.updated',
    'invoice_payment.paid',
    'invoice.paid',
    'invoice.payment_succeeded',
    'customer.subscription.updated',
  ]);
});

test('a declined first payment leaves the subscription incomplete, and another card still pays it', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  const { subscription, intentId } = await incompleteSubscription(stripe, customer.id, price.id);
  await assert.rejects(
    stripe.paymentIntents.confirm(intentId, { payment_method: 'pm_card_chargeDeclined' }),
    {
      code: 'card_declined',
    },
  );
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'incomplete');
  await stripe.paymentIntents.confirm(intentId, { payment_method: 'pm_card_visa' });
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'active');
  assert.ok((await eventTypes(stripe)).includes('invoice.payment_failed'));
});

test('a first invoice left unpaid for 23 hours expires the subscription', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  const { subscription, invoice, intentId } = await incompleteSubscription(stripe, customer.id, price.id);
  await advance(22 * 3_600);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'incomplete');
  await advance(3_600);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'incomplete_expired');
  assert.equal((await stripe.invoices.retrieve(invoice.id)).status, 'void');
  assert.equal((await stripe.paymentIntents.retrieve(intentId)).status, 'canceled');
  assert.deepEqual((await eventTypes(stripe)).slice(-4), [
    'payment_intent.canceled',
    'invoice.updated',
    'invoice.voided',
    'customer.subscription.updated',
  ]);
});

test('a trial starts with a paid invoice over nothing, asks for a card, and charges it at its end', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  const trial = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    trial_period_days: 14,
    payment_behavior: 'default_incomplete',
    payment_settings: { save_default_payment_method: 'on_subscription' },
    expand: ['latest_invoice.confirmation_secret'],
  });
  assert.equal(trial.status, 'trialing');
  const first = trial.latest_invoice as Stripe.Invoice;
  assert.deepEqual([first.status, first.amount_due, first.confirmation_secret], ['paid', 0, null]);
  assert.equal(typeof trial.pending_setup_intent, 'string');

  await stripe.setupIntents.confirm(String(trial.pending_setup_intent), { payment_method: 'pm_card_visa' });
  const ready = await stripe.subscriptions.retrieve(trial.id);
  assert.equal(ready.pending_setup_intent, null);
  assert.equal(typeof ready.default_payment_method, 'string');

  await advance(11 * daySeconds);
  assert.equal(
    (await eventTypes(stripe)).filter((type) => type === 'customer.subscription.trial_will_end').length,
    1,
  );
  await advance(3 * daySeconds + 3_600);
  const active = await stripe.subscriptions.retrieve(trial.id, { expand: ['latest_invoice'] });
  assert.equal(active.status, 'active');
  assert.equal((active.latest_invoice as Stripe.Invoice).amount_paid, 1_500);
  assert.equal(active.items.data[0]?.current_period_start, trial.trial_end);
});

test('a free price is active at once with a paid invoice over nothing', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe, { unit_amount: 0 });
  const free = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    payment_behavior: 'default_incomplete',
    expand: ['latest_invoice.confirmation_secret'],
  });
  const invoice = free.latest_invoice as Stripe.Invoice;
  assert.deepEqual([free.status, invoice.status, invoice.confirmation_secret], ['active', 'paid', null]);
  assert.equal(free.pending_setup_intent, null);
});

for (const [afterwards, ends] of [
  ['cancel', 'canceled'],
  ['unpaid', 'unpaid'],
] as const) {
  test(`a renewal that fails goes past due, is retried three times, and ends ${ends}`, async (t) => {
    const { stripe, advance, control } = await useSandbox(t);
    await control('POST', 'dunning', { afterwards });
    const { customer, price } = await customerAndPrice(stripe, { interval: 'year' });
    const { subscription, intentId } = await incompleteSubscription(stripe, customer.id, price.id);
    await stripe.paymentIntents.confirm(intentId, { payment_method: 'pm_card_visa' });
    const failing = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', {
      customer: customer.id,
    });
    await stripe.subscriptions.update(subscription.id, { default_payment_method: failing.id });

    const end = subscription.items.data[0]?.current_period_end ?? 0;
    await advance(end - subscription.created + 3_600 + 60);
    const pastDue = await stripe.subscriptions.retrieve(subscription.id, { expand: ['latest_invoice'] });
    const renewal = pastDue.latest_invoice as Stripe.Invoice;
    assert.deepEqual([pastDue.status, renewal.status, renewal.attempt_count], ['past_due', 'open', 1]);

    for (const [days, attempts] of [
      [3, 2],
      [5, 3],
    ] as const) {
      await advance(days * daySeconds);
      const retried = await stripe.invoices.retrieve(renewal.id);
      assert.deepEqual([retried.status, retried.attempt_count], ['open', attempts]);
      assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'past_due');
    }
    await advance(7 * daySeconds);
    assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, ends);
    const last = await stripe.invoices.retrieve(renewal.id);
    assert.deepEqual([last.status, last.attempt_count, last.next_payment_attempt], ['open', 4, null]);
    await advance(60 * daySeconds);
    assert.equal((await stripe.invoices.retrieve(renewal.id)).attempt_count, 4);
  });
}

test('a past-due subscription comes back to life when its invoice is paid', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  const { subscription, intentId } = await incompleteSubscription(stripe, customer.id, price.id);
  await stripe.paymentIntents.confirm(intentId, { payment_method: 'pm_card_visa' });
  const failing = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', { customer: customer.id });
  await stripe.subscriptions.update(subscription.id, { default_payment_method: failing.id });
  await advance(32 * daySeconds);
  const pastDue = await stripe.subscriptions.retrieve(subscription.id);
  assert.equal(pastDue.status, 'past_due');
  const paid = await stripe.invoices.pay(String(pastDue.latest_invoice), { payment_method: 'pm_card_visa' });
  assert.equal(paid.status, 'paid');
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'active');
});

test('cancel at period end keeps the subscription until then; a plain cancel ends it at once, once', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  const first = await incompleteSubscription(stripe, customer.id, price.id);
  await stripe.paymentIntents.confirm(first.intentId, { payment_method: 'pm_card_visa' });
  const leaving = await stripe.subscriptions.update(first.subscription.id, { cancel_at_period_end: true });
  assert.deepEqual(
    [leaving.status, leaving.cancel_at],
    ['active', leaving.items.data[0]?.current_period_end],
  );
  await advance(32 * daySeconds);
  assert.equal((await stripe.subscriptions.retrieve(leaving.id)).status, 'canceled');
  assert.equal((await allInvoices(stripe, leaving.id)).length, 1);

  const second = await incompleteSubscription(stripe, customer.id, price.id);
  const canceled = await stripe.subscriptions.cancel(second.subscription.id);
  assert.equal(canceled.status, 'canceled');
  assert.equal((await stripe.invoices.retrieve(second.invoice.id)).status, 'void');
  await assert.rejects(stripe.subscriptions.cancel(canceled.id), {
    statusCode: 404,
    code: 'resource_missing',
  });
  assert.equal((await eventTypes(stripe)).at(-1), 'customer.subscription.deleted');
});

test('deleting a customer cancels its subscriptions', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  const { subscription, intentId } = await incompleteSubscription(stripe, customer.id, price.id);
  await stripe.paymentIntents.confirm(intentId, { payment_method: 'pm_card_visa' });
  await stripe.customers.del(customer.id);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'canceled');
  assert.equal((await stripe.customers.retrieve(customer.id)).deleted, true);
  assert.deepEqual((await eventTypes(stripe)).slice(-3), [
    'customer.subscription.deleted',
    'payment_method.detached',
    'customer.deleted',
  ]);
});

test('without prorations, another price counts from the next renewal; of another interval, at once', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  const { subscription, intentId } = await incompleteSubscription(stripe, customer.id, price.id);
  await stripe.paymentIntents.confirm(intentId, { payment_method: 'pm_card_visa' });
  const item = subscription.items.data[0]?.id ?? '';
  const make = (unit_amount: number, interval: 'month' | 'year') =>
    stripe.prices.create({
      currency: 'usd',
      unit_amount,
      recurring: { interval },
      product_data: { name: 'Other' },
    });

  const dearer = await make(2_000, 'month');
  await stripe.subscriptions.update(subscription.id, {
    items: [{ id: item, price: dearer.id }],
    proration_behavior: 'none',
  });
  assert.equal((await allInvoices(stripe, subscription.id)).length, 1);
  await advance(32 * daySeconds);
  assert.deepEqual(
    (await allInvoices(stripe, subscription.id)).map(({ amount_paid }) => amount_paid),
    [2_000, 1_500],
  );

  const yearly = await make(20_000, 'year');
  const moved = await stripe.subscriptions.update(subscription.id, {
    items: [{ id: item, price: yearly.id }],
    billing_cycle_anchor: { type: 'now' },
    proration_behavior: 'none',
  });
  assert.deepEqual(
    (await allInvoices(stripe, subscription.id)).map(({ amount_paid }) => amount_paid),
    [20_000, 2_000, 1_500],
  );
  const period = moved.items.data[0];
  const [start, end] = [period?.current_period_start ?? 0, period?.current_period_end ?? 0];
  assert.equal(new Date(end * 1_000).getUTCFullYear(), new Date(start * 1_000).getUTCFullYear() + 1);
});

test('the authentication of a first payment can be completed or failed', async (t) => {
  const { stripe, control } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  const { subscription, intentId } = await incompleteSubscription(stripe, customer.id, price.id);
  const card = { payment_method: 'pm_card_threeDSecure2Required' };
  const waiting = await stripe.paymentIntents.confirm(intentId, card);
  assert.deepEqual([waiting.status, waiting.next_action?.type], ['requires_action', 'use_stripe_sdk']);
  await control('POST', `payment_intents/${intentId}/authenticate`, { result: 'failed' });
  const failed = await stripe.paymentIntents.retrieve(intentId);
  assert.equal(failed.status, 'requires_payment_method');
  assert.equal(failed.last_payment_error?.code, 'payment_intent_authentication_failure');
  await stripe.paymentIntents.confirm(intentId, card);
  await control('POST', `payment_intents/${intentId}/authenticate`, { result: 'succeeded' });
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'active');
  assert.ok((await eventTypes(stripe)).includes('invoice.payment_action_required'));
});
