import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { createCustomer, createPayment } from '../support/objects.ts';
import { until } from '../support/until.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld, startConsole } from './support/browser-test.ts';

/** More than a page of the list has. */
const paymentsMany = 27;

const rows = (page: Page) => page.getByRole('table', { name: 'Payments' }).locator('tbody tr');
const queryOf = (page: Page) => new URL(page.url()).search;
const focusedTag = (page: Page) => page.evaluate<string>('document.activeElement.tagName');

browserTest(
  'the list of payments shows amounts by currency, and times with the exact one',
  async ({ page, open }) => {
    const { payments } = await sharedWorld();
    await open('/console/payments');
    const row = rows(page).filter({ hasText: 'Order 1002' });
    assert.match((await row.textContent()) ?? '', /¥5,400.*Succeeded.*Visa •••• 4242/);
    assert.match((await rows(page).filter({ hasText: 'Order 1003' }).textContent()) ?? '', /€120\.00/);
    assert.equal(await row.locator('time').getAttribute('datetime'), payments.yen.createdAt);
    await row.getByRole('link', { name: '¥5,400' }).click();
    await page.getByRole('heading', { level: 1, name: '¥5,400' }).waitFor();
    assert.equal(new URL(page.url()).pathname, `/console/payments/${payments.yen.id}`);
    assert.equal(await focusedTag(page), 'H1');
  },
);

browserTest(
  'a live update does not change a filter in which somebody types',
  async ({ page, till, open }) => {
    const { id: customerId } = await createCustomer(till);
    await open('/console/payments');
    await page.getByText('No payment yet.').waitFor();
    await page.getByLabel('Currency').focus();
    await page.keyboard.type('us');
    await createPayment(till, { customerId, amount: 5_100, currency: 'usd' });
    await rows(page).filter({ hasText: '$51.00' }).waitFor();
    assert.equal(await page.getByLabel('Currency').inputValue(), 'us');
    await page.keyboard.type('d');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\?currency=usd$/);
    await page.goBack();
    await until(async () => (await page.locator('.filters input').first().inputValue()) === '');
  },
  { on: startConsole },
);

browserTest('filters are in the address, so that links and the back button work', async ({ page, open }) => {
  await sharedWorld();
  await open('/console/payments?status=canceled');
  await rows(page).first().waitFor();
  assert.equal(await page.getByLabel('Status').inputValue(), 'canceled');
  assert.deepEqual(new Set(await rows(page).locator('.status').allTextContents()), new Set(['Canceled']));
  await page.getByLabel('Status').focus();
  await page.getByLabel('Status').selectOption('refunded');
  await rows(page).filter({ hasText: 'Order 1004' }).waitFor();
  assert.equal(queryOf(page), '?status=refunded');
  assert.equal(await focusedTag(page), 'SELECT', 'a filter keeps the focus');
  await page.goBack();
  await rows(page).filter({ hasText: 'Order 1009' }).waitFor();
  assert.equal(queryOf(page), '?status=canceled');
  await page.getByLabel('Created before').fill('2020-01-01T10:00');
  await page.getByText('No payment matches.').waitFor();
  assert.equal(new URLSearchParams(queryOf(page)).get('createdBefore'), '2020-01-01T10:00:00.000Z');
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Clear filters' }).click();
  await rows(page).filter({ hasText: 'Order 1001' }).waitFor();
  assert.equal(queryOf(page), '');
  await page.getByLabel('Currency').fill('JPY');
  await page.getByLabel('Currency').press('Enter');
  await rows(page).filter({ hasText: 'Order 1001' }).waitFor({ state: 'detached' });
  await rows(page).filter({ hasText: 'Order 1002' }).waitFor();
  assert.equal(await rows(page).filter({ hasNotText: '¥' }).count(), 0);
  assert.equal(queryOf(page), '?currency=jpy');
});

browserTest(
  'an empty list fills as payments are created elsewhere, and has further pages by cursor',
  async ({ page, till, open }) => {
    await open('/console/payments');
    await page.getByText('No payment yet.').waitFor();
    await expectAccessible(page);
    await page.getByText('Live', { exact: true }).waitFor();
    const { id: customerId } = await createCustomer(till);
    for (let count = 0; count < paymentsMany; count += 1)
      await createPayment(till, { customerId, amount: 10_000 + count * 100, description: `Order ${count}` });
    await rows(page)
      .filter({ hasText: `Order ${paymentsMany - 1}` })
      .waitFor();
    assert.equal(await rows(page).count(), 25);
    await page.getByRole('link', { name: 'Next page' }).click();
    await rows(page).filter({ hasText: '€100.00' }).waitFor();
    assert.equal(await rows(page).count(), paymentsMany - 25);
    assert.equal(await focusedTag(page), 'H1', 'another page of the list is a navigation');
    assert.equal(await page.getByRole('link', { name: 'Next page' }).count(), 0);
    await page.getByRole('link', { name: 'Previous page' }).click();
    await rows(page)
      .filter({ hasText: `Order ${paymentsMany - 1}` })
      .waitFor();
  },
  { on: startConsole },
);

