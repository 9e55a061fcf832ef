import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { CheckoutBody } from '../support/checkouts.ts';
import {
  type CustomerBody,
  createCustomer,
  createPayment,
  createPlan,
  type PageBody,
  readPayment,
  readSubscription,
  type SubscriptionBody,
  saveCard,
} from '../support/objects.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld } from './support/browser-test.ts';

const phone = { width: 390, height: 844 };
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
/** What the customer has. */
const ofCustomer = async <T>(till: TillInProcess, list: string, customerId: string) =>
  (await till.get<PageBody<T>>(`/${list}?customerId=${customerId}`)).data;

async function editMetadata(page: Page, name: string, value: string): Promise<void> {
  await button(page, 'Edit metadata').click();
  const dialog = page.getByRole('dialog', { name: 'Edit metadata' });
  await button(page, 'Add metadata entry').click();
  await dialog.getByLabel('Metadata entry 1: name').fill(name);
  await dialog.getByLabel('Metadata entry 1: value').fill(value);
  await dialog.getByRole('button', { name: 'Save metadata' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.locator('.metadata').getByText(value).waitFor();
}

browserTest(
  'a customer whose creation lost the network is created once when it is tried again, and gets metadata',
  async ({ page, till, open, problems }, t) => {
    problems.expect(/ERR_INTERNET_DISCONNECTED/);
    problems.expect(/ERR_CONNECTION_RESET/);
    t.after(() => page.context().setOffline(false));
    const email = 'grace.created@example.com';
    const created = async () =>
      (await till.get<PageBody<CustomerBody>>(`/customers?email=${encodeURIComponent(email)}`)).data;
    await open('/console/customers', { scopes: ['write'] });
    await button(page, 'Create customer').click();
    const dialog = page.getByRole('dialog', { name: 'Create customer' });
    const confirm = dialog.getByRole('button', { name: 'Create customer' });
    await dialog.getByLabel('E-mail').fill('grace');
    await dialog.getByText('Enter an e-mail address.').waitFor();
    await dialog.getByLabel('E-mail').fill(email);
    await dialog.getByLabel('Name').fill('Grace Hopper');
    await dialog.getByLabel('External id').fill('no spaces');
    assert.equal(await confirm.isDisabled(), true);
    await dialog.getByLabel('External id').fill('created-1906');
    await expectAccessible(page);

    await page.context().setOffline(true);
    await confirm.click();
    await dialog.getByText('No connection').waitFor();
    await dialog.getByText('Trying again is safe: the action happens at most once.').waitFor();
    await expectAccessible(page);
    await page.context().setOffline(false);
    // The network comes back, and fails once more after the request has arrived.
    await page.route(
      '**/api/v1/customers',
      async (route) => {
        await route.fetch();
        await route.abort('connectionreset');
      },
      { times: 1 },
    );
    const lost = page.waitForEvent('requestfailed', (request) => request.method() === 'POST');
    await confirm.click();
    await lost;
    await dialog.getByText('Trying again is safe').waitFor();
    assert.equal((await created()).length, 1);
    await confirm.click();
    await page.getByRole('heading', { level: 1, name: 'Grace Hopper' }).waitFor();
    const [customer, ...others] = await created();
    assert.deepEqual([customer?.externalId, others.length], ['created-1906', 0]);
    await editMetadata(page, 'source', 'support');
    assert.deepEqual((await created())[0]?.metadata, { source: 'support' });
  },
);

browserTest(
  'a checkout is created for a customer that is searched for, and its link can be copied',
  async ({ page, till, open }) => {
    const email = 'buyer.searched@example.com';
    const { id: customerId } = await createCustomer(till, { name: 'Betty Holberton', email });
    const plan = await createPlan(till, { name: 'Checked out', amount: 1_500 });
    const seats = await createPlan(till, { name: 'Checked seat', amount: 200, addOn: true });
    await open('/console/checkouts', { scopes: ['write'] });
    await button(page, 'Create checkout').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Customer', { exact: true }).fill('buyer.searched');
    await dialog.getByRole('button', { name: /Betty Holberton/ }).waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: /Betty Holberton/ }).click();
    await dialog.getByRole('heading', { name: 'Create checkout for Betty Holberton' }).waitFor();
    const confirm = dialog.getByRole('button', { name: 'Create checkout' });
    await dialog.getByLabel('Plan').selectOption(plan.id);
    await dialog.getByLabel('Quantity').fill('2');
    await dialog.getByRole('button', { name: 'Add add-on' }).click();
    await dialog.getByLabel('Add-on 1: plan').selectOption(seats.id);
    await dialog.getByLabel('Trial in days (optional)').fill('14');
    await dialog.getByLabel('Afterwards, the buyer goes to').fill('shop.example.com');
    assert.equal(await confirm.isDisabled(), true);
    await dialog.getByLabel('Afterwards, the buyer goes to').fill('https://shop.example.com/account');
    await expectAccessible(page, 'light', 'all');
    await page.setViewportSize(phone);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page, 'dark, on a phone', 'all');
    await confirm.dblclick();
    await page.getByRole('heading', { level: 1, name: 'Subscription checkout' }).waitFor();
    const [checkout, ...others] = await ofCustomer<CheckoutBody>(till, 'checkouts', customerId);
    assert.deepEqual(
      [checkout?.planId, checkout?.quantity, checkout?.addOns, checkout?.trialPeriodDays, others.length],
      [plan.id, 2, [{ planId: seats.id, quantity: 1 }], 14, 0],
    );
    const { url } = await till.get<{ url: string }>(`/checkouts/${checkout?.id}`);
    await page.getByRole('link', { name: url }).waitFor();
    await page.evaluate('navigator.clipboard.writeText = async (text) => { globalThis.copied = text; }');
    await button(page, 'Copy link').click();
    await page.getByText('Copied').waitFor();
    assert.equal(await page.evaluate('globalThis.copied'), url);
    await expectAccessible(page);

    // The page to which buyers return is remembered.
    await open(`/console/customers/${customerId}`, { scopes: ['write'] });
    await button(page, 'Create checkout').click();
    await dialog.getByRole('radio', { name: 'A payment' }).check();
    await dialog.getByLabel('Amount (EUR)').fill('42.00');
    await dialog.getByLabel('Description').fill('Lamp');
    await confirm.click();
    await page.getByRole('heading', { level: 1, name: 'Payment checkout' }).waitFor();
    const [sold] = await ofCustomer<CheckoutBody>(till, 'checkouts', customerId);
    assert.deepEqual([sold?.mode, sold?.amount, sold?.currency], ['payment', 4_200, 'eur']);
  },
);

