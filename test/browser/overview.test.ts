import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { createCustomer, createPaidPayment } from '../support/objects.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld, startConsole } from './support/browser-test.ts';

/** The number of a tile in the section of a currency. */
const tile = (page: Page, label: string) =>
  page
    .locator('.tile')
    .filter({ has: page.getByText(label, { exact: true }) })
    .locator('.tile-value');

browserTest('each number of the overview links to the rows that it counts', async ({ page, open }) => {
  await sharedWorld();
  await open('/console');
  const yen = page.locator('section').filter({ has: page.getByRole('heading', { name: 'JPY' }) });
  await yen.getByRole('link', { name: '¥5,400' }).click();
  await page.getByRole('heading', { level: 1, name: 'Payments' }).waitFor();
  await page.getByText('1 payment', { exact: true }).waitFor();
  await page.getByRole('link', { name: '¥5,400' }).waitFor();
  await page.goBack();
  const euro = page.locator('section').filter({ has: page.getByRole('heading', { name: 'EUR' }) });
  const disputes = euro.locator('.tile').filter({ has: page.getByText('Disputes') });
  assert.equal(await disputes.locator('.tile-value').textContent(), '1');
  await disputes.getByRole('link').click();
  await page.getByText('1 payment', { exact: true }).waitFor();
});

browserTest(
  'the range of the overview is in the address, and its charts are tables too',
  async ({ page, open }) => {
    await sharedWorld();
    await open('/console');
    await page.getByRole('link', { name: '7 days' }).click();
    await page.waitForURL(/from=.*to=/);
    const euro = page.locator('section').filter({ has: page.getByRole('heading', { name: 'EUR' }) });
    await euro.getByText('Volume per day as a table').click();
    const table = euro.getByRole('table', { name: 'Volume per day' });
    await table.waitFor();
    assert.equal(await table.getByRole('row').count(), 8);
    await expectAccessible(page);
  },
);

browserTest('days are typed with the keyboard, and can be corrected', async ({ page, open, problems }) => {
  await sharedWorld();
  await open('/console');
  await page.getByLabel('From (UTC)').focus();
  await page.keyboard.type('02032020');
  await page.keyboard.press('Enter');
  problems.expect(/ 400 .*\/overview/);
  await page.getByText('must be at most 366 days before').waitFor();
  await page.getByLabel('To (UTC)').focus();
  await page.keyboard.type('12312020');
  await page.keyboard.press('Enter');
  await page.waitForURL(/from=2020-02-03&to=2020-12-31$/);
  await page.getByRole('heading', { name: 'EUR' }).waitFor();
});

browserTest(
  'the overview is empty at first, and counts a payment as soon as it is paid',
  async ({ page, till, open }) => {
    await open('/console');
    await page.getByText('Numbers appear with the first one.').waitFor();
    await expectAccessible(page);
    const { id: customerId } = await createCustomer(till);
    await createPaidPayment(till, { customerId, amount: 4_200 });
    await till.settle();
    await tile(page, 'Volume').getByText('€42.00').waitFor();
  },
  { on: startConsole },
);
