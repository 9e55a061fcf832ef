import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import {
  confirmSecret,
  createCustomer,
  createPaidPayment,
  createPlan,
  createSubscription,
} from '../support/objects.ts';
import { until } from '../support/until.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld, startConsole } from './support/browser-test.ts';

/** The number of a tile in the section of a currency. */
const tile = (page: Page, label: string) =>
  page
    .locator('.tile')
    .filter({ has: page.getByText(label, { exact: true }) })
    .locator('.tile-value');

browserTest(
  'volume and disputes of the overview link to the rows that they count',
  async ({ page, open }) => {
    await sharedWorld();
    await open('/console');
    const yen = page.locator('section').filter({ has: page.getByRole('heading', { name: 'JPY' }) });
    const volume = yen.locator('.tile').filter({ has: page.getByText('Volume', { exact: true }) });
    await volume.getByRole('link', { name: '¥5,400' }).click();
    await page.getByRole('heading', { level: 1, name: 'Payments' }).waitFor();
    await page.getByText('1 payment', { exact: true }).waitFor();
    await page.getByRole('link', { name: '¥5,400' }).waitFor();
    await page.goBack();
    const euro = page.locator('section').filter({ has: page.getByRole('heading', { name: 'EUR' }) });
    const disputes = euro.locator('.tile').filter({ has: page.getByText('Disputes', { exact: true }) });
    assert.equal(await disputes.locator('.tile-value').textContent(), '1');
    await disputes.getByRole('link').click();
    await page.getByText('1 payment', { exact: true }).waitFor();
  },
);

browserTest(
  'the range of the overview is in the address, and its charts are tables too',
  async ({ page, open }) => {
    await sharedWorld();
    await open('/console');
    await page.getByRole('link', { name: '7 days' }).click();
    await page.waitForURL(/from=.*to=/);
    const euro = page.locator('section').filter({ has: page.getByRole('heading', { name: 'EUR' }) });
    await euro.getByText('Volume per day as a table').click();
    const table = euro.getByRole('table', { name: 'Volume per day' });
    await table.waitFor();
    assert.equal(await table.getByRole('row').count(), 8);
    await expectAccessible(page);
  },
);

browserTest(
  'two clicks show how revenue moved in a quarter, and compare it with the quarter before',
  async ({ page, till, open, problems }) => {
    const plan = await createPlan(till, { amount: 1_000 });
    const subscriptions = [];
    for (const quantity of [1, 2]) {
      const { subscription, clientSecret } = await createSubscription(till, { planId: plan.id, quantity });
      await confirmSecret(till, clientSecret);
      subscriptions.push(subscription);
    }
    await till.settle();
    // As if they had subscribed two quarters ago.
    await till.sql(
      `update till.overview_progress set since = date_trunc('quarter', now()) - interval '9 months'`,
    );
    const dateBack = (months: number) =>
      till.sql(
        `update till.events set created_at = date_trunc('quarter', now()) - make_interval(months => $1) + interval '9 days'
         where position > (select position from till.overview_progress)`,
        [months],
      );
    await dateBack(6);
    await till.get('/overview');
    await till.call('DELETE', `/subscriptions/${subscriptions[0]?.id}`);
    await till.settle();
    await dateBack(3);
    await open('/console');
    await page.getByRole('link', { name: 'Last quarter' }).click();
    const bridge = page.locator('.bridge');
    await bridge.getByText('= €20.00').waitFor();
    assert.equal(
      (await bridge.locator('dd').allTextContents()).join(' '),
      ' €30.00 + €0.00 + €0.00 + €0.00 − €0.00 − €10.00 = €20.00',
    );
    await tile(page, 'Churn rate').getByText('50%').waitFor();
    await page.getByText('-33.3% from €30.00 before.').first().waitFor();
    // What subscriptions were worth in the past has no rows.
    assert.equal(await bridge.getByRole('link', { name: '€20.00' }).count(), 0);
    await bridge.getByRole('link', { name: '€10.00' }).click();
    await page.getByRole('heading', { level: 1, name: 'Changes of subscriptions' }).waitFor();
    const changes = page.getByRole('table', { name: 'Changes of subscriptions' });
    await changes.getByRole('link', { name: 'Churned' }).waitFor();
    assert.equal(await changes.getByRole('row').count(), 2);
    assert.equal(
      await changes.getByRole('link', { name: 'Churned' }).getAttribute('href'),
      `/console/subscriptions/${subscriptions[0]?.id}`,
    );
    await page.goBack();
    await page.getByRole('link', { name: '1 lost' }).click();
    await changes.getByText('€10.00').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: '30 days' }).click();
    await bridge.getByRole('link', { name: '€20.00' }).click();
    await page.getByRole('heading', { level: 1, name: 'Subscribers' }).waitFor();
    await page.getByRole('table', { name: 'Subscribers' }).getByText('€20.00').waitFor();
    problems.expect(/ 400 .*\/overview\/subscribers/);
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await page.getByText('Choose a value for Currency.').waitFor();
    await page.goBack();
    await page.getByRole('table', { name: 'Subscribers' }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Last quarter' }).click();
    await page.getByRole('link', { name: 'By month' }).click();
    await page.waitForURL(/interval=month/);
    await page.getByText('Monthly recurring revenue as a table').click();
    const table = page.getByRole('table', { name: 'Monthly recurring revenue' });
    assert.equal(await table.getByRole('row').count(), 4);
    assert.deepEqual(await page.locator('.chart-axis').first().locator('span').allTextContents(), [
      ...['€20.00', '€10.00', '€0.00'],
    ]);
    await expectAccessible(page);
  },
  { on: startConsole },
);

