import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import type { Download, Page, Request, Route } from 'playwright-core';
import { testKey } from '../support/client.ts';
import { readCsv } from '../support/csv.ts';
import { createCustomer } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { until } from '../support/until.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, createKey, signIn } from './support/browser-test.ts';
import { focused, moveTo } from './support/keyboard.ts';

const fileRows = 2;
const names = ['Ada', 'Grace', 'Hedy', 'Joan', 'Radia'];

/** A Till whose list of customers takes three files. */
async function withFiveCustomers(life: TestContext) {
  const till = await startTill({ in: 'process', for: life, hasConsole: true, csvLimits: { fileRows } });
  for (const name of names) await createCustomer(till, { name, email: `${name.toLowerCase()}@example.com` });
  return till;
}

const exportButton = (page: Page) => page.getByRole('button', { name: 'Export CSV' });
const panel = (page: Page) => page.getByRole('region', { name: 'Export', exact: true });
const isExport = (request: Request) => request.headers()['accept'] === 'text/csv';

/** The files that the browser saves, and the addresses that they come from. */
function watchExport(page: Page) {
  const downloads: Download[] = [];
  const requests: URL[] = [];
  page.on('download', (download) => downloads.push(download));
  page.on('request', (request) => {
    if (isExport(request)) requests.push(new URL(request.url()));
  });
  return {
    requests,
    downloads,
    names: () => downloads.map((download) => download.suggestedFilename()),
    customers: async () => {
      const files = await Promise.all(
        downloads.map(async (download) => readCsv(await readFile(await download.path(), 'utf8'))),
      );
      return files.map((rows) => rows.map(({ name }) => name));
    },
  };
}

/** Answers some requests for a file in place of Till: those for which `answer` returns something. */
function intercept(page: Page, answer: (file: number, route: Route) => Promise<void> | undefined) {
  let file = 0;
  return page.route(/\/customers(\?|$)/, (route) => {
    if (!isExport(route.request())) return route.fallback();
    file += 1;
    return answer(file, route) ?? route.fallback();
  });
}

const three = ['customers-part-1.csv', 'customers-part-2.csv', 'customers-part-3.csv'];

browserTest(
  'one click saves all files of a filtered list in its order, each row once',
  async ({ page, open }) => {
    const files = watchExport(page);
    await open('/console/customers?q=example&sort=createdAt');
    await exportButton(page).click();
    await panel(page).getByText('All 5 rows saved in 3 files.').waitFor();
    assert.deepEqual(files.names(), three);
    assert.deepEqual(await files.customers(), [['Ada', 'Grace'], ['Hedy', 'Joan'], ['Radia']]);
    await expectAccessible(page, 'a finished export', 'all');
    // The browser may have held a file back.
    const again = page.waitForEvent('download');
    await panel(page).getByRole('link', { name: 'customers-part-2.csv' }).click();
    assert.equal(await readFile(await (await again).path(), 'utf8'), await textOf(files.downloads[1]));
    await panel(page).getByRole('button', { name: 'Close' }).click();
    await panel(page).waitFor({ state: 'detached' });
    // A list that fits in a file is saved without part numbers.
    await open('/console/customers?q=Grace');
    await page.getByRole('cell', { name: 'grace@example.com' }).waitFor();
    await exportButton(page).click();
    await page.getByText('customers.csv is saved.').waitFor();
    assert.equal(files.names().at(-1), 'customers.csv');
    assert.deepEqual((await files.customers()).at(-1), ['Grace']);
    assert.equal(await panel(page).count(), 0);
  },
  { on: withFiveCustomers },
);

browserTest(
  'an export that fails in the middle stays on every page, and continues after the last complete file',
  async ({ page, open, problems }) => {
    problems.expect(/ERR_CONNECTION_RESET/);
    const files = watchExport(page);
    await open('/console/customers');
    await intercept(page, (file, route) => (file === 2 ? route.abort('connectionreset') : undefined));
    await exportButton(page).click();
    await panel(page).getByText('2 of 5 rows saved. The second file is missing.').waitFor();
    await expectAccessible(page, 'a stopped export', 'all');
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Plans' }).click();
    await page.getByRole('heading', { level: 1, name: 'Plans' }).waitFor();
    // No other export begins before the user has decided about this one.
    await exportButton(page).click();
    await until(async () => (await page.evaluate('document.activeElement.id')) === 'export');
    await moveTo(page, 'Continue');
    await page.keyboard.press('Enter');
    await panel(page).getByText('All 5 rows saved in 3 files.').waitFor();
    // The button is gone.
    await until(async () => (await focused(page)).includes('All 5 rows'));
    assert.deepEqual(files.names(), three);
    assert.deepEqual((await files.customers()).flat().toSorted(), names);
    const cursors = files.requests.map(({ searchParams }) => searchParams.get('cursor'));
    assert.equal(cursors.length, 4);
    assert.equal(cursors[1], cursors[2]);
    assert.equal(new Set(cursors).size, 3);
  },
  { on: withFiveCustomers },
);

