import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import {
  createCustomer,
  createPayment,
  createPlan,
  createSubscription,
  listCards,
  saveCard,
} from '../support/objects.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld } from './support/browser-test.ts';

const section = (page: Page, name: string) =>
  page.locator('section.section').filter({ has: page.getByRole('heading', { level: 2, name, exact: true }) });

const visa = (page: Page) =>
  section(page, 'Cards').getByRole('rowheader', { name: 'Visa •••• 4242' }).first();

browserTest(
  'the list of customers is filtered by a part of the e-mail or the name, and by external id',
  async ({ page, open, till }) => {
    await till.post('/customers', { email: 'Hopper@example.com', name: 'Hopper', externalId: 'user-1906' });
    const { customer } = await sharedWorld();
    await open('/console/customers');
    await page.getByRole('link', { name: 'Ada Lovelace' }).waitFor();
    await page.getByLabel('Name or e-mail').fill('gr');
    await page.keyboard.press('Enter');
    await page.getByText('Type at least 3 characters of the name or the e-mail.').waitFor();
    await page.getByRole('link', { name: 'Ada Lovelace' }).waitFor();
    await page.getByLabel('Name or e-mail').fill('pper@EXAMPLE');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Ada Lovelace' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Hopper' }).waitFor();
    assert.equal(new URL(page.url()).search, '?q=pper%40EXAMPLE');
    await page.getByRole('link', { name: 'Clear filters' }).click();
    await page.getByLabel('External id').fill('unknown');
    await page.keyboard.press('Enter');
    await page.getByText('No customer matches.').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Ada Lovelace' }).click();
    await page.getByRole('heading', { level: 1, name: 'Ada Lovelace' }).waitFor();
    assert.equal(new URL(page.url()).pathname, `/console/customers/${customer.id}`);
  },
);

browserTest(
  'the page of a customer shows who it is, why it is entitled, its objects, and what happened',
  async ({ page, open }) => {
    const { customer, active, payments } = await sharedWorld();
    await open(`/console/customers/${customer.id}`);
    await section(page, 'Identity').getByText(customer.processorCustomerId).waitFor();
    const entitlement = section(page, 'Entitlement');
    await entitlement.getByText('Yes: the subscription is active').waitFor();
    const until = await entitlement.locator('td time').getAttribute('datetime');
    assert.equal(until, active.currentPeriodEnd);
    await section(page, 'Subscriptions').getByRole('link', { name: 'Gold' }).waitFor();
    await section(page, 'Invoices').getByText('Paid', { exact: true }).first().waitFor();
    await visa(page).waitFor();

    const timeline = section(page, 'Timeline');
    await timeline.getByText('Payment of €120.00 partly refunded').waitFor();
    await timeline
      .getByText(/By the API key/)
      .first()
      .waitFor();
    assert.equal(await timeline.getByRole('listitem').count(), 20);
    await timeline.getByRole('button', { name: 'Show more' }).click();
    assert.ok((await timeline.getByRole('listitem').count()) > 20);
    await expectAccessible(page, 'the page of a customer');

    // More than ten payments: the list has the others, also those of subscriptions.
    await section(page, 'Payments').getByRole('link', { name: 'All payments' }).click();
    await page.getByRole('heading', { level: 1, name: 'Payments' }).waitFor();
    assert.equal(new URL(page.url()).search, `?customerId=${customer.id}&source=all`);
    await page.getByText('11 payments').waitFor();
    await page.getByRole('button', { name: 'Remove the filter Customer' }).click();
    await page.waitForURL('**/console/payments?source=all');
    assert.equal(payments.paid.customerId, customer.id);
  },
);

browserTest('the page of a customer reflows at 320 px', async ({ page, open }) => {
  const { customer } = await sharedWorld();
  await open(`/console/customers/${customer.id}`);
  await page.setViewportSize({ width: 320, height: 800 });
  await visa(page).waitFor();
  await section(page, 'Timeline').getByText('Payment of €120.00 partly refunded').waitFor();
  assert.equal(await page.evaluate<number>('document.documentElement.scrollWidth'), 320);
});

