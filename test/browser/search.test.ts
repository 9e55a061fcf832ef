import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { createCustomer } from '../support/objects.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld } from './support/browser-test.ts';

const dialog = (page: Page) => page.getByRole('dialog', { name: 'Search' });
const input = (page: Page) => dialog(page).getByRole('combobox');
const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });
const chosen = (page: Page) => dialog(page).getByRole('option', { selected: true });

browserTest(
  'Ctrl-K finds a customer by the beginning of an e-mail, by keyboard alone',
  async ({ page, open, till }) => {
    for (const name of ['Zoe', 'Zora']) await createCustomer(till, { name, email: `${name}@zeta.example` });
    await open('/console/customers');
    await heading(page, 'Customers').waitFor();
    await page.keyboard.press('Control+k');
    await dialog(page).getByText('Words of a name or an e-mail').waitFor();
    await page.keyboard.type('zo');
    await dialog(page).getByRole('group', { name: 'Customers' }).getByRole('option').nth(1).waitFor();
    await dialog(page).getByRole('status').getByText('2 results').waitFor();
    const first = await chosen(page).textContent();
    assert.equal(
      await input(page).getAttribute('aria-activedescendant'),
      await chosen(page).getAttribute('id'),
    );
    await expectAccessible(page, 'the results of a search');
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page, 'the results of a search, dark', 'colours');
    await page.keyboard.press('ArrowDown');
    assert.notEqual(await chosen(page).textContent(), first);
    await page.keyboard.press('ArrowDown');
    assert.equal(await chosen(page).textContent(), first, 'the last is followed by the first');
    await page.keyboard.press('ArrowUp');
    const name = (await chosen(page).locator('strong').textContent()) ?? '';
    await page.keyboard.press('Enter');
    await heading(page, name).waitFor();
    assert.equal(await dialog(page).count(), 0);
  },
);

browserTest('Ctrl-K opens the search as soon as its button is on the page', async ({ page, open }) => {
  // Before the browser shows what was added.
  await page.addInitScript(`new MutationObserver((_, observer) => {
    if (document.querySelector('.search-button') === null) return;
    observer.disconnect();
    document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }));
  }).observe(document, { childList: true, subtree: true })`);
  await open('/console/customers');
  await dialog(page).waitFor();
});

browserTest('a pasted id leads to its page on Enter, before there are results', async ({ page, open }) => {
  const { payments, active, invoiceId, plan, failedEventId } = await sharedWorld();
  await open('/console/payments');
  const ids = [
    [payments.yen.id, `/console/payments/${payments.yen.id}`],
    [payments.paid.processorPaymentIntentId, `/console/payments/${payments.paid.id}`],
    [active.processorSubscriptionId, `/console/subscriptions/${active.id}`],
    [invoiceId, `/console/invoices/${invoiceId}`],
    [plan.processorPriceId, `/console/plans/${plan.id}`],
    [failedEventId, `/console/webhook-events/${failedEventId}`],
  ] as const;
  for (const [id, path] of ids) {
    await page.getByRole('button', { name: 'Search' }).click();
    await input(page).fill(` ${id} `);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**${path}`);
  }
});

browserTest(
  'the slash opens the search, except where somebody types, and Escape returns the focus',
  async ({ page, open }) => {
    await open('/console/customers');
    // A new page moves the focus to its heading.
    await page.locator('h1:focus').waitFor();
    await page.getByLabel('External id').focus();
    await page.keyboard.press('/');
    assert.equal(await dialog(page).count(), 0);
    assert.equal(await page.getByLabel('External id').inputValue(), '/');
    await page.getByLabel('External id').fill('');
    const button = page.getByRole('button', { name: 'Search' });
    await button.focus();
    await page.keyboard.press('/');
    await dialog(page).waitFor();
    assert.equal(await input(page).inputValue(), '');
    await input(page).fill('nothing-has-this-id');
    await dialog(page).getByText('Nothing found for “nothing-has-this-id”.').waitFor();
    await expectAccessible(page, 'a search without results');
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    await button.and(page.locator(':focus')).waitFor();
  },
);

browserTest(
  'a response to an earlier text does not replace the results of a later one',
  async ({ page, open, till }) => {
    await createCustomer(till, { name: 'Early', email: 'ever@omega.example' });
    await createCustomer(till, { name: 'Late', email: 'evergreen@omega.example' });
    await open('/console/customers');
    await page.keyboard.press('Control+k');
    const earlier = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    await page.route('**/search?q=ever', async (route) => {
      asked.resolve();
      await earlier.promise;
      await route.continue().catch(() => {});
    });
    await input(page).fill('ever');
    await asked.promise;
    await input(page).fill('evergreen');
    await dialog(page).getByRole('option', { name: /Late/ }).waitFor();
    earlier.resolve();
    await dialog(page).getByRole('status').getByText('1 result').waitFor();
    assert.equal(await dialog(page).getByRole('option').count(), 1);
  },
);

browserTest('a search that fails says so and can be tried again', async ({ page, open, problems, till }) => {
  await createCustomer(till, { name: 'Yara', email: 'yara@psi.example' });
  await open('/console/customers');
  await page.route('**/api/v1/search*', (route) => route.abort(), { times: 1 });
  problems.expect(/ERR_FAILED/);
  await page.keyboard.press('Control+k');
  await input(page).fill('yara@psi.example');
  await dialog(page).getByText('No connection', { exact: true }).waitFor();
  await expectAccessible(page, 'a search that failed');
  await dialog(page).getByRole('button', { name: 'Try again' }).click();
  await dialog(page)
    .getByRole('group', { name: 'Exact match' })
    .getByRole('option', { name: /Yara/ })
    .click();
  await heading(page, 'Yara').waitFor();
});

browserTest('the search works on a phone', async ({ page, open, till }) => {
  await createCustomer(till, { name: 'Phoebe', email: 'phoebe@chi.example' });
  await open('/console/customers');
  await page.setViewportSize({ width: 320, height: 640 });
  await page.getByRole('button', { name: 'Search' }).click();
  await input(page).fill('phoebe@chi.example');
  await dialog(page)
    .getByRole('option', { name: /Phoebe/ })
    .waitFor();
  assert.equal(await page.evaluate<number>('document.documentElement.scrollWidth'), 320);
  await dialog(page).getByRole('button', { name: 'Close' }).click();
  await dialog(page).waitFor({ state: 'detached' });
});
