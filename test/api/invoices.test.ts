import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readJson } from '../support/client.ts';
import {
  assertResource,
  confirmSecret,
  createCustomer,
  createPlan,
  createSubscription,
  type InvoiceBody,
  type PageBody,
} from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { call, stripe } = till;

const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';

/** The latest invoice of a subscription, after its webhooks. */
async function latestInvoice(processorSubscriptionId: string): Promise<InvoiceBody> {
  const there = await stripe.subscriptions.retrieve(processorSubscriptionId);
  await till.settle();
  const { data } = await readJson<PageBody<InvoiceBody>>(await call('GET', '/invoices?limit=100'), 200);
  const found = data.find(({ processorInvoiceId }) => processorInvoiceId === there.latest_invoice);
  assert.ok(found !== undefined);
  return found;
}

test('200: an invoice has exactly the fields of the spec, and follows the processor from open to paid', async () => {
  const customer = await createCustomer(till);
  const { subscription, clientSecret } = await createSubscription(till, { customerId: customer.id });
  const open = await latestInvoice(subscription.processorSubscriptionId);
  const { processorInvoiceId, hostedInvoiceUrl } = open;
  const there = await stripe.invoices.retrieve(processorInvoiceId);
  const periodStart = new Date(there.period_start * 1_000).toISOString();
  const periodEnd = new Date(there.period_end * 1_000).toISOString();
  const expected = {
    processorInvoiceId,
    customerId: customer.id,
    processorCustomerId: customer.processorCustomerId,
    processorSubscriptionId: subscription.processorSubscriptionId,
    amountDue: 900,
    amountPaid: 0,
    currency: 'eur',
    status: 'open',
    hostedInvoiceUrl,
    ...{ subscriptionId: subscription.id, number: there.number, amountRemaining: 900, attemptCount: 0 },
    ...{ nextPaymentAttemptAt: null, periodStart, periodEnd, invoicePdfUrl: there.invoice_pdf },
  };
  assertResource(open, expected);
  assert.equal(hostedInvoiceUrl, there.hosted_invoice_url);
  for (const text of [there.number, there.invoice_pdf]) assert.equal(typeof text, 'string');
  assert.deepEqual(await readJson(await call('GET', `/invoices/${open.id}`), 200), open);

  await confirmSecret(till, clientSecret);
  const paid = await latestInvoice(subscription.processorSubscriptionId);
  const settled = { amountPaid: 900, amountRemaining: 0, attemptCount: 1, status: 'paid' };
  assertResource(paid, { ...expected, ...settled });
  assert.deepEqual([paid.id, paid.createdAt], [open.id, open.createdAt]);
});

test('200: the payments of an invoice are those that pay it, and not the others of its subscription', async () => {
  const { subscription, clientSecret } = await createSubscription(till);
  await confirmSecret(till, clientSecret);
  const first = await latestInvoice(subscription.processorSubscriptionId);
  await call('PATCH', `/subscriptions/${subscription.id}`, { quantity: 3, proration: 'invoice' });
  const second = await latestInvoice(subscription.processorSubscriptionId);
  assert.notEqual(first.id, second.id);
  const paying = async (query: string) => {
    const { data } = await till.get<PageBody<{ invoiceId: string | null }>>(`/payments?${query}`);
    return data.map(({ invoiceId }) => invoiceId);
  };
  // Both may be of the same second.
  const both = new Set(await paying(`subscriptionId=${subscription.id}`));
  assert.deepEqual(both, new Set([second.id, first.id]));
  for (const { id } of [first, second]) {
    assert.deepEqual(await paying(`invoiceId=${id}`), [id]);
    assert.deepEqual(await paying(`invoiceId=${id}&source=subscription&status=succeeded`), [id]);
  }
  assert.deepEqual(await paying(`invoiceId=${unknownId}`), []);
  await readProblem(await call('GET', '/payments?invoiceId=x'), 400, 'invalid_request');
});

test('200: the invoice of a customer that Till does not have has no customerId', async () => {
  const stranger = await stripe.customers.create({ email: 'stranger@example.com' });
  const { processorPriceId } = await createPlan(till, { amount: 0 });
  const { id } = await stripe.subscriptions.create({
    customer: stranger.id,
    items: [{ price: processorPriceId }],
  });
  const invoice = await latestInvoice(id);
  assert.deepEqual(
    [invoice.customerId, invoice.processorCustomerId, invoice.processorSubscriptionId, invoice.status],
    [null, stranger.id, id, 'paid'],
  );
  assert.equal(invoice.subscriptionId, null);
  assert.deepEqual(await readJson(await call('GET', `/invoices/${invoice.id}`), 200), invoice);
});

test('200: a draft has no number and no PDF, and is linked to its subscription', async () => {
  const customer = await createCustomer(till);
  const { subscription } = await createSubscription(till, { customerId: customer.id });
  const draft = await stripe.invoices.create({
    customer: customer.processorCustomerId,
    subscription: subscription.processorSubscriptionId,
  });
  await till.settle();
  const list = await call('GET', `/invoices?subscriptionId=${subscription.id}&status=draft`);
  const [found] = (await readJson<PageBody<InvoiceBody>>(list, 200)).data;
  assert.ok(found !== undefined);
  assert.deepEqual(
    [found.processorInvoiceId, found.number, found.invoicePdfUrl, found.subscriptionId],
    [draft.id, null, null, subscription.id],
  );
});

test('an invoice is linked to its subscription, whichever of the two is known first', async () => {
  const customer = await createCustomer(till);
  const { subscription } = await createSubscription(till, { customerId: customer.id });
  const invoice = await latestInvoice(subscription.processorSubscriptionId);
  await till.sql('delete from till.subscriptions where id = $1', [subscription.id]);
  const readInvoice = async () => readJson<InvoiceBody>(await call('GET', `/invoices/${invoice.id}`), 200);
  assert.equal((await readInvoice()).subscriptionId, null);
  await stripe.subscriptions.update(subscription.processorSubscriptionId, { metadata: { touched: 'yes' } });
  await till.settle();
  assert.equal((await readInvoice()).subscriptionId, subscription.id);
});

test("200: a deleted customer's invoices stay readable, and in the list of this customer", async () => {
  const customer = await createCustomer(till);
  const { subscription } = await createSubscription(till, { customerId: customer.id });
  const invoice = await latestInvoice(subscription.processorSubscriptionId);
  assert.equal((await call('DELETE', `/customers/${customer.id}`)).status, 204);
  assert.deepEqual(await readJson(await call('GET', `/invoices/${invoice.id}`), 200), invoice);
  const list = await call('GET', `/invoices?customerId=${customer.id}`);
  assert.deepEqual((await readJson<PageBody<InvoiceBody>>(list, 200)).data, [invoice]);
});
