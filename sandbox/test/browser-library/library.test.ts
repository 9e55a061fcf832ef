import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectFramesAccessible } from '../../../test/browser/support/accessible.ts';
import { startSandbox } from '../../sandbox.ts';
import { authenticate, fillCard } from '../../testing/playwright.mjs';
import { mount, newPayment, type Result } from './forms.ts';
import { sandboxUrl, shopTest, shopUrl, strictPolicy, stripe } from './shop.ts';

/** The parts of a card look the same. */
const everyType = ['linkAuthentication', 'address', 'payment', 'card', 'cardNumber'];
const confirm = "return stripe.confirmPayment({ elements, redirect: 'if_required' })";

test('the library is at the addresses of the real one, and only pages for frames can be framed', async () => {
  const versions = [];
  for (const path of ['/stripe.js', '/v3', '/v3/', '/v3/stripe.js', '/basil/stripe.js']) {
    const response = await fetch(`${sandboxUrl}${path}`);
    assert.equal(response.headers.get('content-type'), 'text/javascript; charset=utf-8');
    const text = await response.text();
    assert.ok(text.includes(`const sandboxUrl = "${sandboxUrl}";`), path);
    versions.push(/const libraryVersion = (.*);/.exec(text)?.[1]);
  }
  assert.deepEqual(versions, ['"endive"', '3', '3', '3', '"basil"']);
  for (const path of ['/v3/other.js', '/v3/../stripe.js/x', '/Basil/stripe.js', '/a/b/stripe.js'])
    assert.equal((await fetch(`${sandboxUrl}${path}`)).status, 404, path);

  const ancestorsOf = async (url: string) =>
    /frame-ancestors (.*)$/.exec((await fetch(url)).headers.get('content-security-policy') ?? '')?.[1];
  const waiting = await stripe.paymentIntents.create({
    amount: 500,
    currency: 'usd',
    payment_method: 'pm_card_authenticationRequired',
    confirm: true,
    return_url: shopUrl,
  });
  const customer = await stripe.customers.create({});
  await stripe.invoiceItems.create({ customer: customer.id, amount: 500, currency: 'usd' });
  const invoice = await stripe.invoices.create({ customer: customer.id });
  const { hosted_invoice_url: invoiceUrl } = await stripe.invoices.finalizeInvoice(invoice.id);
  assert.deepEqual(
    [
      await ancestorsOf(`${sandboxUrl}/v3/elements-inner-payment.html`),
      await ancestorsOf(String(waiting.next_action?.redirect_to_url?.url)),
      await ancestorsOf(String(invoiceUrl)),
    ],
    ['*', '*', "'none'"],
  );
});

