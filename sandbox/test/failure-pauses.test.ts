import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { customerAndPrice, eventTypes, type TestSandbox, useSandbox } from './support.ts';

const hourSeconds = 3_600;
const daySeconds = 86_400;

/** A subscription whose first renewal has just been declined. */
async function declined(
  { stripe, advance }: TestSandbox,
  more: Partial<Stripe.SubscriptionCreateParams> = {},
) {
  const { customer, price } = await customerAndPrice(stripe);
  const good = await stripe.paymentMethods.attach('pm_card_visa', { customer: customer.id });
  const created = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    default_payment_method: good.id,
    ...more,
  });
  const bad = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', { customer: customer.id });
  await stripe.subscriptions.update(created.id, { default_payment_method: bad.id });
  const end = Number(created.items.data[0]?.current_period_end);
  await advance(end - created.created + hourSeconds + 60);
  return { good: good.id, end, subscription: await stripe.subscriptions.retrieve(created.id) };
}

const reasonOf = ({ status, status_details: details }: Stripe.Subscription) => [
  status,
  details?.paused.subscription.type,
];

test('the first failed renewal pauses the subscription, and its invoice is still collected', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance, control } = sandbox;
  await control('POST', 'dunning', { firstFailure: 'pause' });
  const { good, subscription } = await declined(sandbox);
  assert.deepEqual(reasonOf(subscription), ['paused', 'first_payment_failure']);
  const types = await eventTypes(stripe);
  assert.deepEqual(types.slice(-2), ['customer.updated', 'customer.subscription.paused']);
  const invoice = await stripe.invoices.retrieve(String(subscription.latest_invoice));
  assert.deepEqual([invoice.status, typeof invoice.next_payment_attempt], ['open', 'number']);
  await stripe.subscriptions.update(subscription.id, { default_payment_method: good });
  await advance(3 * daySeconds);
  assert.equal((await stripe.invoices.retrieve(invoice.id)).status, 'paid');
  const still = await stripe.subscriptions.retrieve(subscription.id);
  assert.equal(still.status, 'paused', 'without automatic resumption it waits for a request');
  await advance(60 * daySeconds);
  assert.equal((await stripe.invoices.list({ subscription: subscription.id })).data.length, 2);
  const resuming = await stripe.subscriptions.resume(subscription.id);
  await stripe.invoices.pay(String(resuming.latest_invoice));
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'active');
});

test('the last failed retry pauses the subscription instead of canceling it', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance, control } = sandbox;
  await control('POST', 'dunning', { afterwards: 'pause' });
  const { subscription } = await declined(sandbox);
  assert.equal(subscription.status, 'past_due');
  await advance(16 * daySeconds);
  assert.deepEqual(reasonOf(await stripe.subscriptions.retrieve(subscription.id)), [
    'paused',
    'final_payment_failure',
  ]);
});

for (const [resumption, name] of [
  ['keep_anchor', 'keeps its billing cycle'],
  ['reset_anchor', 'starts a new billing cycle'],
] as const)
  test(`paying the invoice resumes the subscription, which ${name}`, async (t) => {
    const sandbox = await useSandbox(t);
    const { stripe, advance, control } = sandbox;
    await control('POST', 'dunning', { firstFailure: 'pause', resumption });
    const { good, subscription } = await declined(sandbox);
    await advance(daySeconds);
    await stripe.invoices.pay(String(subscription.latest_invoice), { payment_method: good });
    const resumed = await stripe.subscriptions.retrieve(subscription.id);
    assert.deepEqual(reasonOf(resumed), ['active', undefined]);
    const isKept = resumed.billing_cycle_anchor === subscription.billing_cycle_anchor;
    assert.equal(isKept, resumption === 'keep_anchor');
    assert.ok((await eventTypes(stripe)).includes('customer.subscription.resumed'));
    assert.equal((await stripe.invoices.list({ subscription: subscription.id })).data.length, 2);
  });

test('giving the invoice up resumes the subscription too', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, control } = sandbox;
  await control('POST', 'dunning', { firstFailure: 'pause', resumption: 'keep_anchor' });
  const { subscription } = await declined(sandbox);
  await stripe.invoices.markUncollectible(String(subscription.latest_invoice));
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'active');
});

test('in classic billing mode a subscription cannot pause: it is past due, then canceled', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance, control } = sandbox;
  await control('POST', 'dunning', { firstFailure: 'pause', afterwards: 'pause' });
  const { subscription } = await declined(sandbox, { billing_mode: { type: 'classic' } });
  assert.equal(subscription.status, 'past_due');
  await advance(16 * daySeconds);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'canceled');
});
