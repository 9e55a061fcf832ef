import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { migrate } from '#core/platform/migrate.ts';
import { migrationsFolder } from '#runtime/composition/compose-database.ts';
import { PostgresServer } from '../faults/rig/postgres-server.ts';
import { startBackend } from '../support/backend.ts';
import { silentLogger as logger } from '../support/log-capture.ts';
import { createCustomer, createPlan } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { startTillOnLine } from '../support/till-on-line.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest } from './support/browser-test.ts';

const live = (page: Page) => page.locator('.top .live');
/** The dot beside the word. */
const dotColour = (page: Page) =>
  page.evaluate<string>("getComputedStyle(document.querySelector('.top .live'), '::before').backgroundColor");
const noColour = 'rgba(0, 0, 0, 0)';
const outage = (page: Page) => page.getByText('Database unavailable', { exact: true });
const openPage = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name }).click();

let server: PostgresServer;
browserTest(
  'while the database is frozen nothing is “Live”, and every view recovers by itself',
  async ({ page, till, problems, open }) => {
    problems.expect(/503/);
    await createCustomer(till, { name: 'Grace Hopper' });
    await createPlan(till, { name: 'Gold' });
    await open('/console/customers');
    await page.getByText('Grace Hopper').waitFor();
    await live(page).getByText('Live', { exact: true }).waitFor();
    assert.notEqual(await dotColour(page), noColour);
    server.freeze();
    await live(page).getByText('Connecting').waitFor();
    assert.equal(await dotColour(page), noColour);
    await openPage(page, 'Plans');
    await outage(page).waitFor();
    await page.getByText('It is tried again every few seconds.').waitFor();
    await expectAccessible(page);
    server.thaw();
    await page.getByText('Gold', { exact: true }).first().waitFor();
    await outage(page).waitFor({ state: 'detached' });
    await live(page).getByText('Live', { exact: true }).waitFor();
    await createPlan(till, { name: 'Silver' });
    await page.getByText('Silver', { exact: true }).first().waitFor();
  },
  {
    on: async (t) => {
      server = await PostgresServer.start();
      t.after(() => server.remove());
      await migrate({ url: server.url, folder: migrationsFolder, logger });
      const backend = await startBackend(t, { databaseUrl: server.url });
      return startTill({ in: 'process', on: backend, hasConsole: true });
    },
  },
);

let line: Awaited<ReturnType<typeof startTillOnLine>>['line'];
browserTest(
  'a tab that is opened without a database shows its page once there is one',
  async ({ page, till, problems, open }) => {
    problems.expect(/503/);
    // No event makes this page load again.
    await till.post('/api-keys', { name: 'shop', scopes: ['write'] });
    await open('/console/api-keys');
    const key = page.getByText('shop', { exact: true }).first();
    await key.waitFor();
    await live(page).getByText('Live', { exact: true }).waitFor();
    line.cut();
    await live(page).getByText('Connecting').waitFor();
    await page.reload();
    await outage(page).waitFor();
    line.repair();
    await key.waitFor();
    line.cut();
    await openPage(page, 'Audit log');
    await outage(page).waitFor();
    line.repair();
    await page.locator('table').getByText('Create API key').first().waitFor();
    await live(page).getByText('Live', { exact: true }).waitFor();
  },
  {
    on: async (t) => {
      const started = await startTillOnLine(t, { hasConsole: true });
      ({ line } = started);
      return started.till;
    },
  },
);
