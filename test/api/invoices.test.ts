import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilSettled } from '../../src/mirrors/refresh.ts';
import { useMirror } from '../support/mirror.ts';
import { readProblem } from '../support/problem.ts';
import {
  assertResource,
  confirmSecret,
  type InvoiceBody,
  makeCustomer,
  makePlan,
  makeSubscription,
  type PageBody,
} from '../support/resources.ts';
import { readJson, useService } from '../support/service.ts';

const service = await useService();
const { call, stripe } = service;
const { database, processor, services } = await useMirror(service);

const unknownId = '0199c1f0-6a3e-7c52-9d4b-2f6c1a7e8b90';

/** Brings the news of a subscription's latest invoice, as webhooks would, and finds it in the list. */
async function latestInvoice(processorSubscriptionId: string): Promise<InvoiceBody> {
  const there = await stripe.subscriptions.retrieve(processorSubscriptionId);
  const facts = await processor.invoices.read(String(there.latest_invoice));
  assert.ok(facts !== null);
  await database.transaction((tx) => services.mirrors.invoices.apply(tx, [facts], 'events'));
  // Webhooks of the same second may have come first; then only the processor can tell which is the newer.
  await untilSettled(() => services.mirrors.invoices.refresh(facts.processorInvoiceId));
  const { data } = await readJson<PageBody<InvoiceBody>>(await call('GET', '/invoices?limit=100'), 200);
  const found = data.find(({ processorInvoiceId }) => processorInvoiceId === facts.processorInvoiceId);
  assert.ok(found !== undefined);
  return found;
}

test('200: an invoice has exactly the fields of the spec, and follows the processor from open to paid', async () => {
  const customer = await makeCustomer(service);
  const { subscription, clientSecret } = await makeSubscription(service, { customerId: customer.id });
  const open = await latestInvoice(subscription.processorSubscriptionId);
  const { processorInvoiceId, hostedInvoiceUrl } = open;
  const expected = {
    processorInvoiceId,
    customerId: customer.id,
    processorCustomerId: customer.processorCustomerId,
    processorSubscriptionId: subscription.processorSubscriptionId,
    amountDue: 1_900,
    amountPaid: 0,
    currency: 'eur',
    status: 'open',
    hostedInvoiceUrl,
  };
  assertResource(open, expected);
  const there = await stripe.invoices.retrieve(processorInvoiceId);
  assert.equal(hostedInvoiceUrl, there.hosted_invoice_url);
  assert.deepEqual(await readJson(await call('GET', `/invoices/${open.id}`), 200), open);

  await confirmSecret(service, clientSecret);
  const paid = await latestInvoice(subscription.processorSubscriptionId);
  assertResource(paid, { ...expected, amountPaid: 1_900, status: 'paid' });
  assert.deepEqual([paid.id, paid.createdAt], [open.id, open.createdAt]);
});

test('200: the invoice of somebody who is no customer of ours has no customerId', async () => {
  const stranger = await stripe.customers.create({ email: 'stranger@example.com' });
  const { processorPriceId } = await makePlan(service, { amount: 0 });
  const { id } = await stripe.subscriptions.create({
    customer: stranger.id,
    items: [{ price: processorPriceId }],
  });
  const invoice = await latestInvoice(id);
  assert.deepEqual(
    [invoice.customerId, invoice.processorCustomerId, invoice.processorSubscriptionId, invoice.status],
    [null, stranger.id, id, 'paid'],
  );
  assert.deepEqual(await readJson(await call('GET', `/invoices/${invoice.id}`), 200), invoice);
});

test("200: a deleted customer's invoices stay readable, and in the list of this customer", async () => {
  const customer = await makeCustomer(service);
  const { subscription } = await makeSubscription(service, { customerId: customer.id });
  const invoice = await latestInvoice(subscription.processorSubscriptionId);
  assert.equal((await call('DELETE', `/customers/${customer.id}`)).status, 204);
  assert.deepEqual(await readJson(await call('GET', `/invoices/${invoice.id}`), 200), invoice);
  const list = await call('GET', `/invoices?customerId=${customer.id}`);
  assert.deepEqual((await readJson<PageBody<InvoiceBody>>(list, 200)).data, [invoice]);
});

test('400: a parameter that is wrong or that nobody asked for', async () => {
  for (const query of ['?page=0', '?limit=101', '?state=paid']) {
    await readProblem(await call('GET', `/invoices${query}`), 400, 'invalid_request');
  }
  await readProblem(await call('GET', `/invoices/${unknownId}?expand=lines`), 400, 'invalid_request');
});

test('404: an id that nobody has, or that is no UUID', async () => {
  for (const id of [unknownId, 'in_123', '0']) {
    await readProblem(await call('GET', `/invoices/${id}`), 404, 'not_found');
  }
});

test('405: nobody makes, changes or deletes an invoice here', async () => {
  await readProblem(await call('POST', '/invoices', {}), 405, 'method_not_allowed');
  for (const method of ['POST', 'PATCH', 'DELETE'] as const) {
    const answer = await call(method, `/invoices/${unknownId}`);
    assert.equal(answer.headers.get('allow'), 'GET, HEAD');
    await readProblem(answer, 405, 'method_not_allowed');
  }
});
