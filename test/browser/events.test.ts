import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { deliveryCalls, patientRetryDelayMs } from '../support/deliveries.ts';
import { startEventSink } from '../support/event-sink.ts';
import { createCustomer } from '../support/objects.ts';
import { startTill } from '../support/till.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest } from './support/browser-test.ts';

const startDelivering = (t: TestContext) =>
  startTill({
    ...{ in: 'process', for: t, hasConsole: true, delivers: true },
    events: { allowPrivate: true, retryDelayMs: patientRetryDelayMs },
  });

browserTest(
  'support sees what was sent to the application about a customer, and sends it again in three clicks',
  async ({ page, till, open }, t) => {
    const { recorded, retryNow } = deliveryCalls(till);
    let status = 503;
    const sink = await startEventSink(t, (response) => response.writeHead(status).end('down'));
    const endpoint = await till.post<{ readonly id: string }>('/event-endpoints', { url: sink.url });
    const customer = await createCustomer(till, { name: 'Ada Lovelace', email: 'ada@example.com' });
    await recorded(endpoint, 'pending', 1);

    await open(`/console/customers/${customer.id}`);
    await page.getByRole('link', { name: 'Event', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'customer.created' }).waitFor();
    const payload = page.getByRole('region', { name: 'Payload' });
    await payload.getByText('"ada@example.com"').waitFor();
    const deliveries = page.getByRole('table', { name: 'Deliveries' });
    await deliveries.getByText(/^Failing: 1 attempt, next (in \d|now)/).waitFor();
    await deliveries.getByRole('link', { name: sink.url }).waitFor();
    await page.getByRole('main').getByRole('link', { name: 'Ada Lovelace', exact: true }).waitFor();
    await expectAccessible(page);

    status = 204;
    await page.getByRole('button', { name: 'Resend' }).click();
    const dialog = page.getByRole('dialog');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Resend' }).click();
    await page.getByText('Resent to 1 endpoint').waitFor();
    await deliveries.getByText('Succeeded').waitFor();
    assert.equal(sink.received.at(-1)?.text, sink.received[0]?.text);

    // All that failed at an endpoint.
    status = 500;
    await till.call('PATCH', `/customers/${customer.id}`, { name: 'Ada King' });
    await recorded(endpoint, 'pending', 1);
    await retryNow(', give_up_at = now()');
    await recorded(endpoint, 'failed', 1);
    status = 204;
    await page.getByRole('link', { name: sink.url }).click();
    await page.getByText('Failed: 2 attempts').waitFor();
    await page.getByLabel('Status').selectOption('failed');
    const row = page.getByRole('row', { name: 'customer.updated' });
    await row.getByRole('link', { name: 'customer', exact: true }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Resend all failed' }).click();
    await dialog.getByRole('button', { name: 'Resend all failed' }).click();
    await page.getByText('1 event sent again').waitFor();
    await recorded(endpoint, 'succeeded', 2);
    await page.getByRole('button', { name: 'Resend all failed' }).click();
    await dialog.getByRole('button', { name: 'Resend all failed' }).click();
    await page.getByText('Nothing has failed here').waitFor();
  },
  { on: startDelivering },
);

browserTest(
  'events are listed newest first, with filters and pages in the address, and need only the scope to read',
  async ({ page, till, open }) => {
    const customer = await createCustomer(till, { email: 'events@example.com' });
    for (let index = 0; index < 30; index += 1)
      await till.call('PATCH', `/customers/${customer.id}`, { name: `Ada ${index}` });
    await open(`/console/events?customerId=${customer.id}`, { scopes: ['read'] });
    const table = page.getByRole('table', { name: 'Events' });
    await table.waitFor();
    assert.equal(await table.getByRole('row').count(), 26);
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: 'customer.created' }).waitFor();
    assert.equal(await table.getByRole('row').count(), 7);
    // A cursor leads only forward, but the tab knows where it came from, even after a reload.
    await page.reload();
    await page.getByRole('link', { name: 'Previous page' }).click();
    await page.getByRole('link', { name: 'Next page' }).waitFor();
    assert.equal(await table.getByRole('row').count(), 26);
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.getByRole('link', { name: 'customer.created' }).waitFor();
    await page.getByLabel('Type').selectOption('customer.created');
    await page.getByRole('link', { name: 'customer.updated' }).first().waitFor({ state: 'detached' });
    await table.waitFor();
    assert.equal(await table.getByRole('row').count(), 2);
    await page.getByRole('link', { name: 'customer.created' }).click();
    await page.getByRole('region', { name: 'Payload' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Resend' }).count(), 0);
  },
);
