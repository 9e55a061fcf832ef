import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { customerAndPrice, eventTypes, useSandbox } from './support.ts';

const day = 86_400;

/** The types of the events that the work causes, in order. */
async function causedBy(stripe: Stripe, work: () => Promise<unknown>): Promise<string[]> {
  const before = await eventTypes(stripe);
  await work();
  return (await eventTypes(stripe)).slice(before.length);
}

const lastEvent = async (stripe: Stripe, type: string): Promise<Stripe.Event> => {
  const [event] = (await stripe.events.list({ type, limit: 1 })).data;
  assert.ok(event, `no event ${type}`);
  return event;
};

/** A customer with a card that pays by default. */
async function payer(stripe: Stripe) {
  const { customer, price } = await customerAndPrice(stripe);
  const { id } = await stripe.paymentMethods.attach('pm_card_visa', { customer: customer.id });
  await stripe.customers.update(customer.id, { invoice_settings: { default_payment_method: id } });
  return { customer: customer.id, price: price.id };
}

test('a recurring price is also a plan', async (t) => {
  const { stripe } = await useSandbox(t);
  const create = (recurring?: { interval: 'month' }) =>
    stripe.prices.create({
      currency: 'usd',
      unit_amount: 500,
      product_data: { name: 'Plan' },
      ...(recurring === undefined ? {} : { recurring }),
    });
  assert.deepEqual(await causedBy(stripe, () => create()), ['product.created', 'price.created']);
  let price = '';
  assert.deepEqual(
    await causedBy(stripe, async () => {
      price = (await create({ interval: 'month' })).id;
    }),
    ['product.created', 'plan.created', 'price.created'],
  );
  const plan = (await lastEvent(stripe, 'plan.created')).data.object as Stripe.Plan;
  assert.deepEqual([plan.id, plan.amount, plan.interval], [price, 500, 'month']);
  assert.deepEqual(await causedBy(stripe, () => stripe.prices.update(price, { active: false })), [
    'plan.updated',
    'price.updated',
  ]);
});

test('a first payment sends its events in the order of the processor', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer, price } = await payer(stripe);
  const types = await causedBy(stripe, () => stripe.subscriptions.create({ customer, items: [{ price }] }));
  assert.deepEqual(types, [
    'customer.updated',
    'customer.subscription.created',
    'invoice.created',
    'payment_intent.created',
    'invoice.finalized',
    'charge.succeeded',
    'payment_intent.succeeded',
    'invoice.updated',
    'invoice_payment.paid',
    'invoice.paid',
    'invoice.payment_succeeded',
    'customer.subscription.updated',
  ]);
  const updated = await lastEvent(stripe, 'customer.updated');
  assert.deepEqual(updated.data.previous_attributes, { currency: null });
});

test('a renewal is announced a week ahead, as the invoice will be', async (t) => {
  const { stripe, control } = await useSandbox(t);
  const { customer, price } = await payer(stripe);
  const subscription = await stripe.subscriptions.create({ customer, items: [{ price, quantity: 2 }] });
  const end = Number(subscription.items.data[0]?.current_period_end);
  const to = (seconds: number) => control('POST', 'clock', { to: seconds });
  assert.deepEqual(await causedBy(stripe, () => to(end - 8 * day)), []);
  assert.deepEqual(await causedBy(stripe, () => to(end - 6 * day)), ['invoice.upcoming']);
  const event = await lastEvent(stripe, 'invoice.upcoming');
  assert.equal(event.created, end - 7 * day);
  const preview = event.data.object as Stripe.Invoice;
  assert.deepEqual(
    [preview.amount_due, preview.status, preview.number, preview.billing_reason, preview.customer],
    [3_000, 'draft', null, 'upcoming', customer],
  );
  assert.equal(preview.lines.data[0]?.period.start, end);
  await assert.rejects(stripe.invoices.retrieve(String(preview.id)), { statusCode: 404 });
  assert.equal((await stripe.invoices.list({ customer })).data.length, 1);
  await stripe.subscriptions.update(subscription.id, { cancel_at_period_end: true });
  const types = await causedBy(stripe, () => to(end + 40 * day));
  assert.ok(!types.includes('invoice.upcoming'));
});

test('a renewal that fails makes the customer delinquent until it is paid', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, price } = await payer(stripe);
  const subscription = await stripe.subscriptions.create({ customer, items: [{ price }] });
  const broken = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', { customer });
  await stripe.subscriptions.update(subscription.id, { default_payment_method: broken.id });
  await advance(32 * day);
  assert.deepEqual((await lastEvent(stripe, 'customer.updated')).data.previous_attributes, {
    delinquent: false,
  });
  const { data } = await stripe.invoices.list({ customer, status: 'open' });
  const types = await causedBy(stripe, () =>
    stripe.invoices.pay(String(data[0]?.id), { payment_method: 'pm_card_visa' }),
  );
  assert.ok(types.includes('customer.updated'));
  const paid = await stripe.customers.retrieve(customer);
  assert.ok(!paid.deleted);
  assert.equal(paid.delinquent, false);
});

test('an asynchronous capture reaches the balance after the payment succeeded', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const payment = {
    amount: 1_000,
    currency: 'usd',
    confirm: true,
    payment_method: 'pm_card_visa',
    return_url: 'https://example.com',
    expand: ['latest_charge.balance_transaction'],
  };
  const balanceOf = (intent: Stripe.PaymentIntent) =>
    (intent.latest_charge as Stripe.Charge).balance_transaction as Stripe.BalanceTransaction | null;
  const types = await causedBy(stripe, async () => {
    assert.equal(balanceOf(await stripe.paymentIntents.create(payment)), null);
    await advance(0);
  });
  assert.deepEqual(types, [
    'payment_intent.created',
    'charge.succeeded',
    'payment_intent.succeeded',
    'charge.updated',
  ]);
  const updated = await lastEvent(stripe, 'charge.updated');
  assert.deepEqual(updated.data.previous_attributes, { balance_transaction: null });
  const direct = await stripe.paymentIntents.create({ ...payment, capture_method: 'automatic' });
  const transaction = balanceOf(direct);
  assert.deepEqual([transaction?.amount, transaction?.fee, transaction?.net], [1_000, 59, 941]);
  await stripe.refunds.create({ payment_intent: direct.id, amount: 300 });
  const { data } = await stripe.balanceTransactions.list();
  assert.deepEqual(
    data.map(({ type, amount }) => [type, amount]),
    [
      ['refund', -300],
      ['charge', 1_000],
      ['charge', 1_000],
    ],
  );
});

test('an authorization that is not captured within a week expires', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const intent = await stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    capture_method: 'manual',
    confirm: true,
    payment_method: 'pm_card_visa',
    return_url: 'https://example.com',
    expand: ['latest_charge'],
  });
  const { created, payment_method_details: details } = intent.latest_charge as Stripe.Charge;
  assert.equal(details?.card?.capture_before, created + 7 * day);
  assert.deepEqual(await causedBy(stripe, () => advance(8 * day)), [
    'charge.expired',
    'refund.created',
    'charge.refunded',
    'payment_intent.canceled',
  ]);
  const expired = await stripe.paymentIntents.retrieve(intent.id);
  assert.deepEqual([expired.status, expired.cancellation_reason], ['canceled', 'automatic']);
  await assert.rejects(stripe.paymentIntents.capture(intent.id), {
    code: 'payment_intent_unexpected_state',
  });
});
