import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { createClient } from '../support/client.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest } from './support/browser-test.ts';

interface KeyBody {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expiresAt: string | null;
}

const openForm = async (page: Page, name: string) => {
  await page.getByRole('button', { name: 'Create API key' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create API key' });
  await dialog.getByLabel('Name').fill(name);
  return { dialog, confirm: dialog.getByRole('button', { name: 'Create API key' }) };
};

browserTest(
  'a new API key is shown once, is never stored, works, and can be revoked',
  async ({ page, open, till }) => {
    await open('/console/api-keys');
    const { dialog, confirm } = await openForm(page, 'warehouse');
    await dialog.getByLabel('read').uncheck();
    assert.equal(await confirm.isDisabled(), true, 'a key without a scope can do nothing');
    await dialog.getByLabel('refund').check();
    await dialog.getByLabel('operate').check();
    await dialog.getByText('warehouse with the scopes refund, operate, which does not expire').waitFor();
    await expectAccessible(page, 'the form of a new key');
    await confirm.click();

    const shown = page.getByRole('dialog', { name: 'The new API key warehouse' });
    const key = (await shown.locator('code').textContent()) ?? '';
    assert.deepEqual((await createClient(till, key).get<KeyBody>('/api-keys/current')).scopes, [
      'refund',
      'operate',
    ]);
    await expectAccessible(page, 'the new key');
    // Twice, because a browser closes a dialog at the second one by itself.
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    assert.equal(await shown.locator('code').textContent(), key, 'Escape does not lose the key');
    await shown.getByRole('button', { name: 'I have stored it' }).click();
    const row = page.getByRole('row', { name: /warehouse/ });
    await row.waitFor();
    const kept = await page.evaluate(
      '[document.documentElement.outerHTML, JSON.stringify({ ...sessionStorage, ...localStorage })].join()',
    );
    assert.equal(String(kept).includes(key), false);
    await expectAccessible(page, 'the list of keys');

    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('is refused everywhere within 5 seconds').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke warehouse' }).click();
    await row.waitFor({ state: 'detached' });
    const { data } = await till.get<{ data: readonly KeyBody[] }>('/api-keys');
    assert.deepEqual(
      data.filter(({ name }) => name === 'warehouse'),
      [],
    );
  },
);

browserTest('a double click creates one API key, with its expiry', async ({ page, open, till }) => {
  await open('/console/api-keys');
  const { dialog, confirm } = await openForm(page, 'twice');
  const expires = dialog.getByLabel('Expires (optional, UTC)');
  await expires.fill('2020-01-01T00:00');
  await dialog.getByText('Choose a time in the future.').waitFor();
  assert.equal(await confirm.isDisabled(), true);
  await expires.fill('2040-01-01T12:00');
  await confirm.dblclick();
  await page.getByRole('dialog', { name: 'The new API key twice' }).waitFor();
  const { data } = await till.get<{ data: readonly KeyBody[] }>('/api-keys');
  assert.deepEqual(
    data.filter(({ name }) => name === 'twice').map(({ expiresAt }) => expiresAt),
    // Noon in the time zone of the installation, not of the browser.
    ['2040-01-01T12:00:00.000Z'],
  );
});

browserTest(
  'if the response with a new API key is lost, another try says so and creates no second one',
  async ({ page, open, till, problems }) => {
    await open('/console/api-keys');
    const { dialog, confirm } = await openForm(page, 'lost');
    await page.route(
      '**/api/v1/api-keys',
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    problems.expect(/ERR_FAILED/);
    await confirm.click();
    await dialog.getByText('Trying again is safe').waitFor();
    await confirm.click();
    await page.getByText('the response that showed it was lost').waitFor();
    const { data } = await till.get<{ data: readonly KeyBody[] }>('/api-keys');
    assert.equal(data.filter(({ name }) => name === 'lost').length, 1);
  },
);

browserTest('without the scope admin, the page of API keys is hidden and refused', async ({ page, open }) => {
  await open('/console/api-keys', { scopes: ['write', 'refund', 'operate'] });
  await page.getByText('Not allowed').waitFor();
  assert.equal(await page.getByRole('link', { name: 'API keys' }).count(), 0);
  await expectAccessible(page);
});

browserTest('revoking the own API key warns, and ends the session', async ({ page, open, problems }) => {
  await open('/console/api-keys', { scopes: ['admin'] });
  const row = page.getByRole('row', { name: /This session/ });
  await row.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('You will be signed out').waitFor();
  problems.expect(/401/);
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke tests.admin' }).click();
  await page.getByText('Your session has ended.').waitFor();
});
