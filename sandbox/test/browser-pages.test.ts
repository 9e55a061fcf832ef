import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { expectAccessible } from '../../test/browser/support/accessible.ts';
import { browser, closeBrowser, skipWithoutChromium } from '../../test/browser/support/chromium.ts';
import { type Problems, watchProblems } from '../../test/browser/support/problems.ts';
import { atProcessEnd } from '../../test/support/process-end.ts';
import { startSandbox } from '../sandbox.ts';
import { authenticate, declineCheckout, payCheckout } from '../testing/playwright.mjs';
import { clientOf, customerAndPrice } from './support.ts';

const sandbox = await startSandbox({ port: 0 });
const stripe = clientOf(sandbox.port);
atProcessEnd(async () => {
  await closeBrowser();
  await sandbox.close();
});

const phone = { width: 360, height: 740 };
const desk = { width: 1_200, height: 900 };

/** A test with a page of its own. It fails if anything goes wrong in the page that the test does not expect. */
function pageTest(
  name: string,
  use: (page: Page, problems: Problems) => Promise<void>,
  viewport = desk,
): void {
  test(name, { skip: skipWithoutChromium() }, async () => {
    const context = await (await browser()).newContext({ locale: 'en-US', viewport });
    const page = await context.newPage();
    const problems = watchProblems(page, sandbox.url);
    try {
      await use(page, problems);
      problems.check();
    } finally {
      await context.close();
    }
  });
}

/** Nothing for axe to find, and nothing wider than the window. Colours depend on the scheme, and not on the width. */
async function expectGood(page: Page): Promise<void> {
  if (page.viewportSize()?.width === phone.width) await expectAccessible(page);
  else {
    await expectAccessible(page, page.url(), 'all');
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectAccessible(page, `${page.url()}, dark`, 'colours');
    await page.emulateMedia({ colorScheme: 'light' });
  }
  const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
  assert.equal(await page.evaluate(overflow), 0, 'the page is as wide as the window');
}

for (const viewport of [desk, phone])
  pageTest(
    `the portal works in a window of ${viewport.width} pixels, and axe finds nothing wrong`,
    async (page) => {
      const { customer, price } = await customerAndPrice(stripe);
      const card = await stripe.paymentMethods.attach('pm_card_visa', { customer: customer.id });
      await stripe.customers.update(customer.id, { invoice_settings: { default_payment_method: card.id } });
      const subscription = await stripe.subscriptions.create({
        customer: customer.id,
        items: [{ price: price.id }],
      });
      const { id: configuration } = await stripe.billingPortal.configurations.create({
        features: {
          customer_update: { enabled: true, allowed_updates: ['name', 'email', 'address'] },
          invoice_history: { enabled: true },
          payment_method_update: { enabled: true },
          subscription_cancel: { enabled: true, cancellation_reason: { enabled: true, options: ['other'] } },
          subscription_update: {
            enabled: true,
            default_allowed_updates: ['price', 'quantity', 'promotion_code'],
            products: [{ product: String(price.product), prices: [price.id] }],
          },
        },
      });
      const { url } = await stripe.billingPortal.sessions.create({ customer: customer.id, configuration });
      await page.goto(url);
      await expectGood(page);

      await page.getByRole('link', { name: 'Add a card' }).click();
      await expectGood(page);
      await page.getByLabel('Card number').fill('5555 5555 5555 4444');
      await page.getByLabel('Expiration date').fill('12/34');
      await page.getByLabel('Security code').fill('123');
      await page.getByRole('button', { name: 'Save card' }).click();
      await page.getByText('Mastercard ending in 4444').waitFor();

      await page.getByRole('link', { name: 'Change plan' }).click();
      await expectGood(page);
      await page.getByLabel('Quantity').fill('3');
      await page.getByRole('button', { name: 'Continue' }).click();
      await expectGood(page);
      await page.getByRole('button', { name: 'Confirm' }).click();
      await page.getByText('3 × Plan, $45.00 per month').waitFor();

      await page.getByRole('link', { name: 'Update information' }).click();
      await expectGood(page);
      await page.getByLabel('Country').selectOption('France');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText(/example\.comFR$/).waitFor();

      await page.getByRole('link', { name: 'Cancel plan' }).click();
      await expectGood(page);
      await page.getByRole('button', { name: 'Cancel plan' }).click();
      await page.getByRole('button', { name: 'Keep plan' }).click();
      await page.getByText('Renews on').waitFor();
      assert.equal((await stripe.subscriptions.retrieve(subscription.id)).cancel_at, null);
    },
    viewport,
  );