browserTest(
  'a file that breaks off within a row, and the page of a proxy, are not saved',
  async ({ page, open }) => {
    const files = watchExport(page);
    await open('/console/customers');
    const answers = [
      { contentType: 'text/csv; charset=utf-8', body: 'id,name\r\n1,"Ad' },
      { contentType: 'text/html', body: '<p>Log in to this network</p>' },
    ];
    await intercept(page, (file, route) => {
      const answer = answers[file - 1];
      return answer === undefined ? undefined : route.fulfill(answer);
    });
    await exportButton(page).click();
    await panel(page).getByText('Till could not be reached').waitFor();
    await panel(page).getByRole('button', { name: 'Try again' }).click();
    await panel(page).getByText('could not be read').waitFor();
    assert.deepEqual(files.names(), []);
    await panel(page).getByRole('button', { name: 'Try again' }).click();
    await panel(page).getByText('All 5 rows saved in 3 files.').waitFor();
    assert.deepEqual(files.names(), three);
  },
  { on: withFiveCustomers },
);

browserTest(
  'a second click starts nothing, a busy server is asked again, and a canceled export keeps its files',
  async ({ page, open, problems }) => {
    problems.expect(/503/);
    const files = watchExport(page);
    await open('/console/customers');
    const busy = {
      type: 'about:blank',
      title: 'Overloaded',
      status: 503,
      code: 'overloaded',
      detail: 'Busy.',
    };
    const waiting: Route[] = [];
    await intercept(page, (file, route) => {
      if (file === 2) return route.fulfill({ status: 503, headers: { 'retry-after': '1' }, json: busy });
      if (file === 3) waiting.push(route);
      return file === 3 ? Promise.resolve() : undefined;
    });
    await exportButton(page).dblclick();
    await panel(page).getByText('2 of 5 rows saved. Overloaded: the second file is tried again.').waitFor();
    await until(() => waiting.length === 1);
    await page.getByRole('button', { name: 'Exporting…' }).click();
    const progress = panel(page).getByRole('progressbar', { name: 'Rows of customers' });
    assert.equal(await progress.getAttribute('aria-valuetext'), '2 of 5 rows');
    await expectAccessible(page, 'a running export', 'all');
    await panel(page).getByRole('button', { name: 'Cancel export' }).dblclick();
    await panel(page)
      .getByText('2 of 5 rows saved. The second file is missing. You have canceled it.')
      .waitFor();
    assert.equal(files.requests.length, 3);
    await panel(page).getByRole('button', { name: 'Continue' }).click();
    await panel(page).getByText('All 5 rows saved in 3 files.').waitFor();
    assert.deepEqual(files.names(), three);
    assert.deepEqual((await files.customers()).flat().toSorted(), names);
  },
  { on: withFiveCustomers },
);

browserTest(
  'an export that the end of the session stops can be continued by the same user only',
  async ({ page, till, problems }) => {
    problems.expect(/401 /);
    const files = watchExport(page);
    const { id, key } = await createKey(till, ['read']);
    await page.goto(`${till.url}/console/customers`);
    await signIn(page, testKey);
    await intercept(page, (file, route) => {
      if (file === 2) return till.call('DELETE', `/api-keys/${id}`).then(() => route.fallback());
      // Till ends this one with the session.
      return file === 5 ? page.getByRole('button', { name: 'Sign out' }).click() : undefined;
    });
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, key);
    await exportButton(page).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in to Till' }).waitFor();
    await signIn(page, testKey);
    await exportButton(page).waitFor();
    assert.equal(await panel(page).count(), 0);
    assert.deepEqual(files.names(), three.slice(0, 1));
    await exportButton(page).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in to Till' }).waitFor();
    await signIn(page, testKey);
    await panel(page)
      .getByText('4 of 5 rows saved. The third file is missing. The session has ended.')
      .waitFor();
    assert.equal(await panel(page).getByRole('link').count(), 0);
    await panel(page).getByRole('button', { name: 'Continue' }).click();
    await panel(page).getByText('All 5 rows saved in 3 files.').waitFor();
    assert.deepEqual(files.names().slice(1), three);
  },
  { on: withFiveCustomers },
);

async function textOf(download: Download | undefined): Promise<string> {
  assert(download !== undefined);
  return readFile(await download.path(), 'utf8');
}