shopTest(
  'keys of the wrong kind are refused, and so is every call that the sandbox does not have',
  async ({ run }) => {
    for (const [code, message] of [
      ["Stripe('pk_live_x')", /takes only publishable keys that start with pk_test_/],
      ["Stripe('sk_test_x')", /should not use your secret key/],
      ["Stripe('rk_test_x')", /should not use your secret key/],
      ["Stripe('')", /Please call Stripe\(\) with your publishable key/],
      [
        'stripe.redirectToCheckout({ lineItems: [] })',
        /redirectToCheckout\(\) without a sessionId is not supported by the sandbox/,
      ],
      ["return stripe.createEmbeddedCheckoutPage({ clientSecret: 'cs_x' })", /client secret of the form/],
      ["stripe.confirmIdealPayment('x')", /confirmIdealPayment\(\) is not supported by the sandbox/],
      ["stripe.elements().create('iban')", /The element "iban" is not supported by the sandbox/],
      [
        "stripe.createToken('bank_account', {})",
        /A token of type "bank_account" is not supported by the sandbox/,
      ],
      ["stripe.createPaymentMethod({ type: 'sepa_debit' })", /"sepa_debit" is not supported by the sandbox/],
      [
        "stripe.confirmPayment({ clientSecret: 'pi_x_secret_y' })",
        /`confirmParams\.return_url` argument must be a URL/,
      ],
      ['stripe.confirmPayment({ elements: stripe.elements() })', /must pass in a clientSecret/],
      [
        "stripe.confirmPayment({ elements: {}, clientSecret: 'pi_x_secret_y' })",
        /elements should be an object of/,
      ],
      [
        "stripe.confirmPayment({ elements: stripe.elements(), clientSecret: 'pi_x_secret_y', redirect: 'if_required' })",
        /should have a mounted Payment Element/,
      ],
      ["stripe.createToken(stripe.elements().create('card'))", /make sure the Element you are attempting/],
      ["stripe.elements().create('card').mount('#missing')", /applies to no DOM elements/],
      [
        "const one = stripe.elements(); one.create('card'); one.create('card')",
        /Can only create one Element/,
      ],
      ["stripe.retrievePaymentIntent('pi_x')", /should be a client secret of the form/],
    ] as const)
      await assert.rejects(run(code), message, code);
    assert.equal(await run("return new Stripe('pk_test_x').elements instanceof Function"), true);
    assert.equal(await run('return stripe.paymentRequest({}).on("token", () => {}).canMakePayment()'), null);
    assert.equal(await run('return typeof stripe.then + typeof stripe.toJSON'), 'undefinedundefined');
    const wallets = `
    const element = stripe.elements().create('expressCheckout');
    return new Promise((resolve) => element.on('ready', resolve).mount('#element'))`;
    assert.deepEqual(await run(wallets), {
      elementType: 'expressCheckout',
      availablePaymentMethods: undefined,
    });
  },
);

shopTest(
  'under a strict policy that names the sandbox, every element is ready, a card pays, and styles apply',
  async (shop) => {
    const { page, run } = shop;
    const { secret } = await newPayment();
    await mount(shop, ['payment'], {
      group: { clientSecret: secret, appearance: { theme: 'night', variables: { colorText: '#fff0f0' } } },
    });
    const fields = page.frameLocator('iframe[title="Secure payment input frame"]');
    const colour = () =>
      page
        .frames()
        .find((frame) => frame.url().includes('elements-inner-payment'))
        ?.evaluate("getComputedStyle(document.querySelector('[name=number]')).color");
    assert.equal(await colour(), 'rgb(255, 240, 240)');
    await fillCard(page, { number: '4000 0000 0000 3220' });
    const confirmed = run<Result>(confirm);
    await authenticate(page);
    assert.equal((await confirmed).paymentIntent?.status, 'succeeded');
    await run('elements.update({ appearance: {} }); element.update({ readOnly: true })');
    await fields.locator('[name=number][readonly]').waitFor();
    assert.equal(await colour(), 'rgb(28, 35, 48)');
  },
  { policy: strictPolicy },
);

shopTest('the locators of public tests for the real library find the same fields', async (shop) => {
  const { page } = shop;
  await mount(shop, everyType, { options: { mode: 'shipping' } });
  const inFrame = (title: string) => page.frameLocator(`main iframe[title="${title}"]`);
  const payment = inFrame('Secure payment input frame');
  const number = inFrame('Secure card number input frame');
  for (const locator of [
    payment.getByRole('textbox', { name: 'Card number' }),
    payment.getByRole('textbox', { name: 'Expiration date MM / YY' }),
    payment.getByRole('textbox', { name: 'Security code' }),
    payment.getByRole('combobox', { name: 'Country' }),
    payment.getByPlaceholder('1234 1234 1234 1234'),
    payment.getByPlaceholder('MM / YY'),
    payment.getByPlaceholder('CVC'),
    payment.getByPlaceholder('12345'),
    number.getByLabel('Credit or debit card number'),
    number.locator('input[data-elements-stable-field-name="cardNumber"]'),
    inFrame('Secure card payment input frame').getByRole('textbox', { name: 'Credit or debit card CVC/CVV' }),
    inFrame('Secure address input frame').locator('input[autocomplete="shipping address-line1"]'),
    inFrame('Secure email input frame').getByPlaceholder('you@example.com'),
    page.frameLocator('iframe[src*="elements-inner-payment"]').locator('[name=postalCode]'),
  ])
    assert.equal(await locator.count(), 1, String(locator));
});