for (const viewport of [desk, phone])
  pageTest(
    `a trial is bought in a window of ${viewport.width} pixels, and axe finds nothing wrong`,
    async (page, problems) => {
      const { price } = await customerAndPrice(stripe);
      const coupon = await stripe.coupons.create({ percent_off: 50, duration: 'forever' });
      const code = `HALF${viewport.width}`;
      await stripe.promotionCodes.create({ promotion: { type: 'coupon', coupon: coupon.id }, code });
      const session = await stripe.checkout.sessions.create({
        ...{ mode: 'subscription', line_items: [{ price: price.id, quantity: 1 }] },
        ...{ allow_promotion_codes: true, billing_address_collection: 'required' },
        ...{ tax_id_collection: { enabled: true }, subscription_data: { trial_period_days: 14 } },
        ...{ success_url: `${sandbox.url}/sandbox?id={CHECKOUT_SESSION_ID}`, cancel_url: sandbox.url },
      });
      await page.goto(String(session.url));
      await page.getByText('14 days free, then $15.00 per month').waitFor();
      await expectGood(page);
      await page.getByLabel('Promotion code').fill('WRONG');
      problems.expect(/400/);
      await page.getByRole('button', { name: 'Apply' }).click();
      await page.getByRole('alert').getByText('This code is invalid.').waitFor();
      await page.getByLabel('Promotion code').fill(code);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: `Remove ${code}` }).waitFor();
      await page.getByLabel('Address', { exact: true }).fill('Main Street 1');
      await page.getByLabel('Country').selectOption('Germany');
      await declineCheckout(page);
      await page.getByRole('alert').getByText('Your card was declined.').waitFor();
      await expectGood(page);
      await payCheckout(page, { number: '4000002500003155' });
      await authenticate(page);
      await page.waitForURL(`${sandbox.url}/sandbox?id=${session.id}`);
      await page.goto(String(session.url));
      await page.getByText('Your order is complete.').waitFor();
      await expectGood(page);
    },
    viewport,
  );

pageTest('a purchase asks where to send it, and the helper for tests says so', async (page) => {
  const session = await stripe.checkout.sessions.create({
    mode: 'payment',
    line_items: [
      { price_data: { currency: 'usd', unit_amount: 700, product_data: { name: 'Mug' } }, quantity: 1 },
    ],
    shipping_address_collection: { allowed_countries: ['DE', 'FR'] },
    success_url: `${sandbox.url}/sandbox`,
  });
  await page.goto(String(session.url));
  await page.getByRole('group', { name: 'Shipping address' }).waitFor();
  await expectGood(page);
  await payCheckout(page, { country: 'FR' });
  await page.waitForURL(`${sandbox.url}/sandbox`);
  const { collected_information: collected } = await stripe.checkout.sessions.retrieve(session.id);
  assert.equal(collected?.shipping_details?.address.country, 'FR');
});

pageTest('a purchase needs no pointer', async (page) => {
  const session = await stripe.checkout.sessions.create({
    mode: 'payment',
    line_items: [
      { price_data: { currency: 'usd', unit_amount: 700, product_data: { name: 'Mug' } }, quantity: 1 },
    ],
    success_url: `${sandbox.url}/sandbox`,
  });
  await page.goto(String(session.url));
  await page.keyboard.press('Tab');
  await page.keyboard.type('jenny@example.com');
  // The list of cards starts with a new one.
  for (const text of ['', '4242424242424242', '1234', '123', 'Jenny']) {
    await page.keyboard.press('Tab');
    await page.keyboard.type(text);
  }
  await page.keyboard.press('Enter');
  await page.waitForURL(`${sandbox.url}/sandbox`);
  assert.equal((await stripe.checkout.sessions.retrieve(session.id)).payment_status, 'paid');
});

pageTest('the address of the sandbox itself shows a person what it is, and the test cards', async (page) => {
  await page.goto(sandbox.url);
  await page.getByRole('heading', { level: 1, name: 'An offline Stripe' }).waitFor();
  await page.getByRole('row', { name: /4242 4242 4242 4242/ }).waitFor();
  await expectAccessible(page, 'home', 'all');
});
