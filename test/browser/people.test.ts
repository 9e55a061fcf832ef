/** What support does all day: who is it, why did the payment fail, and back to the list. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { createCustomer, createPayment } from '../support/objects.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld, startConsole } from './support/browser-test.ts';

const dialog = (page: Page) => page.getByRole('dialog', { name: 'Search' });
const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name });
const rows = (page: Page) => page.getByRole('table', { name: 'Payments' }).locator('tbody tr');
const amounts = (page: Page) => rows(page).locator('th').allTextContents();
/** Where the page is scrolled to, after some frames at most: going back shows the list before it is loaded again. */
const scrolledTo = (place: number) =>
  `new Promise((resolve) => {
    let frames = 0;
    const check = () => {
      frames += 1;
      if (Math.abs(scrollY - ${place}) < 2 || frames > 100) resolve(scrollY);
      else requestAnimationFrame(check);
    };
    check();
  })`;
const queryOf = (page: Page) => new URL(page.url()).search;

browserTest('half a name leads to the customer, and the list says why a payment failed', async (tab) => {
  const { page, open, till } = tab;
  await sharedWorld();
  const { id } = await createCustomer(till, { name: 'Wilhelmina Okonkwo', email: 'w.okonkwo@rho.example' });
  await open('/console');
  await page.keyboard.press('Control+k');
  await dialog(page).locator('input:focus').waitFor();
  // At once: an option of half the text would be there before the results of the whole, and Enter waits for those.
  await dialog(page).locator('input').fill('mina okon');
  await dialog(page)
    .getByRole('option', { name: /Wilhelmina Okonkwo.*Name contains it/ })
    .waitFor();
  await page.keyboard.press('Enter');
  await heading(page, 'Wilhelmina Okonkwo').waitFor();
  assert.equal(new URL(page.url()).pathname, `/console/customers/${id}`);

  await page.goto(`${till.url}/console/payments?failed=true`);
  const failed = rows(page).filter({ hasText: 'Order 1006' });
  assert.match(
    (await failed.textContent()) ?? '',
    /Failed: insufficient fundsAda Lovelaceada\.lovelace@example\.com/,
  );
  for (const [order, text] of [
    ['Order 1003', 'Partly refunded'],
    ['Order 1004', 'Refunded'],
    ['Order 1005', /Disputed: evidence due \d|Disputed: evidence due \w+ \d/],
  ] as const) {
    await page.goto(`${till.url}/console/payments`);
    await rows(page).filter({ hasText: order }).locator('.status').filter({ hasText: text }).waitFor();
  }
  await expectAccessible(page, 'payments with their customers');
  await rows(page).filter({ hasText: 'Order 1005' }).getByRole('link', { name: 'Ada Lovelace' }).click();
  await heading(page, 'Ada Lovelace').waitFor();
  await page.goto(`${till.url}/console/subscriptions?status=trialing`);
  await page
    .getByRole('cell', { name: /^Trial ends / })
    .first()
    .waitFor();
});

browserTest(
  'payments of subscriptions are shown too, unless one-time payments are chosen',
  async ({ page, open, problems }) => {
    const { active } = await sharedWorld();
    await open(`/console/payments?customerId=${active.customerId}`);
    await rows(page).filter({ hasText: '€9.00' }).waitFor();
    await page.getByLabel('Kind of payment').selectOption('One-time payments');
    await rows(page).filter({ hasText: '€9.00' }).waitFor({ state: 'detached' });
    await rows(page).filter({ hasText: 'Order 1001' }).waitFor();
    await page.getByLabel('Amount from').fill('100');
    await page.keyboard.press('Enter');
    await page.getByText('Choose a currency to filter by amount.').waitFor();
    await page.getByLabel('Currency').fill('eur');
    await page.keyboard.press('Enter');
    await rows(page).filter({ hasText: 'Order 1001' }).waitFor({ state: 'detached' });
    // The rows are gone before the new list is loaded.
    await rows(page).first().waitFor();
    assert.deepEqual(await amounts(page), ['€120.00']);
    // What the API refuses is said in the words of the page.
    problems.expect(/ 400 .*\/payments/);
    await page.getByLabel('Currency').fill('euros');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing can match what is in the filter Currency.').waitFor();
    await expectAccessible(page, 'a filter that matches nothing');
    assert.doesNotMatch((await page.locator('main').textContent()) ?? '', /query\.|pattern|must /);
    await page.getByRole('link', { name: 'Show the whole list' }).click();
    await rows(page).nth(1).waitFor();
  },
);

