import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { testKey } from '../support/client.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, createKey, signIn } from './support/browser-test.ts';

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });

/** What scripts and addresses could give away. */
async function readableValues(page: Page): Promise<string> {
  const storage = await page.evaluate<string>(
    'JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie',
  );
  return storage + page.url();
}

browserTest('a wrong key is refused with a reason, and nothing is kept', async ({ page, till, problems }) => {
  problems.expect(/401 .*\/console\//);
  await page.goto(`${till.url}/console/payments`);
  await heading(page, 'Sign in to Till').waitFor();
  await expectAccessible(page);
  await page.getByLabel('API key').fill('wrong');
  await page.getByLabel('API key').press('Enter');
  const alert = page.getByRole('alert').getByText('This API key is not valid');
  await alert.waitFor();
  await expectAccessible(page, 'a wrong key', 'all');
  // A word processor turns quotes into characters that no header can carry.
  await page.reload();
  await page.getByLabel('API key').fill('“wrong”');
  await page.getByLabel('API key').press('Enter');
  await alert.waitFor();
  assert.deepEqual(await page.context().cookies(), []);
});

browserTest(
  'one sign-in opens all tabs, and no script or address has the key or the session',
  async ({ page, till, problems }) => {
    problems.expect(/401 .*\/api-keys\/current/);
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await page.goto(`${till.url}/console/payments`);
    const [second, third] = [await page.context().newPage(), await page.context().newPage()];
    await second.goto(`${till.url}/console/plans`);
    await heading(second, 'Sign in to Till').waitFor();
    await signIn(page, testKey);
    await heading(page, 'Payments').waitFor();
    await heading(second, 'Plans').waitFor();
    await third.goto(`${till.url}/console/customers`);
    await heading(third, 'Customers').waitFor();
    const [cookie, ...others] = await page.context().cookies();
    assert.deepEqual(others, []);
    assert.partialDeepStrictEqual(cookie, { name: 'till', httpOnly: true, sameSite: 'Strict', path: '/' });
    const seen = (await readableValues(page)) + addresses.join();
    assert.ok(addresses.length > 5);
    for (const secret of [testKey, cookie?.value ?? '']) assert.ok(secret !== '' && !seen.includes(secret));
    await second.getByRole('button', { name: 'Sign out' }).click();
    for (const tab of [page, second, third]) {
      await heading(tab, 'Sign in to Till').waitFor();
      assert.deepEqual(await tab.context().cookies(), []);
    }
    await page.reload();
    await heading(page, 'Sign in to Till').waitFor();
    for (const tab of [second, third]) await tab.close();
  },
);

browserTest(
  'all sessions of a key end at once, in other browsers too',
  async ({ page, till, open, problems }) => {
    problems.expect(/401 /);
    await open('/console/payments');
    const other = await page.context().browser()?.newContext();
    assert(other !== undefined);
    const elsewhere = await other.newPage();
    await elsewhere.goto(`${till.url}/console/plans`);
    await signIn(elsewhere, testKey);
    await elsewhere.getByRole('button', { name: 'End all sessions' }).click();
    await heading(elsewhere, 'Sign in to Till').waitFor();
    await page.getByText('Your session has ended.').waitFor();
    await other.close();
  },
);

browserTest(
  'a revoked key ends the session, and a sign-in returns to the same page',
  async ({ page, till, problems }) => {
    problems.expect(/401 /);
    const { id, key } = await createKey(till, ['read']);
    await page.goto(`${till.url}/console/payments`);
    await signIn(page, key);
    await page.getByLabel('Status').selectOption('succeeded');
    await page.waitForURL(/status=succeeded/);
    // Nothing is clicked: the waiting request for events ends with the key, and the next one is refused.
    assert.equal((await till.call('DELETE', `/api-keys/${id}`)).status, 204);
    await page.getByText('Your session has ended.').waitFor();
    // After another sign-in the page and its filter are as before.
    await signIn(page, testKey);
    await heading(page, 'Payments').waitFor();
    assert.equal(await page.getByLabel('Status').inputValue(), 'succeeded');
  },
);

browserTest(
  'a key that was revoked while the tab reloads leads to the sign-in page',
  async ({ page, till, problems }) => {
    problems.expect(/401 .*\/api\/v1\//);
    const { id, key } = await createKey(till, ['read']);
    await page.goto(`${till.url}/console/payments`);
    await signIn(page, key);
    await till.call('DELETE', `/api-keys/${id}`);
    await page.reload();
    await heading(page, 'Sign in to Till').waitFor();
  },
);
