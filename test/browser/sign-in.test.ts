import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { testKey } from '../support/client.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, createKey, signIn } from './support/browser-test.ts';

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });

/** Where a browser keeps values for longer than the tab, and the addresses that others see. */
async function lastingValues(page: Page): Promise<string> {
  const storage = await page.evaluate<string>('JSON.stringify({ ...localStorage }) + document.cookie');
  return storage + JSON.stringify(await page.context().cookies()) + page.url();
}

browserTest('a wrong key is refused with a reason, and nothing is kept', async ({ page, till, problems }) => {
  problems.expect(/401 .*\/api-keys\/current/);
  await page.goto(`${till.url}/console/payments`);
  await heading(page, 'Sign in to Till').waitFor();
  await expectAccessible(page);
  await page.getByLabel('API key').fill('wrong');
  await page.getByLabel('API key').press('Enter');
  const alert = page.getByRole('alert').getByText('This API key is not valid');
  await alert.waitFor();
  await expectAccessible(page);
  // A word processor turns quotes into characters that no header can carry.
  await page.reload();
  await page.getByLabel('API key').fill('“wrong”');
  await page.getByLabel('API key').press('Enter');
  await alert.waitFor();
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
});

browserTest(
  'the key is kept for the tab only: not in addresses, cookies or storage that lasts',
  async ({ page, till }) => {
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await page.goto(`${till.url}/console/payments`);
    await signIn(page, testKey);
    await heading(page, 'Payments').waitFor();
    await page.reload();
    await heading(page, 'Payments').waitFor();
    assert.equal(await page.evaluate('Object.values({ ...sessionStorage }).join()'), testKey);
    assert.ok(!(await lastingValues(page)).includes(testKey));
    assert.ok(addresses.length > 5 && !addresses.some((address) => address.includes(testKey)));
    // Another tab of the same browser has its own storage.
    const other = await page.context().newPage();
    await other.goto(`${till.url}/console/payments`);
    await heading(other, 'Sign in to Till').waitFor();
    await other.close();
  },
);

browserTest('signing out forgets the key', async ({ page, open }) => {
  await open('/console/payments');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await heading(page, 'Sign in to Till').waitFor();
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
  await page.reload();
  await heading(page, 'Sign in to Till').waitFor();
});

browserTest('a revoked key ends the session and says why', async ({ page, till, problems }) => {
  problems.expect(/401 /);
  const { id, key } = await createKey(till, ['read']);
  await page.goto(`${till.url}/console/payments`);
  await signIn(page, key);
  await page.getByLabel('Status').selectOption('succeeded');
  await page.waitForURL(/status=succeeded/);
  // Nothing is clicked: the stream of events ends with its key, and its next request is refused.
  assert.equal((await till.call('DELETE', `/api-keys/${id}`)).status, 204);
  await page.getByText('The API key is no longer valid.').waitFor();
  assert.equal(await page.evaluate('sessionStorage.length'), 0);
  // After another sign-in the page and its filter are as before.
  await signIn(page, testKey);
  await heading(page, 'Payments').waitFor();
  assert.equal(await page.getByLabel('Status').inputValue(), 'succeeded');
});

browserTest(
  'a key that was revoked while the tab reloads leads to the sign-in page',
  async ({ page, till, problems }) => {
    // The stream of events may be refused before the question about the key.
    problems.expect(/401 .*\/api\/v1\//);
    const { id, key } = await createKey(till, ['read']);
    await page.goto(`${till.url}/console/payments`);
    await signIn(page, key);
    await till.call('DELETE', `/api-keys/${id}`);
    await page.reload();
    await heading(page, 'Sign in to Till').waitFor();
  },
);