browserTest(
  'editing a customer sends only what changed, acts once, and the timeline shows who did it',
  async ({ page, open, till }) => {
    const customer = await createCustomer(till, { name: 'Ada', email: 'edit@example.com', phone: '+353 1' });
    await open(`/console/customers/${customer.id}`, { scopes: ['write'] });
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit customer' });
    const save = dialog.getByRole('button', { name: 'Save changes' });
    assert.equal(await save.isDisabled(), true);
    await dialog.getByLabel('E-mail').fill('wrong');
    await dialog.getByText('Enter an e-mail address.').waitFor();
    await dialog.getByLabel('E-mail').fill(customer.email);
    await dialog.getByLabel('Name').fill('Ada King');
    await dialog.getByLabel('Phone').fill('');
    await dialog.getByText('Name: Ada → Ada King').waitFor();
    await dialog.getByText('Phone: +353 1 → none').waitFor();
    await expectAccessible(page, 'the form of a customer');
    const sent = page.waitForRequest((request) => request.method() === 'PATCH');
    await save.dblclick();
    assert.deepEqual((await sent).postDataJSON(), { name: 'Ada King', phone: null });
    await page.getByRole('heading', { level: 1, name: 'Ada King' }).waitFor();
    assert.equal(await focusedText(page), 'Edit', 'the focus returns to the button');
    const entry = section(page, 'Timeline').getByRole('listitem').first();
    await entry.getByText('Customer changed').waitFor();
    await entry.getByText('By the API key tests.write').waitFor();
    await entry.getByText('Name, Phone').click();
    await entry.getByText('Ada King').waitFor();
    const { data } = await till.get<{ data: readonly { type: string }[] }>(`/events?objectId=${customer.id}`);
    assert.equal(data.filter(({ type }) => type === 'customer.updated').length, 1);
  },
);

browserTest(
  'a customer is deleted after its e-mail is typed, and its page then says so',
  async ({ page, open, till, problems }) => {
    const customer = await createCustomer(till, { name: 'Bob', email: 'bob@example.com' });
    await createSubscription(till, { customerId: customer.id, trialPeriodDays: 7 });
    await open(`/console/customers/${customer.id}`);
    await section(page, 'Entitlement').getByText('Yes: the trial lasts').waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete customer' });
    await dialog.getByText('1 subscription is canceled at once').waitFor();
    await dialog.getByText('This cannot be undone.').waitFor();
    const confirm = dialog.getByRole('button', { name: 'Delete customer' });
    await dialog.getByLabel(/^Type bob@example.com/).fill('bob@example.co');
    assert.equal(await confirm.isDisabled(), true);
    await expectAccessible(page, 'the deletion of a customer');
    problems.expect(/404/);
    await dialog.getByLabel(/^Type bob@example.com/).fill('bob@example.com');
    await confirm.click();
    await page.getByRole('heading', { level: 1, name: 'Customers' }).waitFor();
    await page.getByText('Customer deleted').waitFor();
    await page.goBack();
    await page.getByRole('heading', { level: 1, name: 'No such customer' }).waitFor();
    await section(page, 'Timeline').getByText('Customer deleted').waitFor();
    assert.equal((await page.locator('main').innerText()).includes('bob@example.com'), false);
    await expectAccessible(page, 'a deleted customer');
  },
);

