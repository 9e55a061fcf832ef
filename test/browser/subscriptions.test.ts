import assert from 'node:assert/strict';
import { createCustomer, createPlan, createSubscription, type SubscriptionBody } from '../support/objects.ts';
import { subscribe } from '../support/subscribed.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld } from './support/browser-test.ts';

browserTest('subscriptions can be filtered by the name of their plan', async ({ page, till, open }) => {
  const plan = await createPlan(till, { name: 'Titanium' });
  const { subscription } = await createSubscription(till, { planId: plan.id, quantity: 3 });
  await sharedWorld();
  await open('/console/subscriptions');
  await page.getByRole('link', { name: '3 × Titanium' }).waitFor();
  await page.getByLabel('Plan').selectOption({ label: 'Titanium' });
  await page.getByText('1 subscription', { exact: true }).waitFor();
  assert.equal(new URL(page.url()).search, `?planId=${plan.id}`);
  const row = page.getByRole('row', { name: '3 × Titanium' });
  assert.match((await row.textContent()) ?? '', /ada@example\.com3 × €9\.00 per monthIncompleteNoRenews/);
  await row.getByRole('link', { name: 'Titanium' }).click();
  await page.getByRole('heading', { level: 1, name: '3 × Titanium' }).waitFor();
  assert.equal(new URL(page.url()).pathname, `/console/subscriptions/${subscription.id}`);
});

browserTest('a filter from a link can be removed', async ({ page, till, open }) => {
  const customer = await createCustomer(till);
  await sharedWorld();
  await open(`/console/subscriptions?customerId=${customer.id}`);
  await page.getByText('No subscription matches.').waitFor();
  await page.getByRole('button', { name: 'Remove the filter Customer' }).click();
  await page.getByRole('table', { name: 'Subscriptions' }).waitFor();
  assert.equal(new URL(page.url()).search, '');
});

browserTest(
  'a subscription shows what it is, why it entitles, and what belongs to it (320 px, light and dark)',
  async ({ page, open }) => {
    const { active, plan, customer, invoiceId } = await sharedWorld();
    await open(`/console/subscriptions/${active.id}`);
    await page.getByRole('heading', { level: 1, name: 'Gold' }).waitFor();
    await page.getByText(/^Yes: the subscription is active, until /).waitFor();
    await page.getByText('Visa •••• 4242').first().waitFor();
    for (const [name, href] of [
      [plan.name, `/console/plans/${plan.id}`],
      ['Ada Lovelace', `/console/customers/${customer.id}`],
      [invoiceId, `/console/invoices/${invoiceId}`],
    ] as const)
      assert.equal(await page.getByRole('link', { name, exact: true }).getAttribute('href'), href);
    const amounts = page.getByRole('region', { name: 'Payments' }).getByRole('link');
    assert.equal(await amounts.textContent(), '€9.00');
    await page.getByText('Subscription created').waitFor();
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page, 'dark', 'colours');
    const overflow = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    assert.equal(overflow, 0);
  },
  { viewport: { width: 320, height: 800 } },
);

browserTest('a key that may only read sees no actions', async ({ page, open }) => {
  const { active } = await sharedWorld();
  await open(`/console/subscriptions/${active.id}`, { scopes: ['read'] });
  await page.getByText('Subscription created').waitFor();
  assert.equal(await page.getByRole('button', { name: /Cancel|Change/ }).count(), 0);
});

browserTest('a subscription can be canceled at its period’s end, kept, and canceled at once', async (tab) => {
  const { page, till, open } = tab;
  const { id } = await subscribe(till);
  const read = () => till.get<SubscriptionBody>(`/subscriptions/${id}`);
  const dialog = page.getByRole('dialog');
  const act = async (button: string, saying: RegExp, reason = '') => {
    await page.getByRole('button', { name: button }).click();
    await dialog.getByText(saying).first().waitFor();
    if (reason !== '') await dialog.getByLabel('Reason').fill(reason);
    await expectAccessible(page, button);
    // The second click arrives before the first request has its response.
    await dialog.getByRole('button', { name: button }).dblclick();
    await dialog.waitFor({ state: 'detached' });
  };
  const writes: string[] = [];
  page.on('request', (request) => {
    if (!['GET', 'HEAD'].includes(request.method())) writes.push(request.method());
  });
  await open(`/console/subscriptions/${id}`);
  await act(
    'Cancel at period end',
    /Gold \(€9\.00 per day\) goes on until .* and ends then/,
    'Too expensive',
  );
  await page.getByText(/^Ends on /).waitFor();
  await page.getByRole('definition').getByText('Too expensive', { exact: true }).first().waitFor();
  const ending = await read();
  assert.deepEqual([ending.cancelAtPeriodEnd, ending.cancellationReason], [true, 'Too expensive']);
  await act(
    'Keep it',
    /It renews on .+, and the customer is charged for Gold \(€9\.00 per day\)\. Nothing is charged now\./,
  );
  await page.getByText(/^Ends on /).waitFor({ state: 'detached' });
  const kept = await read();
  assert.deepEqual([kept.cancelAtPeriodEnd, kept.cancellationReason], [false, null]);
  await act('Cancel now', /Nothing is refunded, not even for the rest of the period until /, 'Moved away');
  await page.getByRole('button', { name: 'Cancel now' }).waitFor({ state: 'detached' });
  const ended = await read();
  assert.deepEqual([ended.status, ended.cancellationReason], ['canceled', 'Moved away']);
  assert.deepEqual(writes, ['PATCH', 'PATCH', 'DELETE']);
});
