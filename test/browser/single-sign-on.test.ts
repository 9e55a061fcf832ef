import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { startIdentityProvider } from '../support/identity-provider.ts';
import { TcpLine } from '../support/tcp-line.ts';
import { startTill } from '../support/till.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest } from './support/browser-test.ts';

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });

/** A Till at its public address, with an identity provider on another site. */
async function startWithProvider(t: TestContext): Promise<TillInProcess> {
  // The address must be known before Till listens.
  const line = await TcpLine.open(1);
  t.after(() => line.close());
  const publicUrl = `http://localhost:${line.port}`;
  const provider = await startIdentityProvider(t, { redirectUri: `${publicUrl}/console/sign-in/callback` });
  const till = await startTill({
    in: 'process',
    for: t,
    console: { publicUrl, oidc: provider.settings, hasKeySignIn: false },
  });
  line.leadTo(Number(new URL(till.url).port));
  return { ...till, url: publicUrl };
}

/** Signs in at the provider, as its page asks. */
async function signInAs(page: Page, name: string): Promise<void> {
  await page.getByRole('link', { name: 'Sign in with single sign-on' }).click();
  await heading(page, 'Example login').waitFor();
  await page.getByLabel('Name').fill(name);
  await page.getByRole('button', { name: 'Continue' }).click();
}

browserTest(
  'single sign-on opens three tabs, returns to the page, shows who it is, and ends everywhere',
  async ({ page, till, problems }) => {
    problems.expect(/401 .*\/api-keys\/current/);
    problems.expect(/another host: http:\/\/127\.0\.0\.1/);
    await page.goto(`${till.url}/console/api-keys?from=mail`);
    await heading(page, 'Sign in to Till').waitFor();
    assert.equal(await page.getByLabel('API key').count(), 0);
    await expectAccessible(page);
    await signInAs(page, 'ada');
    await heading(page, 'API keys').waitFor();
    assert.match(page.url(), /\/console\/api-keys\?from=mail$/);
    await page.getByText('Signed in as Ada Lovelace').waitFor();
    const tabs = [await page.context().newPage(), await page.context().newPage()] as const;
    await tabs[0].goto(`${till.url}/console/payments`);
    await heading(tabs[0], 'Payments').waitFor();
    await tabs[1].goto(`${till.url}/console/audit-log`);
    await heading(tabs[1], 'Audit log').waitFor();
    // Who revoked the key yesterday: what a person does is in the log, with their address.
    const { id } = await till.post<{ id: string }>('/api-keys', { name: 'shop', scopes: ['read'] });
    await page.reload();
    await page.getByRole('button', { name: 'Revoke shop' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke shop' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const log = tabs[1];
    await log.getByLabel('What').selectOption('revokeApiKey');
    const row = log.getByRole('row').filter({ hasText: id });
    await row.waitFor();
    assert.match((await row.textContent()) ?? '', /ada@example\.com.*Revoke API key/);
    await expectAccessible(log);
    await log.getByLabel('Who').fill('grace@example.com');
    await log.getByLabel('Who').press('Enter');
    await log.getByText('No entry matches.').waitFor();
    await page.getByRole('button', { name: 'End all sessions' }).click();
    for (const tab of [page, ...tabs]) await heading(tab, 'Sign in to Till').waitFor();
    assert.deepEqual(
      (await page.context().cookies(till.url)).map(({ name }) => name),
      [],
    );
    for (const tab of tabs) await tab.close();
  },
  { on: startWithProvider },
);

browserTest(
  'a person in no group gets a page that says so, and can try again',
  async ({ page, till, problems }) => {
    problems.expect(/401 .*\/api-keys\/current/);
    problems.expect(/another host: http:\/\/127\.0\.0\.1/);
    problems.expect(/403 .*\/sign-in\/callback/);
    await page.goto(`${till.url}/console`);
    await signInAs(page, 'eve');
    await heading(page, 'No access').waitFor();
    await page.getByText('You are in no group that may use this console.').waitFor();
    await expectAccessible(page, 'refused', 'all');
    await page.getByRole('link', { name: 'Sign in again' }).click();
    await heading(page, 'Sign in to Till').waitFor();
  },
  { on: startWithProvider },
);
