import assert from 'node:assert/strict';
import { effort } from '../../../test/support/effort.ts';
import { authenticate, fillCard, fillDeclinedCard } from '../../testing/playwright.mjs';
import { mount, newPayment, newSetup, type Result, watchRequests } from './forms.ts';
import { type Age, type Shop, shopTest, shopUrl, stripe } from './shop.ts';

const returnUrl = `${shopUrl}/returned`;
const confirm = "return stripe.confirmPayment({ elements, redirect: 'if_required' })";

const mountPayment = (shop: Shop, clientSecret: string, options?: object) =>
  mount(shop, ['payment'], { group: { clientSecret }, ...(options === undefined ? {} : { options }) });

for (const age of effort<readonly Age[]>({ short: ['newest'], long: ['newest', 'oldest'] }))
  for (const way of ['tag', 'intercepted'] as const)
    shopTest(
      `a payment element pays, with the ${age} packages and the library by ${way}`,
      async (shop) => {
        const { id, secret } = await newPayment({ metadata: { order: '1' } });
        await mountPayment(shop, secret);
        const fields = shop.page.frameLocator('iframe[name^="__privateStripeFrame"]').first();
        await fields.locator(age === 'newest' ? '#payment-numberInput' : '#Field-numberInput').waitFor();
        await fillCard(shop.page);
        const { paymentIntent, error } = await shop.run<Result>(confirm);
        assert.equal(error, undefined);
        assert.equal(paymentIntent?.status, 'succeeded');
        assert.equal(
          paymentIntent.metadata,
          undefined,
          'the page does not see what only the merchant may see',
        );
        const paid = await stripe.paymentIntents.retrieve(id, { expand: ['payment_method'] });
        assert.equal(paid.status, 'succeeded');
        assert.ok(typeof paid.payment_method === 'object');
        const { address } = paid.payment_method?.billing_details ?? {};
        assert.deepEqual([address?.country, address?.postal_code], ['US', '12345']);
      },
      { age, way },
    );

shopTest('a paid payment returns to the return_url with what the processor adds', async (shop) => {
  const { id, secret } = await newPayment();
  await mountPayment(shop, secret);
  await fillCard(shop.page);
  const confirmParams = JSON.stringify({ return_url: `${returnUrl}?order=7` });
  await shop.run(`stripe.confirmPayment({ elements, confirmParams: ${confirmParams} })`);
  await shop.page.waitForURL(`${returnUrl}*`);
  assert.deepEqual(Object.fromEntries(new URL(shop.page.url()).searchParams), {
    order: '7',
    payment_intent: id,
    payment_intent_client_secret: secret,
    redirect_status: 'succeeded',
  });
});

shopTest('incomplete fields are a validation error, shown in the frame, without a request', async (shop) => {
  const { page, run } = shop;
  const { secret } = await newPayment();
  await mountPayment(shop, secret);
  const requests = watchRequests(shop);
  const fields = page.frameLocator('iframe[title="Secure payment input frame"]');
  const codes = [];
  for (const [name, value] of [
    ['number', ''],
    ['number', '4242 4242 4242 4241'],
    ['number', '4242 4242 4242 4242'],
    ['expiry', '12 / 20'],
    ['expiry', '12 / 34'],
    ['cvc', '123'],
  ] as const) {
    await fields.locator(`[name=${name}]`).fill(value);
    const { error } = await run<Result>(confirm);
    codes.push(error?.code);
    assert.equal(error?.type, 'validation_error');
    await fields.getByRole('alert').getByText(error.message).first().waitFor();
  }
  assert.deepEqual(codes, [
    'incomplete_number',
    'invalid_number',
    'incomplete_expiry',
    'invalid_expiry_year_past',
    'incomplete_cvc',
    'incomplete_zip',
  ]);
  assert.deepEqual(await run('return elements.submit()'), {
    error: { type: 'validation_error', code: 'incomplete_zip', message: 'Your postal code is incomplete.' },
  });
  assert.deepEqual(requests, []);
  await fields.locator('[name=country]').selectOption('DE');
  assert.equal(await fields.locator('[name=postalCode]').isVisible(), false);
  assert.deepEqual(await run('return elements.submit()'), { selectedPaymentMethod: 'card' });
});

shopTest('a declined card is an error with the payment, and another card can pay it', async (shop) => {
  const { secret } = await newPayment();
  await mountPayment(shop, secret);
  await fillDeclinedCard(shop.page, 'insufficient_funds');
  shop.problems.expect(/402/);
  const { error } = await shop.run<Result>(confirm);
  assert.deepEqual(
    [error?.type, error?.code, error?.decline_code, error?.payment_intent?.status],
    ['card_error', 'card_declined', 'insufficient_funds', 'requires_payment_method'],
  );
  assert.equal(error?.payment_intent?.metadata, undefined);
  await fillCard(shop.page);
  assert.equal((await shop.run<Result>(confirm)).paymentIntent?.status, 'succeeded');
});

shopTest('3-D Secure opens above the page: completed it pays, failed it is an error', async (shop) => {
  const { page, run } = shop;
  const { secret } = await newPayment();
  await mountPayment(shop, secret);
  const attempt = async (result: 'complete' | 'fail') => {
    await fillCard(page, { number: '4000 0027 6000 3184' });
    const confirmed = run<Result>(confirm);
    await authenticate(page, result);
    return confirmed;
  };
  const { error } = await attempt('fail');
  assert.deepEqual(
    [error?.code, error?.payment_intent?.status],
    ['payment_intent_authentication_failure', 'requires_payment_method'],
  );
  assert.equal((await attempt('complete')).paymentIntent?.status, 'succeeded');
  assert.equal(await page.locator('[role=dialog], [inert]').count(), 0);
});

