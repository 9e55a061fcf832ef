import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { startSandbox } from '../sandbox.ts';
import { clientOf, customerAndPrice, eventTypes, useSandbox } from './support.ts';

const minuteSeconds = 60;
const hourSeconds = 3_600;
const daySeconds = 86_400;

/** A draft of 20.00 USD that advances on its own. */
async function advancing(stripe: Stripe, customer: string, extra: Partial<Stripe.InvoiceCreateParams> = {}) {
  await stripe.invoiceItems.create({ customer, amount: 2_000, currency: 'usd' });
  return stripe.invoices.create({
    customer,
    pending_invoice_items_behavior: 'include',
    auto_advance: true,
    ...extra,
  });
}

test('a one-off invoice that advances is finalized and charged after an hour', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const customer = await stripe.customers.create({ source: 'tok_visa' });
  const draft = await advancing(stripe, customer.id);
  assert.equal(draft.automatically_finalizes_at, draft.created + hourSeconds);
  // The clock runs meanwhile, so a moment before the hour would be the hour itself on a slow machine.
  await advance(hourSeconds - minuteSeconds);
  assert.equal((await stripe.invoices.retrieve(draft.id)).status, 'draft');
  await advance(minuteSeconds);
  assert.equal((await stripe.invoices.retrieve(draft.id)).status, 'paid');
  const types = await eventTypes(stripe);
  assert.deepEqual(
    types.filter((type) => type.startsWith('invoice')),
    [
      'invoiceitem.created',
      'invoice.created',
      'invoice.finalized',
      'invoice.updated',
      'invoice_payment.paid',
      'invoice.paid',
      'invoice.payment_succeeded',
    ],
  );
});

test('a declined one-off invoice is retried on the schedule and then stays open', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const customer = await stripe.customers.create({ source: 'tok_chargeCustomerFail' });
  const draft = await advancing(stripe, customer.id);
  const attempts = [];
  for (const seconds of [hourSeconds, 3 * daySeconds, 5 * daySeconds, 7 * daySeconds, 30 * daySeconds]) {
    await advance(seconds);
    const { status, attempt_count, next_payment_attempt } = await stripe.invoices.retrieve(draft.id);
    attempts.push([status, attempt_count, next_payment_attempt !== null]);
  }
  assert.deepEqual(attempts, [
    ['open', 1, true],
    ['open', 2, true],
    ['open', 3, true],
    ['open', 4, false],
    ['open', 4, false],
  ]);
});

test('an invoice to be sent is sent after an hour and waits for its customer', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const customer = await stripe.customers.create({ email: 'jenny@example.com', source: 'tok_visa' });
  const draft = await advancing(stripe, customer.id, {
    collection_method: 'send_invoice',
    days_until_due: 5,
  });
  await advance(30 * daySeconds);
  const sent = await stripe.invoices.retrieve(draft.id, { expand: ['confirmation_secret'] });
  assert.deepEqual(
    [sent.status, sent.attempt_count, sent.due_date],
    ['open', 0, draft.created + 5 * daySeconds],
  );
  assert.ok((await eventTypes(stripe)).includes('invoice.sent'));
  const secret = String(sent.confirmation_secret?.client_secret);
  await stripe.paymentIntents.confirm(secret.slice(0, secret.indexOf('_secret_')), {
    payment_method: 'pm_card_visa',
  });
  assert.equal((await stripe.invoices.retrieve(draft.id)).status, 'paid');
});

test('a draft can be told to advance, and to stop', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const customer = await stripe.customers.create({ source: 'tok_visa' });
  const draft = await advancing(stripe, customer.id, { auto_advance: false });
  await advance(daySeconds);
  await stripe.invoices.update(draft.id, { auto_advance: true, description: 'Thank you' });
  await stripe.invoices.update(draft.id, { auto_advance: false });
  await advance(daySeconds);
  assert.equal((await stripe.invoices.retrieve(draft.id)).status, 'draft');
  await stripe.invoices.update(draft.id, { auto_advance: true });
  await advance(hourSeconds);
  const paid = await stripe.invoices.retrieve(draft.id);
  assert.deepEqual([paid.status, paid.description], ['paid', 'Thank you']);
  await assert.rejects(stripe.invoices.update(draft.id, { footer: 'Too late' }), {
    statusCode: 400,
    code: 'invoice_not_editable',
  });
});

test('a renewal bills what is pending for it, and nothing of another subscription', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  await stripe.customers.update(customer.id, { source: 'tok_visa' });
  const [mine, other] = [
    await stripe.subscriptions.create({ customer: customer.id, items: [{ price: price.id }] }),
    await stripe.subscriptions.create({ customer: customer.id, items: [{ price: price.id }] }),
  ];
  const item = (amount: number, extra: Partial<Stripe.InvoiceItemCreateParams>) =>
    stripe.invoiceItems.create({ customer: customer.id, amount, currency: 'usd', ...extra });
  await item(100, { subscription: mine.id });
  await item(7, { subscription: other.id });
  await item(5_000, { currency: 'eur' });
  await advance(32 * daySeconds);
  const totals = [];
  for (const { id } of [mine, other]) {
    const { data } = await stripe.invoices.list({ subscription: id, limit: 1 });
    totals.push([data[0]?.total, data[0]?.status, data[0]?.lines.data.length]);
  }
  assert.deepEqual(totals, [
    [1_600, 'paid', 2],
    [1_507, 'paid', 2],
  ]);
  const pending = await stripe.invoiceItems.list({ customer: customer.id, pending: true });
  assert.deepEqual(
    pending.data.map(({ amount }) => amount),
    [5_000],
  );
});

