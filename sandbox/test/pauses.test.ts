import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { customerAndPrice, eventTypes, type TestSandbox, useSandbox } from './support.ts';

const hourSeconds = 3_600;
const daySeconds = 86_400;
const monthSeconds = 31 * daySeconds;

/** An active subscription, paid with the customer's card. */
async function active(stripe: Stripe) {
  const { customer, price } = await customerAndPrice(stripe);
  await stripe.customers.update(customer.id, { source: 'tok_visa' });
  return stripe.subscriptions.create({ customer: customer.id, items: [{ price: price.id }] });
}

/** A subscription whose trial has just ended, and whose customer has no card. */
async function afterTrial(
  { stripe, advance }: TestSandbox,
  missing_payment_method: 'cancel' | 'create_invoice' | 'pause',
) {
  const { customer, price } = await customerAndPrice(stripe);
  const { id } = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    trial_period_days: 7,
    trial_settings: { end_behavior: { missing_payment_method } },
  });
  await advance(7 * daySeconds + 1);
  return { customer, subscription: await stripe.subscriptions.retrieve(id) };
}

const invoicesOf = async (stripe: Stripe, subscription: string) =>
  (await stripe.invoices.list({ subscription })).data.map(({ status, auto_advance }) => [
    status,
    auto_advance,
  ]);

test('while collection is paused, renewals are kept, voided or marked uncollectible', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const expected = { keep_as_draft: 'draft', mark_uncollectible: 'uncollectible', void: 'void' } as const;
  const paused = new Map<string, string>();
  for (const [behavior, status] of Object.entries(expected)) {
    const { id } = await active(stripe);
    await stripe.subscriptions.update(id, {
      pause_collection: { behavior: behavior as keyof typeof expected },
    });
    paused.set(id, status);
  }
  await advance(monthSeconds + 2 * hourSeconds);
  for (const [id, status] of paused) {
    assert.deepEqual(await invoicesOf(stripe, id), [
      [status, false],
      ['paid', false],
    ]);
    const { status: kept } = await stripe.subscriptions.retrieve(id);
    assert.equal(kept, 'active');
    await stripe.subscriptions.update(id, { pause_collection: '' });
  }
  await advance(monthSeconds + 2 * hourSeconds);
  for (const id of paused.keys()) assert.deepEqual((await invoicesOf(stripe, id))[0], ['paid', false]);
});

test('collection resumes at its time, and a renewal then is collected', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { id, items } = await active(stripe);
  const resumes_at = Number(items.data[0]?.current_period_end);
  await stripe.subscriptions.update(id, { pause_collection: { behavior: 'void', resumes_at } });
  await advance(monthSeconds + 2 * hourSeconds);
  const { pause_collection, status } = await stripe.subscriptions.retrieve(id);
  assert.deepEqual([pause_collection, status], [null, 'active']);
  assert.deepEqual((await invoicesOf(stripe, id))[0], ['paid', false]);
  await assert.rejects(
    stripe.subscriptions.update(id, { pause_collection: { behavior: 'void', resumes_at: 1 } }),
    { statusCode: 400, param: 'pause_collection[resumes_at]' },
  );
});

test('a trial that ends without a card creates an invoice, cancels or pauses', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const billed = await afterTrial(sandbox, 'create_invoice');
  assert.equal(billed.subscription.status, 'active');
  await advance(hourSeconds);
  const unpaid = await stripe.subscriptions.retrieve(billed.subscription.id);
  assert.equal(unpaid.status, 'past_due');
  await stripe.invoices.markUncollectible(String(unpaid.latest_invoice));
  assert.equal((await stripe.subscriptions.retrieve(unpaid.id)).status, 'active');
  assert.equal((await afterTrial(sandbox, 'cancel')).subscription.status, 'canceled');
  const { subscription } = await afterTrial(sandbox, 'pause');
  assert.deepEqual(
    [subscription.status, subscription.status_details?.paused.transitioned_at],
    ['paused', subscription.trial_end],
  );
  await advance(12 * monthSeconds);
  const paused = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual(
    [paused.status, paused.items.data[0]?.current_period_end],
    ['paused', subscription.trial_end],
  );
  assert.equal((await invoicesOf(stripe, subscription.id)).length, 1);
});

