import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { completeCheckout, createCheckout, type OpenedBody, readCheckout } from '../support/checkouts.ts';
import { createCustomer } from '../support/objects.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld } from './support/browser-test.ts';

browserTest('checkouts can be filtered and exported, and open their pages', async (tab) => {
  const { page, till, open } = tab;
  const { plan } = await sharedWorld();
  const { id: customerId } = await createCustomer(till, { name: 'Grace', email: 'grace@example.com' });
  const order = { amount: 4_200, currency: 'eur', description: 'Lamp' };
  const sold = [{ saveCard: true }, { payment: order }, { planId: plan.id, quantity: 2 }];
  for (const one of sold) await createCheckout(till, { customerId, ...one });
  await open(`/console/checkouts?customerId=${customerId}`);
  await page.getByText('3 checkouts', { exact: true }).waitFor();
  const rows = await page.locator('tbody tr').allTextContents();
  assert.deepEqual(
    rows.map((row) => /^(\w+)Gracegrace@example.comOpen(Unpaid|Not required)(—|€[\d.]+)/.exec(row)?.slice(1)),
    [
      ['Subscription', 'Unpaid', '€18.00'],
      ['Payment', 'Unpaid', '€42.00'],
      ['Setup', 'Not required', '—'],
    ],
  );
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export CSV' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'checkouts.csv');
  assert.equal((await readFile(await download.path(), 'utf8')).trim().split('\r\n').length, 4);
  await page.getByLabel('Status').selectOption('Completed');
  await page.getByText('No checkout matches.').waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'Payment', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Payment checkout' }).waitFor();
});

browserTest(
  'a checkout shows its link and what the buyer is offered, and then the result without the link',
  async ({ page, till, open }) => {
    const { plan } = await sharedWorld();
    const customer = await createCustomer(till);
    const { checkout, url } = await createCheckout(till, {
      customerId: customer.id,
      planId: plan.id,
      trialPeriodDays: 7,
      metadata: { campaign: 'spring' },
    });
    await open(`/console/checkouts/${checkout.id}`);
    await page.getByText('7 days').waitFor();
    await page.getByText('spring').waitFor();
    await page.getByRole('link', { name: url ?? 'no link' }).waitFor();
    assert.equal(await completeCheckout(till, checkout), 'complete');
    await till.settle();
    await page.getByRole('heading', { level: 1 }).locator('..').getByText('Completed').waitFor();
    await page.getByRole('button', { name: 'Expire' }).waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('heading', { name: 'Link for the buyer' }).count(), 0);
    const { subscriptionId } = (await readCheckout(till, checkout)).checkout;
    const links = [
      [customer.name ?? '', `/console/customers/${customer.id}`],
      ['Gold', `/console/plans/${plan.id}`],
      [subscriptionId ?? '', `/console/subscriptions/${subscriptionId}`],
    ] as const;
    for (const [name, href] of links)
      assert.equal(await page.getByRole('link', { name, exact: true }).getAttribute('href'), href);
  },
);

browserTest('a payment links to the checkout in which it was paid', async ({ page, till, open }) => {
  const { id: customerId } = await createCustomer(till);
  const payment = { amount: 4_300, currency: 'eur', description: 'Lamp' };
  const { checkout } = await createCheckout(till, { customerId, payment });
  await completeCheckout(till, checkout);
  const { paymentId } = (await readCheckout(till, checkout)).checkout;
  await open(`/console/payments/${paymentId}`);
  await page.getByRole('link', { name: checkout.id }).click();
  await page.getByRole('link', { name: paymentId ?? '' }).waitFor();
});

browserTest('an open checkout can be expired, by keyboard, after a confirmation', async (tab) => {
  const { page, till, open } = tab;
  const { plan } = await sharedWorld();
  const { id: customerId } = await createCustomer(till);
  const { checkout } = await createCheckout(till, { customerId, planId: plan.id });
  await open(`/console/checkouts/${checkout.id}`);
  await page.getByRole('button', { name: 'Expire' }).focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Expire checkout' });
  await dialog.getByText('The buyer can no longer subscribe').waitFor();
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Expire checkout' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('Checkout expired').first().waitFor();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Expire' }).waitFor({ state: 'detached' });
  assert.equal((await till.get<OpenedBody>(`/checkouts/${checkout.id}`)).checkout.status, 'expired');
});

browserTest(
  'an API key that only reads cannot expire a checkout, and does not see its link',
  async ({ page, open }) => {
    const { checkout } = await sharedWorld();
    await open(`/console/checkouts/${checkout.id}`, { scopes: ['read'] });
    await page.getByRole('heading', { level: 1, name: 'Subscription checkout' }).waitFor();
    for (const name of ['Expire', 'Copy link'])
      assert.equal(await page.getByRole('button', { name }).count(), 0, name);
  },
);
