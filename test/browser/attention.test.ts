import assert from 'node:assert/strict';
import { createPastDue } from '../support/past-due.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld, startConsole } from './support/browser-test.ts';
import { createWorld } from './support/world.ts';

browserTest(
  'without anything urgent, the page says that all is well',
  async ({ page, open }) => {
    await open('/console/attention');
    await page.getByText('All is well: nothing needs attention.').waitFor();
    await page.getByText('No dispute needs a response.').waitFor();
    await expectAccessible(page);
  },
  { on: startConsole },
);

browserTest(
  'what needs attention is one click from the overview, and each row leads to its page',
  async ({ page, till, open }) => {
    // It moves the clock, and disputes have deadlines.
    const { subscription } = await createPastDue(till);
    const { customer, payments } = await createWorld(till);
    await till.settle();
    await open('/console');
    await page.getByText('1 failed webhook event').waitFor();
    await page.getByRole('main').getByRole('link', { name: 'Needs attention' }).click();
    await page.getByRole('heading', { level: 1, name: 'Needs attention' }).waitFor();
    const pastDue = page.getByRole('table', { name: 'Past-due subscriptions' });
    await pastDue.getByText('€9.00').waitFor();
    await expectAccessible(page);
    await pastDue.getByRole('rowheader').getByRole('link').click();
    await page.waitForURL(new RegExp(`/subscriptions/${subscription.id}$`));
    await page.goBack();
    await page
      .getByRole('table', { name: 'Failed webhook events' })
      .getByRole('link', { name: 'invoice.paid' })
      .waitFor();
    const disputes = page.getByRole('table', { name: 'Disputes to respond to' });
    assert.equal(
      await disputes.getByRole('link', { name: 'Ada Lovelace' }).getAttribute('href'),
      `/console/customers/${customer.id}`,
    );
    await disputes.getByRole('link', { name: '€77.00' }).click();
    await page.waitForURL(new RegExp(`/payments/${payments.disputed.id}$`));
  },
  { on: startConsole },
);

browserTest('a reader sees disputes and past-due subscriptions only', async ({ page, open }) => {
  await sharedWorld();
  await open('/console/attention', { scopes: ['read'] });
  await page.getByRole('heading', { name: 'Past-due subscriptions' }).waitFor();
  assert.equal(await page.getByRole('heading', { name: 'Failed webhook events' }).count(), 0);
});