browserTest(
  'a customer that is deleted elsewhere disappears from the open page',
  async ({ page, open, till, problems }) => {
    const customer = await createCustomer(till, { name: 'Carol', email: 'carol@example.com' });
    await open(`/console/customers/${customer.id}`);
    await page.getByRole('heading', { level: 1, name: 'Carol' }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    problems.expect(/404/);
    assert.equal((await till.call('DELETE', `/customers/${customer.id}`)).status, 204);
    await page.getByRole('heading', { level: 1, name: 'No such customer' }).waitFor();
    assert.equal((await page.locator('main').innerText()).includes('carol@example.com'), false);
  },
);

browserTest(
  'a card becomes the default, and one that a subscription uses cannot be removed',
  async ({ page, open, till, problems }) => {
    const customer = await createCustomer(till);
    const visa = await saveCard(till, customer);
    await saveCard(till, customer, 'pm_card_mastercard');
    const plan = await createPlan(till);
    await createSubscription(till, {
      customerId: customer.id,
      planId: plan.id,
      paymentMethodId: visa.paymentMethodId,
    });
    await open(`/console/customers/${customer.id}`);
    const cards = section(page, 'Cards');
    const row = (name: string) => cards.getByRole('row', { name: new RegExp(name) });
    const confirm = (name: string) => page.getByRole('dialog').getByRole('button', { name });

    await row('Visa').getByRole('button', { name: 'Remove' }).click();
    problems.expect(/409/);
    await confirm('Remove Visa').click();
    await page.getByRole('alert').getByText('Nothing was removed.').waitFor();
    await expectAccessible(page, 'a card in use');
    await confirm('Cancel').click();

    await row('Mastercard').getByRole('button', { name: 'Make default' }).click();
    await page.getByText('Nothing is charged now.').waitFor();
    await confirm('Make default').click();
    await row('Mastercard').getByText('Default', { exact: true }).waitFor();

    await row('Visa').getByRole('button', { name: 'Remove' }).click();
    await confirm('Remove Visa').click();
    await row('Visa').waitFor({ state: 'detached' });
    assert.deepEqual(
      (await listCards(till, customer)).map(({ brand, isDefault }) => [brand, isDefault]),
      [['mastercard', true]],
    );
  },
);

browserTest(
  'if the processor fails, only the cards are missing, and they can be loaded again',
  async ({ page, open, till, problems }) => {
    const customer = await createCustomer(till, { name: 'Dora' });
    await saveCard(till, customer);
    await till.setFault({ operation: '*', kind: 'error', status: 503, times: 1_000 });
    problems.expect(/503/);
    await open(`/console/customers/${customer.id}`);
    await section(page, 'Cards').getByRole('button', { name: 'Try again' }).waitFor();
    await section(page, 'Identity').getByText('Dora').waitFor();
    await section(page, 'Payments').getByText('No payments.').waitFor();
    await expectAccessible(page, 'the cards failed');
    await till.clearFaults();
    await section(page, 'Cards').getByRole('button', { name: 'Try again' }).click();
    await visa(page).waitFor();
  },
);

browserTest('a key that may only read sees no actions', async ({ page, open }) => {
  const { customer } = await sharedWorld();
  await open(`/console/customers/${customer.id}`, { scopes: ['read'] });
  await visa(page).waitFor();
  for (const name of ['Create', 'Edit', 'Delete', 'Remove', 'Make default'])
    assert.equal(await page.getByRole('button', { name }).count(), 0, name);
});

browserTest('an id that no customer has is a clear state', async ({ page, open, problems }) => {
  problems.expect(/404/);
  await open('/console/customers/00000000-0000-7000-8000-000000000000');
  await page.getByRole('heading', { level: 1, name: 'No such customer' }).waitFor();
  await section(page, 'Timeline').getByText('No events are kept.').waitFor();
  await expectAccessible(page);
});

function focusedText(page: Page): Promise<string> {
  return page.evaluate('document.activeElement.textContent');
}

browserTest('changes do not interrupt a response that is slow', async ({ page, open, till }) => {
  const { id: customerId } = await createCustomer(till);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let requests = 0;
  await page.route('**/api/v1/payments?*', async (route) => {
    requests += 1;
    if (requests === 1) await released;
    await route.continue();
  });
  const interrupted: string[] = [];
  page.on('requestfailed', (request) => void interrupted.push(request.url()));
  await open(`/console/customers/${customerId}`);
  await page.getByText('Live', { exact: true }).waitFor();
  await createPayment(till, { customerId });
  await section(page, 'Timeline').getByText('€20.00').first().waitFor();
  release();
  await section(page, 'Payments').getByText('€20.00').waitFor();
  assert.deepEqual(
    interrupted.filter((url) => url.includes('/payments?')),
    [],
  );
});
