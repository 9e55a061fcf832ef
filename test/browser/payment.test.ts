import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import {
  confirmPayment,
  createPayment,
  type PaymentBody,
  readPayment,
  readRefunds,
} from '../support/objects.ts';
import { type TillInProcess, triesPerCall } from '../support/till-in-process.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, sharedWorld } from './support/browser-test.ts';
import { focused, moveTo } from './support/keyboard.ts';

async function createPaid(
  till: TillInProcess,
  values: { readonly amount?: number } = {},
): Promise<PaymentBody> {
  const payment = await createPayment(till, values);
  await confirmPayment(till, payment);
  await till.settle();
  return payment;
}

const pathOf = ({ id }: { readonly id: string }) => `/console/payments/${id}`;
const dialog = (page: Page) => page.getByRole('dialog');
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const field = (page: Page, name: string) =>
  page
    .locator('.fields > div')
    .filter({ has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) })
    .locator('dd');
/** What the processor has refunded. */
async function refundedAmounts(till: TillInProcess, payment: PaymentBody): Promise<readonly number[]> {
  const { data } = await till.stripe.refunds.list({ payment_intent: payment.processorPaymentIntentId });
  return data.map(({ amount }) => amount);
}

browserTest('a part of a payment is refunded by keyboard alone', async ({ page, till, open }) => {
  const payment = await createPaid(till);
  await open(pathOf(payment));
  await page.getByRole('heading', { level: 1, name: '€20.00' }).waitFor();
  await page.getByText('No refunds.').waitFor();
  // The heading has the focus, so the actions come next.
  await page.keyboard.press('Tab');
  assert.equal(await focused(page), 'Refund');
  await page.keyboard.press('Enter');
  await dialog(page).waitFor();
  await expectAccessible(page);
  if ((await focused(page)) !== 'Amount (EUR)') await moveTo(page, 'Amount (EUR)');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('25');
  await dialog(page).getByText('Enter an amount up to €20.00.').waitFor();
  await expectAccessible(page);
  await page.keyboard.press('Control+A');
  await page.keyboard.type('4.50');
  await dialog(page)
    .getByText('The customer gets €4.50 of €20.00 back. €15.50 can still be refunded')
    .waitFor();
  await moveTo(page, 'Reason');
  await page.keyboard.type('Req');
  await moveTo(page, 'Refund €4.50');
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByText('Refunded €4.50').waitFor();
  await page.getByRole('table', { name: 'Refunds' }).getByText('€4.50').waitFor();
  assert.equal(await focused(page), 'Refund', 'the focus is back on the button');
  const [refund, ...others] = await readRefunds(till, payment);
  assert.deepEqual([refund?.amount, refund?.reason, others.length], [450, 'requested_by_customer', 0]);
  await expectAccessible(page);
});

browserTest('Escape closes the dialog, and nothing happens', async ({ page, till, open }) => {
  const payment = await createPaid(till);
  await open(pathOf(payment));
  await page.locator('h1:focus').waitFor();
  await button(page, 'Refund').press('Enter');
  await dialog(page).waitFor();
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  await page.locator('button:focus', { hasText: 'Refund' }).waitFor();
  assert.deepEqual(await refundedAmounts(till, payment), []);
});

browserTest('a double click on the confirmation refunds once', async ({ page, till, open }) => {
  const payment = await createPaid(till);
  await open(pathOf(payment));
  await button(page, 'Refund').click();
  await dialog(page).getByText('Nothing is left to refund after that. A refund cannot be undone.').waitFor();
  await dialog(page).getByRole('button', { name: 'Refund €20.00' }).dblclick();
  await dialog(page).waitFor({ state: 'detached' });
  await button(page, 'Refund').waitFor({ state: 'detached' });
  assert.equal(await field(page, 'Refunded').textContent(), '€20.00');
  assert.deepEqual(await refundedAmounts(till, payment), [2_000]);
  assert.equal((await readRefunds(till, payment)).length, 1);
});

browserTest(
  'a refund whose response is lost can be tried again, and happens once',
  async ({ page, till, open, problems }) => {
    problems.expect(/ERR_CONNECTION_RESET/);
    const payment = await createPaid(till);
    await open(pathOf(payment));
    const keys: (string | undefined)[] = [];
    await page.route('**/refund', async (route) => {
      keys.push(route.request().headers()['idempotency-key']);
      // The first request arrives and acts. Its response does not come back.
      if (keys.length > 1) return route.continue();
      await route.fetch();
      return route.abort('connectionreset');
    });
    await button(page, 'Refund').click();
    await dialog(page).getByRole('button', { name: 'Refund €20.00' }).click();
    await dialog(page).getByText('Trying again is safe: the action happens at most once.').waitFor();
    await expectAccessible(page);
    // The page behind the dialog learns of the refund. The dialog still offers the same one.
    await field(page, 'Refunded').getByText('€20.00').waitFor();
    await dialog(page).getByRole('button', { name: 'Refund €20.00' }).click();
    await page.getByRole('status').getByText('Refunded €20.00').waitFor();
    assert.equal(keys.length, 2);
    assert.ok(keys[0] !== undefined && keys[0] === keys[1], 'both tries have the same idempotency key');
    assert.deepEqual(await refundedAmounts(till, payment), [2_000]);
  },
);

