import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { type Contract, contractCustomer, contractPrice, useContract } from './support.ts';

/** A draft with one item of 20.00 USD. */
async function drafted(contract: Contract, extra: Partial<Stripe.InvoiceCreateParams> = {}) {
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const item = await stripe.invoiceItems.create({
    customer: customer.id,
    amount: 2_000,
    currency: 'usd',
    description: 'Setup fee',
  });
  const draft = await stripe.invoices.create({
    customer: customer.id,
    pending_invoice_items_behavior: 'include',
    ...extra,
  });
  return { customer, item, draft };
}

const paymentIntentOf = async ({ stripe }: Contract, invoice: string) => {
  const { payments } = await stripe.invoices.retrieve(invoice, { expand: ['payments'] });
  return String(payments?.data[0]?.payment.payment_intent);
};

test('a pending item becomes a line of the next one-off invoice', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { customer, item, draft } = await drafted(contract);
  assert.deepEqual(
    [item.object, item.amount, item.currency, item.customer, item.invoice, item.proration, item.quantity],
    ['invoiceitem', 2_000, 'usd', customer.id, null, false, 1],
  );
  assert.deepEqual(
    [draft.status, draft.billing_reason, draft.amount_due, draft.total, draft.parent, draft.auto_advance],
    ['draft', 'manual', 2_000, 2_000, null, false],
  );
  const [line] = draft.lines.data;
  assert.deepEqual(
    [line?.amount, line?.description, line?.parent?.type, line?.parent?.invoice_item_details?.invoice_item],
    [2_000, 'Setup fee', 'invoice_item_details', item.id],
  );
  assert.equal((await stripe.invoiceItems.retrieve(item.id)).invoice, draft.id);
  const pending = await stripe.invoiceItems.list({ customer: customer.id, pending: true });
  assert.deepEqual(pending.data, []);
  const billed = await stripe.invoiceItems.list({ invoice: draft.id });
  assert.deepEqual(
    billed.data.map(({ id }) => id),
    [item.id],
  );
});

test('an invoice leaves pending items alone unless it is told to include them', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { draft } = await drafted(contract, { pending_invoice_items_behavior: 'exclude', currency: 'usd' });
  assert.deepEqual([draft.total, draft.lines.data], [0, []]);
  const added = await stripe.invoiceItems.create({
    customer: String(draft.customer),
    invoice: draft.id,
    amount: 700,
    currency: 'usd',
  });
  assert.equal(added.invoice, draft.id);
  const after = await stripe.invoices.retrieve(draft.id);
  assert.deepEqual([after.total, after.lines.data.length], [700, 1]);
});

test('a changed or deleted item changes its draft, and nothing else can change after that', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { item, draft } = await drafted(contract);
  const second = await stripe.invoiceItems.create({
    customer: String(draft.customer),
    invoice: draft.id,
    amount: 500,
    currency: 'usd',
  });
  await stripe.invoiceItems.update(item.id, { amount: 1_000, description: 'Less' });
  assert.equal((await stripe.invoices.retrieve(draft.id)).amount_due, 1_500);
  assert.deepEqual(await stripe.invoiceItems.del(second.id), {
    id: second.id,
    object: 'invoiceitem',
    deleted: true,
  });
  assert.equal((await stripe.invoices.retrieve(draft.id)).amount_due, 1_000);
  await stripe.invoices.finalizeInvoice(draft.id);
  await assert.rejects(stripe.invoiceItems.del(item.id), { statusCode: 400 });
  await assert.rejects(stripe.invoiceItems.update(item.id, { amount: 1 }), { statusCode: 400 });
});

test('an item can be created from a one-time price and a quantity, but not from a recurring price', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const recurring = await contractPrice(contract);
  const price = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 300,
    product: String(recurring.product),
  });
  contract.cleanups.push(() => stripe.prices.update(price.id, { active: false }));
  const item = await stripe.invoiceItems.create({
    customer: customer.id,
    pricing: { price: price.id },
    quantity: 3,
  });
  assert.deepEqual(
    [item.amount, item.quantity, item.currency, item.pricing?.price_details?.price],
    [900, 3, 'usd', price.id],
  );
  await assert.rejects(
    stripe.invoiceItems.create({ customer: customer.id, pricing: { price: recurring.id } }),
    { statusCode: 400 },
  );
  await stripe.invoiceItems.del(item.id);
});

test('a one-off invoice is finalized, then paid with a card', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { customer, draft } = await drafted(contract);
  const open = await stripe.invoices.finalizeInvoice(draft.id);
  assert.deepEqual([open.status, open.amount_remaining, typeof open.number], ['open', 2_000, 'string']);
  const method = await stripe.paymentMethods.attach('pm_card_visa', { customer: customer.id });
  const paid = await stripe.invoices.pay(draft.id, { payment_method: method.id });
  assert.deepEqual([paid.status, paid.amount_paid, paid.amount_remaining], ['paid', 2_000, 0]);
  const intent = await stripe.paymentIntents.retrieve(await paymentIntentOf(contract, draft.id));
  assert.deepEqual([intent.status, intent.amount_received], ['succeeded', 2_000]);
  await assert.rejects(stripe.invoices.pay(draft.id), { statusCode: 400 });
});