browserTest('days are typed with the keyboard, and can be corrected', async ({ page, open, problems }) => {
  await sharedWorld();
  await open('/console');
  await page.getByLabel('From (UTC)').focus();
  await page.keyboard.type('02032020');
  await page.keyboard.press('Enter');
  problems.expect(/ 400 .*\/overview/);
  await page.getByText('must be at most 366 days before').waitFor();
  await page.getByLabel('To (UTC)').focus();
  await page.keyboard.type('12312020');
  await page.keyboard.press('Enter');
  await page.waitForURL(/from=2020-02-03&to=2020-12-31$/);
  await page.getByRole('heading', { name: 'EUR' }).waitFor();
});

browserTest('a day that is typed before anything is loaded stays', async ({ page, open }) => {
  await sharedWorld();
  // Types in the moment in which the field appears.
  await page.addInitScript(`
    new MutationObserver((_changes, observer) => {
      const field = document.querySelector('input[type=date]');
      if (field === null) return;
      observer.disconnect();
      field.value = '2020-02-03';
      field.dispatchEvent(new Event('input', { bubbles: true }));
    }).observe(document, { childList: true, subtree: true });
  `);
  await open('/console');
  await page.getByRole('heading', { name: 'EUR' }).waitFor();
  assert.equal(await page.getByLabel('From (UTC)').inputValue(), '2020-02-03');
});

browserTest(
  'a live update does not change a day that is half typed',
  async ({ page, till, open }) => {
    const today = new Date().toISOString().slice(0, 10);
    const year = Number(today.slice(0, 4)) - (today < `${today.slice(0, 4)}-01-31` ? 1 : 0);
    await open(`/console?from=${year}-01-31&to=${today}`);
    await page.getByText('Numbers appear with the first one.').waitFor();
    const from = page.getByLabel('From (UTC)');
    await from.focus();
    // No day, until the day of the month follows.
    await page.keyboard.type('02');
    assert.equal(await from.inputValue(), '');
    const { id: customerId } = await createCustomer(till);
    await createPaidPayment(till, { customerId, amount: 4_200 });
    await till.settle();
    await tile(page, 'Volume').getByText('€42.00').waitFor();
    assert.equal(await from.inputValue(), '');
    await page.keyboard.type('03');
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`from=${year}-02-03&to=${today}$`));
    await page.goBack();
    await page.waitForURL(new RegExp(`from=${year}-01-31&to=${today}$`));
    await until(
      async () => (await page.locator('input[type=date]').first().inputValue()) === `${year}-01-31`,
    );
  },
  { on: startConsole },
);

browserTest(
  'the overview is empty at first, and counts a payment as soon as it is paid',
  async ({ page, till, open }) => {
    await open('/console');
    await page.getByText('Numbers appear with the first one.').waitFor();
    await page.getByText('All is well: nothing needs attention.').waitFor();
    await expectAccessible(page);
    const { id: customerId } = await createCustomer(till);
    await createPaidPayment(till, { customerId, amount: 4_200 });
    await till.settle();
    await tile(page, 'Volume').getByText('€42.00').waitFor();
  },
  { on: startConsole },
);

browserTest(
  'on a phone the days of the overview can be chosen, and changes are listed by the same periods',
  async ({ page, open }) => {
    const lastYear = new Date().getUTCFullYear() - 1;
    const range = `from=${lastYear}-01-01&to=${lastYear}-12-31`;
    await open('/console');
    await page.getByRole('link', { name: 'Last year' }).click();
    await page.waitForURL(new RegExp(`${range}$`));
    await page.getByLabel('From (UTC)').waitFor();
    await expectAccessible(page);
    await open('/console/moves?currency=eur');
    await page.getByRole('button', { name: 'Filters (1)' }).click();
    assert.equal(await page.getByLabel('Days').locator('option').first().textContent(), 'Last 30 days');
    await page.getByLabel('Days').selectOption('Last year');
    await page.waitForURL(new RegExp(`${range}$`));
    await expectAccessible(page);
  },
  { viewport: { width: 390, height: 844 } },
);