shopTest('3-D Secure that needs the whole window redirects, and returns to the return_url', async (shop) => {
  const { id, secret } = await newPayment({
    payment_method: 'pm_card_authenticationRequired',
    confirm: true,
    return_url: returnUrl,
  });
  await shop.run(`stripe.handleNextAction({ clientSecret: '${secret}' })`);
  await authenticate(shop.page, 'complete');
  await shop.page.waitForURL(`${returnUrl}*`);
  assert.equal(new URL(shop.page.url()).searchParams.get('redirect_status'), 'succeeded');
  assert.equal((await stripe.paymentIntents.retrieve(id)).status, 'succeeded');
});

shopTest(
  'a setup element saves a card, with the e-mail and the address of the other elements',
  async (shop) => {
    const { page, run } = shop;
    const customer = await stripe.customers.create({});
    const { id, secret } = await newSetup({ customer: customer.id });
    await mount(shop, ['linkAuthentication', 'address', 'payment'], {
      group: { clientSecret: secret },
      options: { mode: 'billing' },
    });
    await page
      .frameLocator('iframe[title="Secure email input frame"]')
      .getByLabel('Email')
      .fill('jenny@example.com');
    const address = page.frameLocator('iframe[title="Secure address input frame"]');
    await address.getByLabel('Full name').fill('Jenny Rosen');
    await address.getByLabel('Country or region').selectOption('FR');
    await address.locator('[name=addressLine1]').fill('1 rue de Rivoli');
    await address.locator('[name=locality]').fill('Paris');
    await address.locator('[name=postalCode]').fill('75001');
    await fillCard(page, { number: '4000 0025 0000 3155' });
    const confirmed = run<Result>("return stripe.confirmSetup({ elements, redirect: 'if_required' })");
    await authenticate(page);
    const { setupIntent, error } = await confirmed;
    assert.equal(error, undefined);
    assert.equal(setupIntent?.status, 'succeeded');
    const saved = await stripe.setupIntents.retrieve(id, { expand: ['payment_method'] });
    assert.ok(typeof saved.payment_method === 'object' && saved.payment_method !== null);
    const { billing_details: billing, customer: owner } = saved.payment_method;
    assert.deepEqual(
      [owner, billing.email, billing.name, billing.address?.city, billing.address?.country],
      [customer.id, 'jenny@example.com', 'Jenny Rosen', 'Paris', 'FR'],
    );
    const value = await run<{ complete: boolean; value: { name: string } }>(
      "return elements.getElement('address').getValue()",
    );
    assert.deepEqual([value.complete, value.value.name], [true, 'Jenny Rosen']);
  },
);

shopTest(
  'a form without an intent yields a confirmation token, with which the server confirms',
  async (shop) => {
    const { page, run } = shop;
    await mount(shop, ['payment'], { group: { mode: 'payment', amount: 500, currency: 'usd' } });
    await fillCard(page, { number: '4000 0027 6000 3184' });
    await assert.rejects(
      run('stripe.createConfirmationToken({ elements })'),
      /elements\.submit\(\) must be called/,
    );
    assert.deepEqual(await run('return elements.submit()'), { selectedPaymentMethod: 'card' });
    const { confirmationToken } = await run<Result>(
      `return stripe.createConfirmationToken({ elements, params: { return_url: '${returnUrl}' } })`,
    );
    assert.equal(confirmationToken?.payment_method_preview?.card?.last4, '3184');
    const token = String(confirmationToken?.id);
    assert.equal((await stripe.confirmationTokens.retrieve(token)).payment_intent, null);
    const params = { amount: 500, currency: 'usd', confirm: true, confirmation_token: token };
    const intent = await stripe.paymentIntents.create(params);
    assert.equal(intent.status, 'requires_action');
    assert.equal((await stripe.confirmationTokens.retrieve(token)).payment_intent, intent.id);
    await assert.rejects(stripe.paymentIntents.create(params), /already been used/);
    const handled = run<Result>(
      `return stripe.handleNextAction({ clientSecret: '${intent.client_secret}' })`,
    );
    await authenticate(page);
    assert.equal((await handled).paymentIntent?.status, 'succeeded');
  },
);

shopTest('a wrong client secret is a loaderror, and a changed intent is fetched again', async (shop) => {
  const { run, problems } = shop;
  const { id, secret } = await newPayment();
  await mountPayment(shop, secret);
  await stripe.paymentIntents.update(id, { amount: 700 });
  assert.deepEqual(await run('return elements.fetchUpdates()'), {});
  problems.expect(/404/);
  const error = await run<Result['error']>(`
    element.destroy();
    const wrong = stripe.elements({ clientSecret: '${id}_secret_wrong' }).create('payment');
    return new Promise((resolve) => wrong.on('loaderror', ({ error }) => resolve(error)).mount('#element'));`);
  assert.equal(error?.code, 'resource_missing');
  await assert.rejects(
    run("stripe.elements({ clientSecret: 'pi_x' })"),
    /should be a client secret of the form/,
  );
});