browserTest(
  'a list is sorted by amount and date, goes to and fro, and back returns to the same place',
  async ({ page, till, open }) => {
    const { id: customerId } = await createCustomer(till);
    for (let count = 0; count < 55; count += 1)
      await createPayment(till, {
        customerId,
        amount: 10_000 + ((count * 7) % 55) * 100,
        description: `Order ${count}`,
      });
    await open('/console/payments');
    await rows(page).first().waitFor();
    await page.getByRole('columnheader', { name: 'Amount' }).getByRole('link').click();
    await rows(page).first().filter({ hasText: '€154.00' }).waitFor();
    assert.equal(queryOf(page), '?sort=-amount');
    assert.equal(
      await page.getByRole('columnheader', { name: 'Amount' }).getAttribute('aria-sort'),
      'descending',
    );
    await page.getByRole('link', { name: 'Next page' }).click();
    await rows(page).first().filter({ hasText: '€129.00' }).waitFor();
    await page.getByRole('link', { name: 'Next page' }).click();
    await rows(page).first().filter({ hasText: '€104.00' }).waitFor();
    await expectAccessible(page, 'the last page of a sorted list');
    await page.getByRole('link', { name: 'Previous page' }).click();
    await rows(page).first().filter({ hasText: '€129.00' }).waitFor();
    const chosen = rows(page).filter({ hasText: '€110.00' });
    await chosen.scrollIntoViewIfNeeded();
    const place = await page.evaluate<number>('window.scrollY');
    assert.ok(place > 0);
    await chosen.getByRole('link', { name: '€110.00' }).click();
    await heading(page, '€110.00').waitFor();
    await page.goBack();
    await rows(page).first().filter({ hasText: '€129.00' }).waitFor();
    const after = await page.evaluate<number>(scrolledTo(place));
    assert.ok(Math.abs(after - place) < 2, `${after} instead of ${place}`);
    await page.getByRole('columnheader', { name: 'Created' }).getByRole('link').click();
    await page.getByRole('columnheader', { name: 'Created' }).getByRole('link').click();
    await rows(page).first().filter({ hasText: 'Order 0' }).waitFor();
    assert.equal(queryOf(page), '?sort=createdAt');
  },
  { on: startConsole, viewport: { width: 1280, height: 500 } },
);

browserTest('the search is also a palette of commands', async ({ page, open }) => {
  await open('/console');
  const command = async (text: string) => {
    await page.keyboard.press('Control+k');
    await dialog(page).locator('input:focus').waitFor();
    await page.keyboard.type(text);
    await dialog(page).getByRole('group', { name: 'Commands' }).getByRole('option').first().waitFor();
  };
  await heading(page, 'Overview').waitFor();
  await command('');
  await expectAccessible(page, 'the commands');
  await page.keyboard.press('Escape');
  await command('go invoi');
  await page.keyboard.press('Enter');
  await heading(page, 'Invoices').waitFor();
  await command('dark');
  await page.keyboard.press('Enter');
  await page.locator('html[data-theme="dark"]').waitFor();
  // All tabs share the choice.
  await command('system');
  await page.keyboard.press('Enter');
  await page.locator('html[data-theme="system"]').waitFor();
  await command('create plan');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Create plan' }).waitFor();
  assert.equal(queryOf(page), '');
  await page.keyboard.press('Escape');
  await command('sign out');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
});

browserTest('a command works while the search fails', async ({ page, open, problems }) => {
  problems.expect(/ERR_FAILED/);
  await page.route('**/v1/search?*', (route) => route.abort());
  await open('/console');
  await heading(page, 'Overview').waitFor();
  await page.keyboard.press('Control+k');
  await dialog(page).locator('input:focus').waitFor();
  await page.keyboard.type('create plan');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Create plan' }).waitFor();
});
