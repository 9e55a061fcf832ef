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
    // More than the page shows, and as many that need no response.
    await till.sql(
      `insert into till.payments (id, processor_payment_intent_id, customer_id, metadata, amount, amount_received,
         amount_refunded, currency, intent_status, dispute, processor_as_of, processor_as_of_latest, created_at, updated_at)
       select gen_random_uuid(), 'pi_copy_' || state || n, customer_id, '{}', amount, amount, 0, currency,
         intent_status, dispute || jsonb_build_object('status', state), now(), now(), now(), now()
       from till.payments, generate_series(1, 21) as n, unnest(array['warning_needs_response', 'won']) as state
       where id = $1`,
      [payments.disputed.id],
    );
    await till.sql(
      `insert into till.idempotency_claims (operation, key_name, key, request_hash, resource_id, parent_id, attempted_at,
         owner, leased_until, created_at)
       values ('payments.create', 'shop', 'unsettled', '', gen_random_uuid(), $1, now(), 0, now() - interval '1 hour', now())`,
      [customer.id],
    );
    await open('/console/attention');
    assert.equal(
      await page
        .getByRole('table', { name: 'Interrupted requests' })
        .getByRole('link', { name: /^Customer/ })
        .getAttribute('href'),
      `/console/customers/${customer.id}`,
    );
    await page.getByRole('link', { name: 'All 22' }).click();
    await page.getByRole('heading', { level: 1, name: 'Payments' }).waitFor();
    await page.getByText('22 payments', { exact: true }).waitFor();
  },
  { on: startConsole },
);

browserTest('a reader sees disputes and past-due subscriptions only', async ({ page, open }) => {
  await sharedWorld();
  await open('/console/attention', { scopes: ['read'] });
  await page.getByRole('heading', { name: 'Past-due subscriptions' }).waitFor();
  assert.equal(await page.getByRole('heading', { name: 'Failed webhook events' }).count(), 0);
});
