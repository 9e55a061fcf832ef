import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { until } from '../support/until.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest } from './support/browser-test.ts';
import { focused, moveTo } from './support/keyboard.ts';

const phone = { viewport: { width: 320, height: 640 } };
const menu = (page: Page) => page.getByRole('navigation', { name: 'Main' });
const background = (page: Page) => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');

browserTest('the navigation shows only what the scopes of the key allow', async ({ page, open }) => {
  await open('/console/payments', { scopes: ['read'] });
  const labels = () => menu(page).getByRole('link').allTextContents();
  const forReaders = [
    'Overview',
    'Needs attention',
    'Customers',
    'Checkouts',
    'Payments',
    'Refunds',
    'Subscriptions',
    'Invoices',
    'Plans',
    'Events',
  ];
  const forOperators = ['Webhook events', 'Event endpoints', 'Resync'];
  assert.deepEqual(await labels(), forReaders);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
  await open('/console/payments', { scopes: ['operate'] });
  assert.deepEqual(await labels(), [...forReaders, ...forOperators, 'Sandbox']);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('API key').waitFor();
  await open('/console/payments');
  assert.deepEqual(await labels(), [...forReaders, ...forOperators, 'API keys', 'Audit log', 'Sandbox']);
  assert.equal(await menu(page).locator('[aria-current=page]').textContent(), 'Payments');
});

browserTest('the first link of every page skips the navigation', async ({ page, open }) => {
  await open('/console/not-a-page');
  await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
  await moveTo(page, 'Skip to content', 'Shift+Tab');
  const skip = page.getByRole('link', { name: 'Skip to content' });
  assert.ok(((await skip.boundingBox())?.y ?? -1) >= 0, 'it is on the screen while it has the focus');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  assert.equal(await focused(page), 'overview', 'the first link of the content');
});

browserTest(
  'on a phone the navigation opens from a menu button, and closes after a choice',
  async ({ page, open }) => {
    await open('/console/not-a-page');
    const button = page.getByRole('button', { name: 'Menu' });
    await menu(page).waitFor({ state: 'hidden' });
    assert.equal(await button.getAttribute('aria-expanded'), 'false');
    await button.press('Enter');
    assert.equal(await button.getAttribute('aria-expanded'), 'true');
    await expectAccessible(page);
    await menu(page).getByRole('link', { name: 'Payments' }).click();
    await page.getByRole('heading', { level: 1, name: 'Payments' }).waitFor();
    await menu(page).waitFor({ state: 'hidden' });
  },
  phone,
);

browserTest('the colours follow the system or the choice, which is kept', async ({ page, open }) => {
  await open('/console/not-a-page');
  await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
  const light = await background(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await background(page);
  assert.notEqual(light, dark);
  await page.getByLabel('Colours').selectOption('light');
  assert.equal(await background(page), light);
  await page.reload();
  await page.getByRole('heading', { level: 1 }).waitFor();
  assert.equal(await background(page), light, 'the choice outlives a reload');
  await page.getByLabel('Colours').selectOption('system');
  assert.equal(await background(page), dark);
});

browserTest('links within the console change the page without loading it again', async ({ page, open }) => {
  await open('/console/payments');
  await page.evaluate('globalThis.isSamePage = true');
  await menu(page).getByRole('link', { name: 'Plans' }).click();
  await until(async () => (await page.title()) === 'Plans · Till');
  await page.goBack();
  await page.getByRole('heading', { level: 1, name: 'Payments' }).waitFor();
  await until(async () => (await page.title()) === 'Payments · Till');
  assert.equal(await page.evaluate('globalThis.isSamePage'), true);
});

browserTest('a page that the key may not see says which scope is missing', async ({ page, open }) => {
  await open('/console/resyncs', { scopes: ['read'] });
  await page.getByText('Not allowed').waitFor();
  await page.getByText('The API key needs the scope operate.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Start a resync' }).count(), 0);
  await expectAccessible(page);
});
