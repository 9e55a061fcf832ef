import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createPlan, createSubscription, type PlanBody } from '../support/objects.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld } from './support/browser-test.ts';

browserTest('plans can be limited to active ones, and exported', async ({ page, open }) => {
  const { plan, archivedPlan } = await sharedWorld();
  await open('/console/plans');
  const row = ({ id }: PlanBody) => page.locator(`a[href="/console/plans/${id}"]`);
  await row(archivedPlan).waitFor();
  await page.getByLabel('Active only').check();
  await row(archivedPlan).waitFor({ state: 'detached' });
  await row(plan).waitFor();
  assert.equal(new URL(page.url()).search, '?activeOnly=true');
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export CSV' }).click(),
  ]);
  const rows = await readFile(await file.path(), 'utf8');
  assert.ok(rows.includes(plan.id) && !rows.includes(archivedPlan.id));
});

browserTest('a plan in a currency without decimals can be created, once', async ({ page, till, open }) => {
  await open('/console/plans');
  await page.getByRole('button', { name: 'Create plan' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create plan' });
  const submit = dialog.getByRole('button', { name: 'Create plan' });
  await dialog.getByLabel('Name', { exact: true }).fill('Sakura');
  await dialog.getByLabel('Currency').fill('jpy');
  await dialog.getByLabel('Amount (JPY)').fill('12.5');
  assert.equal(await submit.isDisabled(), true);
  await dialog.getByLabel('Amount (JPY)').fill('1200');
  await dialog.getByLabel('Bill every').fill('3');
  await dialog.getByLabel('Group').fill('japan');
  await dialog.getByRole('button', { name: 'Add feature' }).click();
  await dialog.getByLabel('Feature 1: name').fill('seats');
  await dialog.getByLabel('Feature 1: type').selectOption('Number');
  await dialog.getByLabel('Feature 1: value').fill('5');
  await dialog.getByText('Each subscriber pays ¥1,200 every 3 months for each unit.').waitFor();
  await expectAccessible(page);
  await submit.dblclick();
  await page.getByRole('heading', { level: 1, name: 'Sakura' }).waitFor();
  const plans = (await till.get<readonly PlanBody[]>('/plans')).filter(({ name }) => name === 'Sakura');
  assert.deepEqual(
    plans.map(({ amount, currency, interval, intervalCount, features, group }) => ({
      ...{ amount, currency, interval, intervalCount, features, group },
    })),
    [
      {
        ...{ amount: 1_200, currency: 'jpy', interval: 'month', intervalCount: 3 },
        ...{ features: { seats: 5 }, group: 'japan' },
      },
    ],
  );
});

browserTest('a plan can be sold as an add-on, and shows the subscriptions that have it', async (tab) => {
  const { page, till, open } = tab;
  const main = await createPlan(till, { name: 'Iron' });
  const { id, processorPriceId } = await createPlan(till, { name: 'Extra seat', group: 'seats' });
  await open(`/console/plans/${id}`);
  await page.getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Group').waitFor();
  await dialog.getByRole('radio', { name: 'Add-on' }).check();
  await dialog.getByLabel('Group').waitFor({ state: 'detached' });
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Plan saved').waitFor();
  const changed = await till.get<PlanBody>(`/plans/${id}`);
  assert.deepEqual([changed.addOn, changed.group], [true, null]);
  const { subscription } = await createSubscription(till, { planId: main.id, trialPeriodDays: 7 });
  await till.stripe.subscriptions.update(subscription.processorSubscriptionId, {
    items: [{ price: processorPriceId, quantity: 2 }],
  });
  await till.settle();
  await page.getByRole('link', { name: '1 subscription' }).click();
  await page.getByRole('link', { name: 'Iron + 2 × Extra seat' }).click();
  await page.getByRole('heading', { level: 1, name: 'Iron + 2 × Extra seat' }).waitFor();
  await page.getByRole('link', { name: '2 × Extra seat', exact: true }).waitFor();
  await expectAccessible(page);
});

browserTest('a plan can be edited and archived', async ({ page, till, open }) => {
  const { id } = await createPlan(till, { name: 'Bronze', features: { sso: true, support: 'email' } });
  await createSubscription(till, { planId: id });
  const read = () => till.get<PlanBody>(`/plans/${id}`);
  await open(`/console/plans/${id}`);
  await page.getByRole('link', { name: '1 subscription' }).waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('Bronze 2027');
  await dialog.getByRole('radio', { name: 'Repeatedly' }).check();
  await dialog.getByLabel('Feature 1: name').waitFor();
  const sso = await dialog.getByLabel('Feature 1: name').inputValue();
  await dialog.getByRole('button', { name: `Remove feature ${sso === 'sso' ? 1 : 2}` }).click();
  await dialog.getByRole('button', { name: 'Add metadata entry' }).click();
  await dialog.getByLabel('Metadata entry 1: name').fill('edition');
  await dialog.getByLabel('Metadata entry 1: value').fill('2027');
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { level: 1, name: 'Bronze 2027' }).waitFor();
  await page.getByText('Main plan, repeatable').waitFor();
  const { name, features, metadata, repeatable } = await read();
  assert.deepEqual(
    { name, features, metadata, repeatable },
    { name: 'Bronze 2027', features: { support: 'email' }, metadata: { edition: '2027' }, repeatable: true },
  );
  await page.getByRole('button', { name: 'Archive' }).click();
  await dialog.getByText(/Existing subscriptions continue: they renew at the same price/).waitFor();
  await dialog.getByRole('button', { name: 'Archive plan' }).click();
  await page.getByRole('button', { name: 'Archive' }).waitFor({ state: 'detached' });
  assert.equal((await read()).active, false);
  await page.getByRole('link', { name: '1 subscription' }).click();
  await page.getByRole('heading', { level: 1, name: 'Subscriptions' }).waitFor();
  await page.getByText('1 subscription', { exact: true }).waitFor();
});

browserTest('a plan whose response was lost is created once when it is tried again', async (tab) => {
  const { page, till, open, problems } = tab;
  await open('/console/plans');
  await page.getByRole('button', { name: 'Create plan' }).click();
  const dialog = page.getByRole('dialog', { name: 'Create plan' });
  await dialog.getByLabel('Name', { exact: true }).fill('Lost');
  await dialog.getByLabel('Amount (EUR)').fill('19.00');
  problems.expect(/ERR_FAILED/);
  await page.route(
    '**/api/v1/plans',
    async (route) => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );
  const submit = dialog.getByRole('button', { name: 'Create plan' });
  await submit.click();
  await dialog.getByText('Trying again is safe: the action happens at most once.').waitFor();
  // Only the same plan may be tried again.
  assert.equal(await dialog.getByLabel('Name', { exact: true }).isDisabled(), true);
  await submit.click();
  await page.getByRole('heading', { level: 1, name: 'Lost' }).waitFor();
  const plans = await till.get<readonly PlanBody[]>('/plans');
  assert.equal(plans.filter(({ name }) => name === 'Lost').length, 1);
});
