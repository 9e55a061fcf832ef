import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { test } from 'node:test';
import { buildSite, serveFiles } from '../docs/support/built-site.ts';
import { effort } from '../support/effort.ts';
import { expectAccessible } from './support/accessible.ts';
import { openTab } from './support/browser-test.ts';
import { skipWithoutChromium } from './support/chromium.ts';
import { watchProblems } from './support/problems.ts';

const pages = ['', 'checkout.html', 'reference/settings.html'];
/** All pages have one style sheet, so in the short form a guide shows that its dark colours are right. */
const darkPages = effort({ short: ['checkout.html'], long: pages });

test('the documentation works on a file server below any prefix, is accessible in light and dark, and fits a phone', {
  skip: skipWithoutChromium(),
}, async (t) => {
  const folder = await buildSite();
  t.after(() => rm(folder, { recursive: true, force: true }));
  const origin = await serveFiles(t, folder, '/some/prefix/');
  const page = await openTab();
  t.after(() => page.close());
  const problems = watchProblems(page, origin);

  await page.goto(`${origin}/some/prefix/decisions/`);
  await page.getByRole('searchbox').fill('idempotncy key');
  await page.getByRole('status').filter({ hasText: 'results' }).waitFor();
  await page.getByRole('searchbox').fill('failed renewal');
  await page
    .getByRole('search')
    .getByRole('link', { name: /^Failed payments/ })
    .first()
    .click();
  await page.getByRole('heading', { level: 1, name: 'Failed payments' }).waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();

  for (const path of pages) {
    await page.goto(`${origin}/some/prefix/${path}`);
    await page.getByRole('searchbox').fill('webhook');
    await page.getByRole('status').filter({ hasText: 'results' }).waitFor();
    await expectAccessible(page, path, 'all');
    if (darkPages.includes(path)) {
      await page.emulateMedia({ colorScheme: 'dark' });
      await expectAccessible(page, `${path}, dark`, 'colours');
      await page.emulateMedia({ colorScheme: 'light' });
    }
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 320, height: 800 });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320, path);
    await page.setViewportSize({ width: 1_280, height: 900 });
  }
  problems.check();
});