browserTest(
  'a customer with a saved card is subscribed once, and metadata of subscriptions and payments can be edited',
  async ({ page, till, open }) => {
    const customer = await createCustomer(till, { name: 'Jean Bartik', email: 'jean@example.com' });
    const plan = await createPlan(till, { name: 'Silver tariff', amount: 1_500 });
    await open(`/console/customers/${customer.id}`, { scopes: ['write'] });
    await button(page, 'Create subscription').click();
    const dialog = page.getByRole('dialog', { name: 'Create subscription for Jean Bartik' });
    await dialog.getByText('has no saved card').waitFor();
    await page.keyboard.press('Escape');
    await saveCard(till, customer);
    await button(page, 'Create subscription').click();
    await dialog.getByLabel('Charge').waitFor();
    await dialog.getByLabel('Plan').selectOption(plan.id);
    await dialog.getByLabel('Quantity').fill('3');
    await dialog.getByText('€45.00 is charged to Visa •••• 4242 now.').waitFor();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Create and charge €45.00' }).dblclick();
    await page.getByRole('heading', { level: 1, name: '3 × Silver tariff' }).waitFor();
    const [subscription, ...others] = await ofCustomer<SubscriptionBody>(till, 'subscriptions', customer.id);
    assert.ok(subscription !== undefined);
    assert.deepEqual([subscription.status, others.length], ['active', 0]);
    await editMetadata(page, 'campaign', 'spring');
    assert.deepEqual((await readSubscription(till, subscription)).metadata, { campaign: 'spring' });
    const payment = await createPayment(till, { customerId: customer.id });
    await open(`/console/payments/${payment.id}`, { scopes: ['write'] });
    await editMetadata(page, 'order', 'order-7');
    assert.deepEqual((await readPayment(till, payment)).metadata, { order: 'order-7' });
  },
);

browserTest('a disputed payment shows the status and the deadline of its dispute', async (tab) => {
  const { payments } = await sharedWorld();
  await tab.open(`/console/payments/${payments.disputed.id}`);
  const dispute = tab.page.getByRole('heading', { level: 2, name: 'Dispute' }).locator('../..');
  await dispute.getByText('Needs response').waitFor();
  assert.equal(
    await dispute.locator('time').getAttribute('datetime'),
    payments.disputed.dispute?.evidenceDueBy,
  );
});