test('a credit reduces an invoice, and what is left of it pays for the next', async (t) => {
  const { stripe } = await useSandbox(t);
  const customer = await stripe.customers.create({});
  for (const amount of [1_000, -300])
    await stripe.invoiceItems.create({ customer: customer.id, amount, currency: 'usd' });
  const draft = await stripe.invoices.create({
    customer: customer.id,
    pending_invoice_items_behavior: 'include',
  });
  assert.equal(draft.amount_due, 700);
  await stripe.invoiceItems.create({
    customer: customer.id,
    invoice: draft.id,
    amount: -900,
    currency: 'usd',
  });
  const settled = await stripe.invoices.finalizeInvoice(draft.id);
  assert.deepEqual([settled.status, settled.total, settled.amount_due], ['paid', -200, 0]);
  const credited = (await stripe.customers.retrieve(customer.id)) as Stripe.Customer;
  assert.deepEqual([credited.balance, credited.currency], [-200, 'usd']);
  await stripe.invoiceItems.create({ customer: customer.id, amount: 150, currency: 'usd' });
  const next = await stripe.invoices.create({
    customer: customer.id,
    pending_invoice_items_behavior: 'include',
  });
  assert.deepEqual([next.amount_due, next.starting_balance, next.ending_balance], [0, -200, null]);
  const paid = await stripe.invoices.finalizeInvoice(next.id);
  assert.deepEqual([paid.status, paid.amount_paid, paid.ending_balance], ['paid', 0, -50]);
});

test('the items of a deleted draft are pending again, and go with their customer', async (t) => {
  const { stripe, control } = await useSandbox(t);
  const customer = await stripe.customers.create({});
  const draft = await advancing(stripe, customer.id);
  await stripe.invoices.del(draft.id);
  const { data } = await stripe.invoiceItems.list({ customer: customer.id, pending: true });
  assert.deepEqual(
    data.map(({ invoice }) => invoice),
    [null],
  );
  await stripe.customers.del(customer.id);
  const { body } = await control('GET', '');
  const { holds } = body as { holds: Record<string, number> };
  assert.deepEqual([holds['invoiceitems'], holds['invoices']], [0, 0]);
});

test('an invoice has at most 250 lines; the other items stay pending', async (t) => {
  const { stripe } = await useSandbox(t);
  const customer = await stripe.customers.create({});
  const add = (extra: Partial<Stripe.InvoiceItemCreateParams> = {}) =>
    stripe.invoiceItems.create({ customer: customer.id, amount: 10, currency: 'usd', ...extra });
  for (let count = 0; count < 251; count++) await add();
  const draft = await stripe.invoices.create({
    customer: customer.id,
    pending_invoice_items_behavior: 'include',
  });
  assert.equal(draft.total, 2_500);
  await assert.rejects(add({ invoice: draft.id }), { statusCode: 400 });
  const lines = await stripe.invoices.listLineItems(draft.id, { limit: 100 });
  assert.deepEqual([lines.data.length, lines.has_more], [100, true]);
  const pending = await stripe.invoiceItems.list({ customer: customer.id, pending: true });
  assert.equal(pending.data.length, 1);
});

test('pending items and drafts survive a restart', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'sandbox-invoices-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const first = await startSandbox({ port: 0, dataDir });
  t.after(() => first.close());
  const before = clientOf(first.port);
  const customer = await before.customers.create({ source: 'tok_visa' });
  const draft = await advancing(before, customer.id);
  const item = await before.invoiceItems.create({ customer: customer.id, amount: 50, currency: 'usd' });
  await first.close();
  const { stripe, advance } = await useSandbox(t, { dataDir });
  assert.deepEqual(await stripe.invoiceItems.retrieve(item.id), item);
  await advance(hourSeconds);
  assert.equal((await stripe.invoices.retrieve(draft.id)).status, 'paid');
});

test('an invoice finalized by hand is charged an hour later, unless the request turns that off', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  await stripe.customers.update(customer.id, { source: 'tok_visa' });
  const stopped = await advancing(stripe, customer.id, { auto_advance: false });
  const single = await advancing(stripe, customer.id, { auto_advance: false });
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
  });
  await advance((subscription.items.data[0]?.current_period_end ?? 0) - subscription.created);
  const { latest_invoice: renewal } = await stripe.subscriptions.retrieve(subscription.id);
  await stripe.invoices.finalizeInvoice(stopped.id, { auto_advance: false });
  // It was a draft that did not advance by itself.
  await stripe.invoices.finalizeInvoice(single.id);
  await stripe.invoices.finalizeInvoice(String(renewal));
  const statuses = () =>
    Promise.all(
      [stopped.id, single.id, String(renewal)].map(async (id) => (await stripe.invoices.retrieve(id)).status),
    );
  assert.deepEqual(await statuses(), ['open', 'open', 'open']);
  await advance(hourSeconds);
  assert.deepEqual(await statuses(), ['open', 'paid', 'paid']);
});