test('a resumption that is not paid is void after 23 hours, and can be repeated', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const { customer, subscription } = await afterTrial(sandbox, 'pause');
  const first = await stripe.subscriptions.resume(subscription.id);
  await assert.rejects(stripe.subscriptions.resume(subscription.id), { statusCode: 400 });
  await advance(23 * hourSeconds);
  assert.equal((await stripe.invoices.retrieve(String(first.latest_invoice))).status, 'void');
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'paused');
  await stripe.customers.update(customer.id, { source: 'tok_visa' });
  const second = await stripe.subscriptions.resume(subscription.id);
  await stripe.invoices.pay(String(second.latest_invoice));
  const types = await eventTypes(stripe);
  assert.deepEqual(
    types.filter((type) => /subscription\.(paused|resumed)/.test(type)),
    ['customer.subscription.paused', 'customer.subscription.resumed'],
  );
  await advance(monthSeconds + 2 * hourSeconds);
  const renewed = await stripe.subscriptions.retrieve(subscription.id);
  assert.equal(renewed.status, 'active');
  assert.deepEqual((await invoicesOf(stripe, subscription.id))[0], ['paid', false]);
});

test('a resumption that must be paid is retried while the subscription stays paused', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const { customer, subscription } = await afterTrial(sandbox, 'pause');
  await stripe.customers.update(customer.id, { source: 'tok_chargeCustomerFail' });
  const resuming = await stripe.subscriptions.resume(subscription.id, {
    payment_behavior: 'resume_on_payment_success',
  });
  assert.equal(resuming.status, 'paused');
  await stripe.customers.update(customer.id, { source: 'tok_visa' });
  await advance(3 * daySeconds);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'active');
});

test('an uncollectible resumption starts the subscription too, a voided one does not', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe } = sandbox;
  const { subscription } = await afterTrial(sandbox, 'pause');
  const first = await stripe.subscriptions.resume(subscription.id);
  await stripe.invoices.voidInvoice(String(first.latest_invoice));
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'paused');
  const second = await stripe.subscriptions.resume(subscription.id);
  await stripe.invoices.markUncollectible(String(second.latest_invoice));
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'active');
});

test('a moved trial is announced and ends at its new time', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { id, created } = await active(stripe);
  const trial_end = created + 10 * daySeconds;
  const trial = await stripe.subscriptions.update(id, { trial_end, expand: ['latest_invoice'] });
  const invoice = trial.latest_invoice as Stripe.Invoice;
  assert.deepEqual([trial.status, invoice.status, invoice.total], ['trialing', 'paid', 0]);
  await advance(8 * daySeconds);
  assert.ok((await eventTypes(stripe)).includes('customer.subscription.trial_will_end'));
  await advance(2 * daySeconds + 2 * hourSeconds);
  assert.equal((await stripe.subscriptions.retrieve(id)).status, 'active');
  assert.deepEqual((await invoicesOf(stripe, id))[0], ['paid', false]);
});

test('a trial cannot end now without a card to charge, and nothing changes', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  const trial = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    trial_period_days: 7,
  });
  await assert.rejects(stripe.subscriptions.update(trial.id, { trial_end: 'now', description: 'x' }), {
    statusCode: 400,
    code: 'resource_missing',
  });
  assert.deepEqual(await stripe.subscriptions.retrieve(trial.id), trial);
});

test('paying the invoice of the trial does not resume what its end has paused', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  await stripe.invoiceItems.create({ customer: customer.id, amount: 900, currency: 'usd' });
  const trial = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    payment_behavior: 'default_incomplete',
    trial_period_days: 2,
    trial_settings: { end_behavior: { missing_payment_method: 'pause' } },
  });
  await advance(2 * daySeconds);
  const method = await stripe.paymentMethods.attach('pm_card_visa', { customer: customer.id });
  const paid = await stripe.invoices.pay(String(trial.latest_invoice), { payment_method: method.id });
  assert.deepEqual([paid.status, paid.total], ['paid', 900]);
  assert.equal((await stripe.subscriptions.retrieve(trial.id)).status, 'paused');
});

test('another price does not start a period or an invoice while the subscription is paused', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe } = sandbox;
  const { subscription } = await afterTrial(sandbox, 'pause');
  const { price } = await customerAndPrice(stripe, { interval: 'year' });
  const changed = await stripe.subscriptions.update(subscription.id, {
    items: [{ id: String(subscription.items.data[0]?.id), price: price.id }],
  });
  assert.deepEqual(
    [changed.status, changed.items.data[0]?.price.id, changed.latest_invoice],
    ['paused', price.id, subscription.latest_invoice],
  );
});

test('a paused subscription is canceled at its time', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const { subscription } = await afterTrial(sandbox, 'pause');
  assert.equal(subscription.status, 'paused');
  const at = subscription.created + 9 * daySeconds;
  await stripe.subscriptions.update(subscription.id, { cancel_at: at });
  await advance(3 * daySeconds);
  const canceled = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual([canceled.status, canceled.ended_at], ['canceled', at]);
});
