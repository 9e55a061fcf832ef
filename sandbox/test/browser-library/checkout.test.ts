import assert from 'node:assert/strict';
import type Stripe from 'stripe';
import { expectFramesAccessible } from '../../../test/browser/support/accessible.ts';
import { authenticate, declineCheckout, payCheckout } from '../../testing/playwright.mjs';
import { type Shop, shopTest, shopUrl, strictPolicy, stripe } from './shop.ts';

async function newSession(more: Partial<Stripe.Checkout.SessionCreateParams> = {}) {
  return stripe.checkout.sessions.create({
    mode: 'payment',
    line_items: [
      { price_data: { currency: 'usd', unit_amount: 700, product_data: { name: 'Mug' } }, quantity: 1 },
    ],
    ...more,
  });
}

const embedded = (more: Partial<Stripe.Checkout.SessionCreateParams> = {}) =>
  newSession({ ui_mode: 'embedded_page', return_url: `${shopUrl}/done?id={CHECKOUT_SESSION_ID}`, ...more });

const mount = ({ run }: Shop, call: string, { client_secret: secret }: Stripe.Checkout.Session) =>
  run(`
    globalThis.completed = 0;
    const options = { fetchClientSecret: async () => '${secret}', onComplete: () => { completed += 1; } };
    globalThis.checkout = await stripe.${call}(options);
    checkout.mount('#element');`);

shopTest('redirectToCheckout opens the payment page, which leads back to the shop', async ({ page, run }) => {
  const session = await newSession({ success_url: `${shopUrl}/done?id={CHECKOUT_SESSION_ID}` });
  await Promise.all([
    page.waitForURL('**/c/pay/**'),
    run(`stripe.redirectToCheckout({ sessionId: '${session.id}' }); return 1`),
  ]);
  await payCheckout(page);
  await page.waitForURL(`${shopUrl}/done?id=${session.id}`);
  assert.equal((await stripe.checkout.sessions.retrieve(session.id)).status, 'complete');
});

for (const [call, age] of [
  ['createEmbeddedCheckoutPage', 'newest'],
  ['initEmbeddedCheckout', 'oldest'],
] as const)
  shopTest(
    `${call} shows the payment page in a frame, under a strict policy, and the shop follows`,
    async (shop) => {
      const { page } = shop;
      const session = await embedded();
      await mount(shop, call, session);
      await declineCheckout(page, 'insufficient_funds');
      const frame = page.frameLocator('iframe[name="embedded-checkout"]');
      await frame.getByText('Your card has insufficient funds.').waitFor();
      await frame.getByText('Sandbox: no real money moves.').waitFor();
      await expectFramesAccessible(page);
      await payCheckout(page, { number: '4000000000003220' });
      await authenticate(page);
      await page.waitForURL(`${shopUrl}/done?id=${session.id}`);
      assert.equal((await stripe.checkout.sessions.retrieve(session.id)).status, 'complete');
    },
    { age, policy: strictPolicy },
  );

shopTest('a page in a frame that does not redirect tells the shop that it is complete', async (shop) => {
  const { page, run } = shop;
  const session = await stripe.checkout.sessions.create({
    ...{ mode: 'payment', ui_mode: 'embedded_page', redirect_on_completion: 'never' },
    line_items: [
      { price_data: { currency: 'usd', unit_amount: 700, product_data: { name: 'Mug' } }, quantity: 1 },
    ],
  });
  await mount(shop, 'createEmbeddedCheckoutPage', session);
  await assert.rejects(
    mount(shop, 'createEmbeddedCheckoutPage', session),
    /multiple Embedded Checkout objects/,
  );
  await payCheckout(page);
  await page.frameLocator('iframe[name="embedded-checkout"]').getByText('Your order is complete.').waitFor();
  await page.waitForFunction('completed === 1');
  assert.equal(new URL(page.url()).origin, shopUrl);
  await run('checkout.destroy()');
  assert.equal(await page.locator('iframe[name="embedded-checkout"]').count(), 0);
});

shopTest(
  'the official components for React show the payment page once, even in strict mode',
  async ({ page, run }) => {
    const session = await embedded();
    await run(`
      const { React, createRoot, EmbeddedCheckoutProvider, EmbeddedCheckout } = kit;
      const options = { clientSecret: '${session.client_secret}' };
      const tree = React.createElement(EmbeddedCheckoutProvider, { stripe, options }, React.createElement(EmbeddedCheckout));
      createRoot(document.querySelector('#element')).render(React.createElement(React.StrictMode, null, tree));`);
    await payCheckout(page);
    await page.waitForURL(`${shopUrl}/done?id=${session.id}`);
  },
  { hasReact: true },
);
