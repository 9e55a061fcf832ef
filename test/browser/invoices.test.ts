import assert from 'node:assert/strict';
import { createSubscription, type InvoiceBody } from '../support/objects.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld } from './support/browser-test.ts';

browserTest('invoices can be filtered, also by a link, and open their pages', async (tab) => {
  const { page, till, open } = tab;
  const { active, invoiceId } = await sharedWorld();
  const { subscription } = await createSubscription(till);
  await till.settle();
  const { number } = await till.get<InvoiceBody>(`/invoices/${invoiceId}`);
  await open(`/console/invoices?subscriptionId=${active.id}`);
  await page.getByText('1 invoice', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Remove the filter Subscription' }).click();
  await page.getByLabel('Status').selectOption('Open');
  await page.getByRole('cell', { name: 'Open' }).first().waitFor();
  assert.equal(new URL(page.url()).search, '?status=open');
  await expectAccessible(page);
  await page.goto(`${till.url}/console/invoices?subscriptionId=${subscription.id}`);
  const row = page.getByRole('row', { name: /Open/ });
  assert.match((await row.textContent()) ?? '', /€9\.00€0\.00€9\.00/);
  await page.goto(`${till.url}/console/invoices?status=paid&customerId=${active.customerId}`);
  await page.getByRole('link', { name: number ?? '' }).click();
  await page.getByRole('heading', { level: 1, name: `Invoice ${number}` }).waitFor();
});

browserTest('an invoice shows its amounts, its payments, and the pages for the customer', async (tab) => {
  const { page, till, open } = tab;
  const { active, customer, invoiceId } = await sharedWorld();
  const invoice = await till.get<InvoiceBody>(`/invoices/${invoiceId}`);
  await open(`/console/invoices/${invoiceId}`);
  await page.getByRole('region', { name: 'Payments' }).getByRole('link', { name: '€9.00' }).waitFor();
  const lines = page.getByRole('table', { name: 'Lines' }).locator('tbody tr');
  assert.match((await lines.textContent()) ?? '', /Gold.*€9\.00/);
  const links = [
    ['Hosted page', invoice.hostedInvoiceUrl],
    ['PDF', invoice.invoicePdfUrl],
    [active.id, `/console/subscriptions/${active.id}`],
    ['Ada Lovelace', `/console/customers/${customer.id}`],
  ] as const;
  for (const [name, href] of links)
    assert.equal(await page.getByRole('link', { name }).getAttribute('href'), href);
  await page.goto(`${till.url}/console/payments?invoiceId=${invoiceId}`);
  await page.getByText('1 payment', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Remove the filter Invoice' }).waitFor();
});
