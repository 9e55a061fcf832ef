import assert from 'node:assert/strict';
import { testKey } from '../support/client.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest } from './support/browser-test.ts';

browserTest(
  'the reference is complete without scripts, accessible in light and dark, fits a phone, and sends requests',
  async ({ page, till }) => {
    const served = await (await fetch(`${till.url}/api/docs`)).text();
    assert.match(served, /<details id="createPayment"/);

    await page.goto(`${till.url}/api/docs#listPayments`);
    const operation = page.locator('#listPayments');
    await operation.getByRole('heading', { name: 'Parameters' }).waitFor();
    await page.getByLabel('API key for the requests of this page').fill(testKey);
    await operation.getByLabel('limit').fill('1');
    await operation.getByRole('button', { name: 'Send GET' }).click();
    await operation.locator('output strong').filter({ hasText: '200' }).waitFor();
    assert.match((await operation.locator('output pre').textContent()) ?? '', /"data": \[/);

    await page.getByRole('link', { name: 'Create a customer' }).click();
    const creation = page.locator('#createCustomer');
    await creation.getByLabel('Body').fill('{ "email": "reference@example.com" }');
    await creation.getByRole('button', { name: 'Send POST' }).click();
    await creation.locator('output strong').filter({ hasText: '201' }).waitFor();

    await page.getByLabel('Find an operation').fill('refund list');
    assert.deepEqual(await page.locator('nav li a:visible').allTextContents(), [
      'List the refunds of all payments, newest first',
      'List the refunds of a payment and what it released, newest first',
    ]);

    // All operations have the same parts. Without most of them axe takes a second instead of fifteen.
    await page.evaluate(`(() => {
      for (const entry of document.querySelectorAll('main > section > details'))
        if (!['createPayment', 'listPayments', 'schema-Payment'].includes(entry.id)) entry.remove();
      for (const entry of document.querySelectorAll('main details')) entry.open = true;
    })()`);
    await expectAccessible(page, 'light', 'all');
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page, 'dark', 'colours');
    await page.setViewportSize({ width: 320, height: 800 });
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 320);
  },
);

browserTest(
  'a person who opens the address of Till gets to the console, and a program learns what it is',
  async ({ page, till, problems }) => {
    // The console asks whether there is a session.
    problems.expect(/401 .*\/api-keys\/current/);
    await page.goto(till.url);
    await page.getByLabel('API key').waitFor();
    assert.equal(new URL(page.url()).pathname, '/console');
    const response = await fetch(till.url);
    assert.equal(response.status, 200);
    const found = (await response.json()) as Readonly<Record<string, string>>;
    assert.deepEqual([found['name'], found['openapi']], ['Till', '/api/docs/openapi.json']);
  },
);
