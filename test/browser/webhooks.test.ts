import assert from 'node:assert/strict';
import { eventOf } from '../support/webhook-events.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, startConsole } from './support/browser-test.ts';

const failing = (name: string) =>
  eventOf('invoice.paid.newer', { id: `in_${name}`, status: 'lost' }, { id: `evt_${name}` });

browserTest(
  'failed webhook events come first, show their error, and can all be replayed',
  async ({ page, till, open }) => {
    await till.take(failing('one'), failing('two'), eventOf('balance.available', {}, { id: 'evt_other' }));
    await open('/console/webhook-events');
    const failed = page.getByRole('table', { name: 'Failed webhook events' });
    await failed.waitFor();
    assert.equal(await failed.getByRole('row').count(), 3);
    await page.getByRole('button', { name: 'Replay all failed' }).click();
    await page.getByRole('dialog').getByText('2 webhook events').waitFor();
    await page.getByRole('button', { name: 'Replay all', exact: true }).click();
    await page.getByText('2 failed webhook events pending again').waitFor();
    await failed.waitFor({ state: 'detached' });
    const { total } = await till.get<{ total: number }>('/webhook-events?state=pending');
    assert.equal(total, 2);
  },
  { on: startConsole },
);

browserTest(
  'a webhook event shows its redacted payload, and is replayed on its own',
  async ({ page, till, open }) => {
    await till.take(failing('alone'));
    await open('/console/webhook-events');
    await page.getByLabel('State').selectOption('failed');
    assert.match(page.url(), /state=failed/);
    await page.getByRole('row', { name: 'in_alone' }).getByRole('link', { name: 'invoice.paid' }).click();
    await page.getByRole('heading', { level: 1, name: 'invoice.paid' }).waitFor();
    await page.getByRole('region', { name: 'Payload' }).getByText('"in_alone"').waitFor();
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
    await page.getByText('Pending', { exact: true }).waitFor();
    // Nothing changes in Till, and the page shows how it ended all the same.
    await till.settle();
    await page.getByText('Failed', { exact: true }).waitFor();
  },
);

browserTest('a resync shows how far it is and what it corrected', async ({ page, till, open }) => {
  await till.setFault({ operation: 'customers.list', kind: 'hang', times: 1 });
  await open('/console/resyncs');
  await page.getByText('No resync was started here yet.').waitFor();
  await page.getByRole('button', { name: 'Start a resync' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Start' }).click();
  await page.getByRole('heading', { name: 'Running' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Start a resync' }).isDisabled(), true);
  await expectAccessible(page);
  await till.clearFaults();
  await page.getByText('Finished').waitFor();
  assert.equal(await page.getByRole('heading', { name: 'Running' }).count(), 0);
});