browserTest(
  'a failure shows the id of the request, and can be tried again',
  async ({ page, till, open, problems }) => {
    problems.expect(/ 500 .*\/payments/);
    await createPayment(till, { description: 'Order 1' });
    await till.sql('alter table till.payments rename to payments_gone');
    await open('/console/payments');
    const alert = page.getByRole('alert');
    await alert.getByText(/^Request id/).waitFor();
    const id = await alert.locator('code').textContent();
    assert.ok(
      till.lines.some(({ msg, requestId }) => msg === 'request' && requestId === id),
      `the log has the request ${id}`,
    );
    await expectAccessible(page);
    await till.sql('alter table till.payments_gone rename to payments');
    await alert.getByRole('button', { name: 'Try again' }).click();
    await rows(page).filter({ hasText: 'Order 1' }).waitFor();
  },
  { on: startConsole },
);

browserTest(
  'without a connection the page says so, keeps what it has, and continues by itself',
  async ({ page, till, open, problems }, t) => {
    problems.expect(/ERR_INTERNET_DISCONNECTED/);
    // All tabs share the connection.
    t.after(() => page.context().setOffline(false));
    await sharedWorld();
    await open('/console/payments?status=succeeded');
    await rows(page).filter({ hasText: 'Order 1001' }).waitFor();
    await page.context().setOffline(true);
    await page.getByLabel('Status').selectOption('canceled');
    await page.getByText('No connection to Till.').waitFor();
    await page.getByRole('alert').getByText('Till could not be reached.').waitFor();
    await expectAccessible(page);
    await page.context().setOffline(false);
    await rows(page).filter({ hasText: 'Order 1009' }).waitFor();
    assert.equal(await page.getByText('No connection to Till.').count(), 0);
    await page.getByText('Live', { exact: true }).waitFor();
    const payment = await createPayment(till, { description: 'After the break' });
    await till.post(`/payments/${payment.id}/cancel`);
    await rows(page).filter({ hasText: 'After the break' }).waitFor();
  },
);

browserTest('the export has the filtered rows, and the key is not in its address', async ({ page, open }) => {
  const { payments } = await sharedWorld();
  await open('/console/payments?status=refunded');
  await rows(page).filter({ hasText: 'Order 1004' }).waitFor();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export CSV' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'payments.csv');
  assert.match(download.url(), /^blob:/);
  const [header, ...lines] = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
  assert.match(header ?? '', /^id,/);
  assert.equal(lines.length, await rows(page).count());
  assert.ok(lines.some((line) => line.startsWith(payments.refunded.id)));
});
browserTest(
  'a page of a proxy instead of a response is an error, and is not requested over and over',
  async ({ page, open }) => {
    await sharedWorld();
    await open('/console/payments');
    await page.getByText('Live', { exact: true }).waitFor();
    let requests = 0;
    await page.route(/payments\?.*status=canceled/, (route) => {
      requests += 1;
      return route.fulfill({ contentType: 'text/html', body: '<p>Log in to this network</p>' });
    });
    await page.getByLabel('Status').selectOption('canceled');
    await page.getByRole('alert').getByText('could not be read').waitFor();
    await expectAccessible(page);
    assert.equal(requests, 1);
    await page.unroute(/payments\?.*status=canceled/);
    await page.getByRole('button', { name: 'Try again' }).click();
    await rows(page).filter({ hasText: 'Order 1009' }).waitFor();
  },
);

browserTest('a long name and a long e-mail stay within their column', async ({ page, till, open }) => {
  const name = 'W'.repeat(61);
  const customer = await createCustomer(till, { name, email: `${'w'.repeat(61)}@example.com` });
  await createPayment(till, { customerId: customer.id });
  await open(`/console/payments?customerId=${customer.id}`);
  const cell = page.getByRole('cell', { name });
  for (const width of [1_440, 768, 360]) {
    await page.setViewportSize({ width, height: 800 });
    const { outer, ends } = await cell.evaluate((node) => ({
      outer: node.getBoundingClientRect().right,
      ends: [...node.querySelectorAll('.person > *')].map((part) => part.getBoundingClientRect().right),
    }));
    assert.equal(ends.length, 2);
    assert.ok(Math.max(...ends) <= outer, `${width}: ${ends} of ${outer}`);
  }
});
