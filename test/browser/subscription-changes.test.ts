import assert from 'node:assert/strict';
import type { Locator, Page, Route } from 'playwright-core';
import {
  type CustomerBody,
  createPlan,
  type InvoiceBody,
  type PageBody,
  type SubscriptionBody,
} from '../support/objects.ts';
import { createPastDue } from '../support/past-due.ts';
import { changed, subscribe } from '../support/subscribed.ts';
import type { TillInProcess } from '../support/till-in-process.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, startConsole } from './support/browser-test.ts';

/** A subscription to a monthly plan of €9.00, which charges this card from now on. */
async function subscribed(till: TillInProcess, { card, group }: { card?: string; group?: string } = {}) {
  const plan = await createPlan(till, { name: 'Gold', ...(group === undefined ? {} : { group }) });
  const subscription = await subscribe(till, { plan });
  if (card === undefined) return subscription;
  const { processorCustomerId: customer } = await till.get<CustomerBody>(
    `/customers/${subscription.customerId}`,
  );
  const { id: paymentMethodId } = await till.stripe.paymentMethods.attach(card, { customer });
  return changed(till, subscription, { paymentMethodId });
}

async function openChange(page: Page) {
  await page.getByRole('button', { name: 'Change plan or quantity' }).click();
  const dialog = page.getByRole('dialog', { name: 'Change plan or quantity' });
  return {
    dialog,
    quantity: dialog.getByRole('textbox', { name: 'Quantity' }),
    choose: (group: string, name: string) =>
      dialog.getByRole('group', { name: group }).getByRole('radio', { name, exact: true }).check(),
  };
}

async function isAbove(one: Locator, other: Locator): Promise<boolean> {
  const [a, b] = [await one.boundingBox(), await other.boundingBox()];
  return a !== null && b !== null && a.y + a.height <= b.y;
}

async function isInView(one: Locator): Promise<boolean> {
  const box = await one.boundingBox();
  const height = one.page().viewportSize()?.height ?? 0;
  return box !== null && box.y >= 0 && box.y + box.height <= height;
}

const banner = (page: Page, text: RegExp) => page.locator('.banner').getByText(text);

browserTest('a change that is billed now charges exactly what its preview shows', async (tab) => {
  const { page, till, open } = tab;
  const subscription = await subscribed(till);
  await open(`/console/subscriptions/${subscription.id}`);
  const { dialog, quantity, choose } = await openChange(page);
  await quantity.fill('3');
  await dialog.getByText(/^Nothing is charged now\. The next invoice on .* is €45\.00\.$/).waitFor();
  await choose('Bill the difference', 'Now');
  await dialog.getByText(/€18\.00 is charged to Visa •••• 4242 now\./).waitFor();
  await dialog.getByRole('rowheader', { name: /Remaining time on 3 × Gold/ }).waitFor();
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Change and charge €18.00' }).dblclick();
  await page.getByRole('heading', { level: 1, name: '3 × Gold' }).waitFor();
  await till.settle();
  const { data } = await till.get<PageBody<InvoiceBody>>(`/invoices?subscriptionId=${subscription.id}`);
  assert.deepEqual(
    data.map(({ amountPaid }) => amountPaid),
    [1_800, 900],
  );
  await page.getByRole('region', { name: 'Invoices' }).getByText('€18.00').first().waitFor();
});