test('a declined card leaves a one-off invoice open', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { customer, draft } = await drafted(contract);
  const method = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', { customer: customer.id });
  await assert.rejects(stripe.invoices.pay(draft.id, { payment_method: method.id }), {
    statusCode: 402,
    code: 'card_declined',
  });
  const open = await stripe.invoices.retrieve(draft.id);
  assert.deepEqual([open.status, open.attempted, open.attempt_count], ['open', true, 1]);
  assert.equal((await stripe.invoices.voidInvoice(draft.id)).status, 'void');
});

test('an open invoice can be marked uncollectible, and still be paid out of band', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { draft } = await drafted(contract);
  await assert.rejects(stripe.invoices.markUncollectible(draft.id), { statusCode: 400 });
  await stripe.invoices.finalizeInvoice(draft.id);
  assert.equal((await stripe.invoices.markUncollectible(draft.id)).status, 'uncollectible');
  const paid = await stripe.invoices.pay(draft.id, { paid_out_of_band: true });
  assert.equal(paid.status, 'paid');
  const { data } = await stripe.invoicePayments.list({ invoice: draft.id, status: 'paid' });
  assert.deepEqual(data, [], 'no payment intent paid it');
});

test('an invoice to be sent is sent, open and due; others cannot be sent', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { draft } = await drafted(contract, { collection_method: 'send_invoice', days_until_due: 7 });
  const sent = await stripe.invoices.sendInvoice(draft.id);
  assert.deepEqual([sent.status, sent.collection_method], ['open', 'send_invoice']);
  assert.ok((sent.due_date ?? 0) >= sent.created + 7 * 86_400);
  const { draft: charged } = await drafted(contract);
  await assert.rejects(stripe.invoices.sendInvoice(charged.id), { statusCode: 400 });
});

test('a draft can be deleted, a final invoice cannot', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { draft } = await drafted(contract);
  assert.deepEqual(await stripe.invoices.del(draft.id), { id: draft.id, object: 'invoice', deleted: true });
  await assert.rejects(stripe.invoices.retrieve(draft.id), { statusCode: 404, code: 'resource_missing' });
  const { draft: second } = await drafted(contract);
  await stripe.invoices.finalizeInvoice(second.id);
  await assert.rejects(stripe.invoices.del(second.id), { statusCode: 400 });
});

test('a pending item is billed with the first invoice of a subscription', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const price = await contractPrice(contract);
  await stripe.invoiceItems.create({ customer: customer.id, amount: 250, currency: 'usd' });
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    payment_behavior: 'default_incomplete',
    expand: ['latest_invoice'],
  });
  const invoice = subscription.latest_invoice as Stripe.Invoice;
  assert.deepEqual([invoice.total, invoice.lines.data.length], [1_750, 2]);
});

test('what cannot be invoiced is refused', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const refused = { statusCode: 400 };
  await assert.rejects(stripe.invoiceItems.create({ customer: customer.id }), refused);
  await assert.rejects(stripe.invoiceItems.create({ customer: customer.id, amount: 5 }), refused);
  await assert.rejects(
    stripe.invoiceItems.create({ customer: 'cus_none', amount: 500, currency: 'usd' }),
    refused,
  );
  await assert.rejects(stripe.invoices.create({ customer: 'cus_none' }), refused);
  await assert.rejects(
    stripe.invoices.create({ customer: customer.id, collection_method: 'send_invoice' }),
    refused,
  );
  await assert.rejects(stripe.invoices.create({ customer: customer.id, days_until_due: 7 }), refused);
});

test('the lines of an invoice are listed in pages', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const draft = await stripe.invoices.create({ customer: customer.id, currency: 'usd' });
  for (let amount = 1; amount <= 12; amount++)
    await stripe.invoiceItems.create({ customer: customer.id, invoice: draft.id, amount, currency: 'usd' });
  const page = (params: Stripe.InvoiceListLineItemsParams = {}) =>
    stripe.invoices.listLineItems(draft.id, params);
  const first = await page();
  assert.deepEqual([first.data.length, first.has_more], [10, true]);
  const last = await page({ starting_after: String(first.data[9]?.id) });
  assert.deepEqual([last.data.length, last.has_more], [2, false]);
  const before = await page({ ending_before: String(last.data[0]?.id), limit: 3 });
  assert.deepEqual(
    [before.data.map(({ id }) => id), before.has_more],
    [first.data.slice(7).map(({ id }) => id), true],
  );
  await assert.rejects(page({ starting_after: 'il_none' }), { statusCode: 400, code: 'resource_missing' });
});
