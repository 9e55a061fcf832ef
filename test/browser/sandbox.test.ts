import assert from 'node:assert/strict';
import { createCustomer, createPayment, readPayment } from '../support/objects.ts';
import { expectAccessible } from './support/accessible.ts';
import { browserTest, startConsole } from './support/browser-test.ts';

browserTest(
  'the sandbox page moves the clock once for each click, sets and removes faults, and changes delivery',
  async ({ page, till, open }) => {
    const offset = async () => (await till.get<{ offsetSeconds: number }>('/sandbox/clock')).offsetSeconds;
    await open('/console/sandbox');
    await page.getByRole('button', { name: 'A day' }).dblclick();
    await page.getByText('1.0 days ahead').waitFor();
    assert.equal(await offset(), 86_400);

    await page.getByLabel('Operation').selectOption('customers.create');
    await page.getByLabel('What happens').selectOption('reset_before');
    await page.getByRole('button', { name: 'Add fault' }).click();
    await page.getByRole('button', { name: 'Remove the fault of customers.create' }).click();
    await page.getByText('No faults: every request of Till succeeds.').waitFor();

    await page.getByLabel('Delivery').selectOption('shuffle');
    await page.getByText('Delivery changed').waitFor();
    assert.equal((await till.get<{ mode: string }>('/sandbox/delivery')).mode, 'shuffle');
    await page.getByText('4242', { exact: false }).first().waitFor();
    await expectAccessible(page);
  },
  { on: startConsole },
);

browserTest(
  'a payment is paid with a test card like a customer would, and a declined card says so',
  async ({ page, till, open }) => {
    const { id: customerId } = await createCustomer(till);
    const payment = await createPayment(till, { customerId, amount: 3_300 });
    await open(`/console/payments/${payment.id}`);
    await page.getByRole('button', { name: 'Pay with a test card' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Test card').selectOption('pm_card_visa_chargeDeclined');
    await dialog.getByRole('button', { name: 'Pay €33.00' }).click();
    await dialog.getByRole('alert').getByText('declined').first().waitFor();
    await dialog.getByLabel('Test card').selectOption('pm_card_visa');
    await dialog.getByRole('button', { name: 'Pay €33.00' }).click();
    await page.getByText('Paid with a test card').waitFor();
    await till.settle();
    await page.getByText('Succeeded', { exact: true }).first().waitFor();
    assert.equal((await readPayment(till, payment)).status, 'succeeded');
  },
  { on: startConsole },
);