browserTest(
  'add-ons can be added, changed and removed, each with a preview whose total stays in view',
  async ({ page, till, open }) => {
    const subscription = await subscribed(till);
    const seats = await createPlan(till, { name: 'Seat', amount: 200, addOn: true });
    const support = await createPlan(till, { name: 'Support', amount: 500, addOn: true });
    await createPlan(till, { name: 'Yearly', interval: 'year', addOn: true });
    const read = () => till.get<SubscriptionBody>(`/subscriptions/${subscription.id}`);
    await open(`/console/subscriptions/${subscription.id}`);
    const { dialog, choose } = await openChange(page);
    const plan = (number: number) => dialog.getByLabel(`Add-on ${number}: plan`);
    await dialog.getByRole('button', { name: 'Add add-on' }).click();
    await plan(1).selectOption(seats.id);
    assert.equal(
      await plan(1)
        .getByRole('option', { name: /Yearly/ })
        .count(),
      0,
    );
    await dialog.getByLabel('Add-on 1: quantity').fill('3');
    await dialog.getByRole('button', { name: 'Add add-on' }).click();
    await plan(2).selectOption(support.id);
    await choose('Bill the difference', 'Now');
    await dialog.getByText(/€11\.00 is charged to Visa •••• 4242 now\./).waitFor();
    const total = dialog.getByText('Due now').locator('..');
    for (const to of ['Plan', 'Quantity'])
      assert.ok(await isAbove(total, dialog.getByLabel(to, { exact: true })), `the total is above ${to}`);
    await dialog.evaluate('(element) => element.scrollTo(0, element.scrollHeight)');
    assert.ok(await isInView(total), 'the total stays in view');
    await expectAccessible(page, 'light', 'all');
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page, 'dark', 'colours');
    await dialog.getByRole('button', { name: 'Change and charge €11.00' }).click();
    await page.getByRole('heading', { level: 1, name: /Gold \+ .*3 × Seat/ }).waitFor();
    const both = [
      { planId: seats.id, quantity: 3 },
      { planId: support.id, quantity: 1 },
    ];
    assert.deepEqual(
      (await read()).addOns,
      both.toSorted((a, b) => (a.planId < b.planId ? -1 : 1)),
    );
    const again = await openChange(page);
    const number = both.findIndex(({ planId }) => planId === seats.id) + 1;
    await again.dialog.getByRole('button', { name: `Remove add-on ${number}` }).click();
    await again.dialog.getByText(/^Nothing is charged now\./).waitFor();
    await again.dialog.getByRole('button', { name: 'Change now' }).click();
    await page.getByRole('heading', { level: 1, name: 'Gold + Support' }).waitFor();
    assert.deepEqual((await read()).addOns, [{ planId: support.id, quantity: 1 }]);
  },
  { viewport: { width: 1_440, height: 900 } },
);

browserTest('a change at the end of the period waits, and can be dropped', async ({ page, till, open }) => {
  const subscription = await subscribed(till);
  const plan = await createPlan(till, { name: 'Platinum', amount: 4_900 });
  await open(`/console/subscriptions/${subscription.id}`);
  const { dialog, choose } = await openChange(page);
  await dialog.getByLabel('Plan', { exact: true }).selectOption(plan.id);
  await choose('When', 'When the period ends');
  await dialog.getByText(/^Nothing is charged now\. The next invoice on .* is €49\.00\.$/).waitFor();
  await dialog.getByRole('button', { name: 'Plan the change' }).click();
  await banner(page, /^Changes to Platinum on /).waitFor();
  await page.getByRole('button', { name: 'Drop the pending change' }).click();
  await page.getByText(/stays at Gold \(€9\.00 per month\)\. Nothing is charged or refunded\./).waitFor();
  await page.getByRole('button', { name: 'Drop the change' }).click();
  await banner(page, /Platinum/).waitFor({ state: 'detached' });
  const { pendingChange } = await till.get<{ pendingChange: unknown }>(`/subscriptions/${subscription.id}`);
  assert.equal(pendingChange, null);
});

browserTest('a declined charge changes nothing, and the dialog says why', async (tab) => {
  const { page, till, open, problems } = tab;
  const { id } = await subscribed(till, { card: 'pm_card_chargeCustomerFail' });
  await open(`/console/subscriptions/${id}`);
  const { dialog, quantity, choose } = await openChange(page);
  await quantity.fill('2');
  await choose('Bill the difference', 'Now');
  problems.expect(/402/);
  await dialog.getByRole('button', { name: 'Change and charge €9.00' }).click();
  await dialog.getByRole('alert').getByText('Payment declined').waitFor();
  await dialog.getByText(/Nothing was changed or charged\. Reason: /).waitFor();
  assert.equal((await till.get<{ quantity: number }>(`/subscriptions/${id}`)).quantity, 1);
});