shopTest('every element says that it is a sandbox, and axe finds nothing wrong in it', async (shop) => {
  const { page, run } = shop;
  await mount(shop, everyType, { options: { mode: 'billing', style: { base: { fontSize: '18px' } } } });
  await run('return elements.submit()');
  await page.frameLocator('[title*="card number"]').locator('input').fill('4242 4242 4242 4241');
  const frames = page.frames().filter((frame) => frame.url().includes('/elements-inner-'));
  assert.equal(frames.length, everyType.length);
  for (const frame of frames) await frame.getByText('Sandbox', { exact: true }).waitFor();
  await expectFramesAccessible(page);
});

shopTest(
  'the bank above the page has the focus, works with the keyboard, and axe finds nothing wrong',
  async (shop) => {
    const { page, run } = shop;
    const { secret } = await newPayment({ payment_method: 'pm_card_authenticationRequired' });
    const confirmed = run<Result>(`return stripe.confirmCardPayment('${secret}')`);
    const bank = page.frameLocator('[src*=three-ds-2]').frameLocator('[name=stripe-challenge-frame]');
    await bank.locator('button:focus').getByText('Complete', { exact: true }).waitFor();
    await bank.getByText('Sandbox: no real money moves.').waitFor();
    await expectFramesAccessible(page);
    await page.keyboard.press('Enter');
    assert.equal((await confirmed).paymentIntent?.status, 'succeeded');
  },
);

shopTest(
  'the frame that sends requests calls nothing but the API for browsers',
  async ({ page, run, problems }) => {
    await run("return stripe.retrievePaymentIntent('pi_x_secret_y')");
    problems.expect(/404/);
    const ask = (request: object) =>
      run<{ result: Result }>(`
      const frame = document.querySelector('[name^=__privateStripeController]').contentWindow;
      const heard = new Promise((resolve) => addEventListener('message', ({ data }) => resolve(data), { once: true }));
      frame.postMessage(${JSON.stringify({ type: 'ask', id: 9, headers: {}, ...request })}, '${sandboxUrl}');
      return heard`);
    for (const request of [
      { key: 'pk_test_x', method: 'POST', path: '../sandbox/reset' },
      { key: 'pk_test_x', method: 'POST', path: 'payment_intents/x/../../../sandbox/reset' },
      { key: 'pk_test_x', method: 'GET', path: 'customers' },
      { key: 'sk_test_x', method: 'GET', path: 'payment_intents/pi_x' },
    ])
      assert.match((await ask(request)).result.error?.message ?? '', /not supported by the sandbox/);
    assert.equal(await page.locator('iframe').count(), 1);
  },
);

shopTest(
  'without the sandbox, calls return a connection error and elements report a loaderror',
  async (shop) => {
    const { page, run, problems } = shop;
    problems.expect(/ERR_CONNECTION_REFUSED|another host/);
    const gone = await startSandbox({ port: 0 });
    const library = await (await fetch(`${gone.url}/endive/stripe.js`)).text();
    await gone.close();
    await page.evaluate(library);
    const results = await run<{ type: string }[]>(`
    const stripe = Stripe('pk_test_x');
    const element = stripe.elements().create('card');
    const failed = new Promise((resolve) => element.on('loaderror', ({ error }) => resolve(error)).mount('#element'));
    const { error } = await stripe.retrieveSetupIntent('seti_x_secret_y');
    return [error, await failed]`);
    assert.deepEqual(
      results.map(({ type }) => type),
      ['api_connection_error', 'api_connection_error'],
    );
  },
);