browserTest(
  'a failed refund is shown with its reason and the id of the request, and can be tried again',
  async ({ page, till, open, problems }) => {
    problems.expect(/ 503 .*\/refund/);
    const payment = await createPaid(till);
    await open(pathOf(payment));
    await button(page, 'Refund').click();
    await till.setFault({ operation: 'refunds.create', kind: 'reset_before', times: triesPerCall });
    await dialog(page).getByRole('button', { name: 'Refund €20.00' }).click();
    await dialog(page).getByRole('alert').locator('code').waitFor();
    await dialog(page).getByRole('button', { name: 'Refund €20.00' }).click();
    await page.getByRole('status').getByText('Refunded €20.00').waitFor();
    assert.deepEqual(await refundedAmounts(till, payment), [2_000]);
  },
);

browserTest(
  'an amount without decimals is shown and typed without decimals',
  async ({ page, till, open }) => {
    const { payment } = await till.post<{ readonly payment: PaymentBody }>('/payments', {
      customerId: (await sharedWorld()).customer.id,
      amount: 5_400,
      currency: 'jpy',
    });
    await confirmPayment(till, payment);
    await till.settle();
    await open(pathOf(payment));
    await page.getByRole('heading', { level: 1, name: '¥5,400' }).waitFor();
    await button(page, 'Refund').click();
    const amount = dialog(page).getByLabel('Amount (JPY)');
    assert.equal(await amount.inputValue(), '5400');
    await amount.fill('12.5');
    await dialog(page).getByText('Enter an amount up to ¥5,400.').waitFor();
    assert.equal(await dialog(page).locator('button[type=submit]').isDisabled(), true);
    await amount.fill('400');
    await dialog(page).getByRole('button', { name: 'Refund ¥400' }).click();
    await page.getByRole('table', { name: 'Refunds' }).getByText('¥400').waitFor();
    assert.deepEqual(await refundedAmounts(till, payment), [400]);
  },
);

browserTest(
  'an authorised payment is captured in part, and the rest is released',
  async ({ page, till, open }) => {
    const payment = await createPayment(till, { amount: 8_000, captureMethod: 'manual' });
    await confirmPayment(till, payment);
    await till.settle();
    await open(pathOf(payment));
    await button(page, 'Capture').click();
    await dialog(page).getByLabel('Amount').fill('50');
    await dialog(page).getByText('The remaining €30.00 is released and cannot be captured later.').waitFor();
    await dialog(page).getByRole('button', { name: 'Capture €50.00' }).click();
    await page.getByRole('status').getByText('Captured €50.00').waitFor();
    await button(page, 'Refund').waitFor();
    assert.equal(await field(page, 'Received').textContent(), '€50.00');
    assert.equal((await readPayment(till, payment)).amountReceived, 5_000);
    await till.settle();
    await open(pathOf(payment));
    const released = page
      .getByRole('table', { name: 'Refunds' })
      .getByRole('row')
      .filter({ hasText: '€30.00' });
    await released.getByText('Released authorisation').waitFor();
    assert.equal(await field(page, 'Refunded').textContent(), '€0.00');
  },
);

browserTest('an unpaid payment is canceled', async ({ page, till, open }) => {
  const payment = await createPayment(till);
  await open(pathOf(payment));
  await button(page, 'Cancel payment').click();
  await dialog(page).getByText('The payment of €20.00 can no longer be paid after that.').waitFor();
  await expectAccessible(page);
  await dialog(page).getByRole('button', { name: 'Cancel payment' }).click();
  await page.getByRole('status').getByText('Payment canceled').waitFor();
  await page.locator('.page-title').getByText('Canceled').waitFor();
  assert.equal((await readPayment(till, payment)).status, 'canceled');
});

browserTest('a key that may only read sees no actions', async ({ page, open }) => {
  const { payments } = await sharedWorld();
  await open(pathOf(payments.paid), { scopes: ['read'] });
  await page.getByRole('heading', { level: 2, name: 'Timeline' }).waitFor();
  for (const name of ['Refund', 'Capture', 'Cancel payment'])
    assert.equal(await button(page, name).count(), 0);
});

browserTest(
  'over plain HTTP, where browsers offer less, actions work and copying says that it does not',
  async ({ page, till, open }) => {
    // Chromium trusts this machine like HTTPS, so the test takes away what other hosts do not have.
    await page.addInitScript(`
    Object.defineProperty(crypto, 'randomUUID', { value: undefined });
    Object.defineProperty(navigator, 'clipboard', { value: undefined });`);
    const payment = await createPayment(till);
    await open(pathOf(payment));
    await page.getByRole('button', { name: `Copy ${payment.id}` }).click();
    await page.getByText('The browser did not allow copying.').waitFor();
    await button(page, 'Cancel payment').click();
    await dialog(page).getByRole('button', { name: 'Cancel payment' }).click();
    await page.getByText('Canceled', { exact: true }).first().waitFor();
  },
);