browserTest('a charge that needs authentication leaves the change waiting', async ({ page, till, open }) => {
  const { id } = await subscribed(till, { card: 'pm_card_authenticationRequired' });
  await open(`/console/subscriptions/${id}`);
  const { dialog, quantity, choose } = await openChange(page);
  await quantity.fill('2');
  await choose('Bill the difference', 'Now');
  await dialog.getByRole('button', { name: 'Change and charge €9.00' }).click();
  await banner(
    page,
    /^A change to 2 × Gold waits: the customer has to authenticate its payment\.$/,
  ).waitFor();
  await page.getByRole('button', { name: 'Drop the pending change' }).click();
  await page.getByText(/is dropped\. Its invoice is voided\./).waitFor();
  await page.getByRole('button', { name: 'Drop the change' }).click();
  await banner(page, /2 × Gold/).waitFor({ state: 'detached' });
});

browserTest('a preview of inputs that have changed since is never shown', async ({ page, till, open }) => {
  const { id } = await subscribed(till);
  await open(`/console/subscriptions/${id}`);
  const held: Route[] = [];
  await page.route('**/preview', (route) => {
    if (route.request().postDataJSON().quantity === 2) held.push(route);
    else void route.continue();
  });
  const { dialog, quantity } = await openChange(page);
  const first = page.waitForRequest('**/preview');
  await quantity.fill('2');
  await first;
  await quantity.fill('4');
  await dialog.getByText('Calculating').waitFor();
  await dialog.getByText(/The next invoice on .* is €63\.00\.$/).waitFor();
  // The page has given up the first request, so its response changes nothing.
  for (const route of held) await route.continue().catch(() => {});
  await dialog.getByRole('button', { name: 'Change now' }).click();
  await page.getByRole('heading', { level: 1, name: '4 × Gold' }).waitFor();
});

browserTest('a plan of a group that the customer has already is refused with a link', async (tab) => {
  const { page, till, open, problems } = tab;
  const subscription = await subscribed(till, { group: 'base' });
  const { customerId } = subscription;
  const other = await subscribe(till, { customerId, plan: await createPlan(till, { name: 'Extra' }) });
  const plan = await createPlan(till, { name: 'Basic', group: 'base' });
  await open(`/console/subscriptions/${other.id}`);
  const { dialog } = await openChange(page);
  problems.expect(/409/);
  await dialog.getByLabel('Plan', { exact: true }).selectOption(plan.id);
  await dialog.getByText('Already subscribed').waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Change now' }).isDisabled(), true);
  await dialog.getByRole('link', { name: 'Open the other subscription' }).click();
  await page.getByRole('heading', { level: 1, name: 'Gold' }).waitFor();
  assert.equal(new URL(page.url()).pathname, `/console/subscriptions/${subscription.id}`);
});

browserTest(
  'what is due can be paid, also with another card, and changes wait until then',
  async ({ page, till, open, problems }) => {
    const { subscription, goodCard } = await createPastDue(till);
    await till.settle();
    await open(`/console/subscriptions/${subscription.id}`);
    problems.expect(/409/);
    problems.expect(/402/);
    const { dialog, quantity, choose } = await openChange(page);
    await quantity.fill('2');
    await choose('Bill the difference', 'Now');
    await dialog.getByText('Payment due').waitFor();
    await dialog
      .getByText(
        /use “Pay now” first if an invoice is unpaid, or choose “Not at all” or “When the period ends”/,
      )
      .waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Pay now' }).click();
    const pay = page.getByRole('dialog', { name: 'Pay now' });
    await pay.getByText(/^€9\.00 of invoice .* is charged to Visa •••• 0341 now\.$/).waitFor();
    await pay.getByRole('button', { name: 'Pay €9.00' }).click();
    await pay.getByRole('alert').getByText('Payment declined').waitFor();
    await pay.getByText(/The invoice stays open\. Reason: .*Try another card\./).waitFor();
    await expectAccessible(page);
    await pay.getByLabel('Pay with').selectOption(goodCard);
    await pay.getByText(/is charged to Visa •••• 4242 now\.$/).waitFor();
    await pay.getByRole('button', { name: 'Pay €9.00' }).click();
    await page.getByText('Paid. The subscription is active').waitFor();
    await page.getByRole('button', { name: 'Pay now' }).waitFor({ state: 'detached' });
  },
  // The clock moves on, which other tests must not see.
  { on: startConsole },
);
