import assert from 'node:assert/strict';
import { testCards } from '../../payments/test-cards.ts';
import { authenticate, fillCard } from '../../testing/playwright.mjs';
import { clientOf } from '../support.ts';
import { mount, newPayment, newSetup, type Result } from './forms.ts';
import { sandboxUrl, shopTest, stripe } from './shop.ts';

const cardFrame = 'iframe[title="Secure card payment input frame"]';
const partFrames = {
  number: 'iframe[title="Secure card number input frame"]',
  expiry: 'iframe[title="Secure expiration date input frame"]',
  cvc: 'iframe[title="Secure CVC input frame"]',
};
const parts = ['cardNumber', 'cardExpiry', 'cardCvc'];

shopTest('every test card does in a browser what it does in the API', async (shop) => {
  const { page, run, problems } = shop;
  await mount(shop, ['card'], { options: { hidePostalCode: true } });
  problems.expect(/402/);
  const outcomes: string[] = [];
  for (const { number, brand, authentication } of testCards) {
    const { secret } = await newPayment();
    await fillCard(page, { number, cvc: brand === 'amex' ? '1234' : '123' });
    const confirmed = run<Result>(
      `return stripe.confirmCardPayment('${secret}', { payment_method: { card: element } })`,
    );
    if (authentication !== undefined) await authenticate(page);
    const { paymentIntent, error } = await confirmed;
    outcomes.push(`${number} ${paymentIntent?.status ?? error?.decline_code ?? error?.code}`);
  }
  assert.deepEqual(
    outcomes,
    testCards.map(({ number, decline }) => `${number} ${decline?.declineCode ?? 'succeeded'}`),
  );
});

shopTest('typing moves on by itself, and events and classes follow what the customer does', async (shop) => {
  const { page, run } = shop;
  await mount(shop, ['card'], { options: { classes: { complete: 'is-done' } } });
  const classes = () => run<string>("return document.querySelector('#card').className");
  assert.equal(await classes(), 'StripeElement StripeElement--empty');
  await run('element.focus()');
  await page.frameLocator(cardFrame).locator('[name=cardnumber]:focus').waitFor();
  await page.keyboard.type('4242424242424242123412390210');
  await page.frameLocator(cardFrame).locator('[name=postal]:focus').waitFor();
  await page.keyboard.press('Escape');
  const inputs = await page.frameLocator(cardFrame).locator('input').all();
  assert.deepEqual(await Promise.all(inputs.map((input) => input.inputValue())), [
    '4242 4242 4242 4242',
    '12 / 34',
    '123',
    '90210',
  ]);
  assert.equal(await classes(), 'StripeElement StripeElement--focus is-done');
  await run('element.blur(); return new Promise((resolve) => element.once("blur", resolve))');
  await page.frameLocator(cardFrame).locator('[name=cardnumber]').fill('4242 4242 4242 4241');
  await page.locator('.StripeElement--invalid').waitFor();
  await run('element.clear()');
  await page.locator('.StripeElement--empty').waitFor();

  const events = await run<[string, Record<string, unknown>][]>('return events');
  const seen = new Set(events.map(([name]) => name));
  assert.deepEqual([...seen].toSorted(), ['blur', 'change', 'escape', 'focus']);
  const changes = events.flatMap(([name, details]) => (name === 'change' ? [details] : []));
  assert.deepEqual(
    changes.find(({ complete }) => complete),
    {
      elementType: 'card',
      empty: false,
      complete: true,
      error: undefined,
      brand: 'visa',
      value: { postalCode: '90210' },
    },
  );
  assert.ok(changes.some(({ error }) => (error as Result['error'])?.code === 'invalid_number'));
  assert.ok(!JSON.stringify(events).includes('4242'), 'the page never sees the number');
});

shopTest(
  'the three parts of a card are reached by the keyboard and make one payment method',
  async (shop) => {
    const { page, run } = shop;
    await mount(shop, parts);
    await run(`
    document.querySelector('#element').insertAdjacentHTML('afterbegin', '<label for="cardNumber">Number</label>')`);
    await page.getByText('Number', { exact: true }).click();
    await page.frameLocator(partFrames.number).locator('input:focus').waitFor();
    const create = `
    const card = elements.getElement('cardNumber');
    return stripe.createPaymentMethod({ type: 'card', card, billing_details: { email: 'jenny@example.com' } })`;
    await page.keyboard.type('5555555555554444');
    assert.equal((await run<Result>(create)).error?.code, 'incomplete_expiry');
    await page.keyboard.press('Tab');
    await page.keyboard.type('1/39');
    await page.keyboard.press('Tab');
    await page.keyboard.type('123');
    const { paymentMethod } = await run<Result>(create);
    assert.deepEqual(
      [paymentMethod?.card?.brand, paymentMethod?.card?.exp_month, paymentMethod?.card?.exp_year],
      ['mastercard', 1, 2039],
    );
    assert.equal(paymentMethod?.billing_details.email, 'jenny@example.com');
    assert.equal(
      (await run<Result>("return stripe.createToken('cvc_update', element)")).token?.type,
      'cvc_update',
    );
  },
);

shopTest('tokens, payment methods and intents: the other calls of a card', async (shop) => {
  const { page, run, problems } = shop;
  await mount(shop, ['card']);
  await fillCard(page);
  const { token } = await run<Result>(
    "return stripe.createToken(element, { name: 'Jenny', currency: 'usd' })",
  );
  assert.deepEqual(
    [token?.type, token?.used, token?.card?.last4, token?.card?.name, token?.card?.address_zip],
    ['card', false, '4242', 'Jenny', '12345'],
  );
  const source = String(token?.id);
  assert.match(String((await stripe.customers.create({ source })).default_source), /^card_/);
  assert.equal((await stripe.tokens.retrieve(source)).used, true);
  await assert.rejects(stripe.customers.create({ source }), { code: 'token_already_used' });

  const older = await run<Result>("return stripe.createPaymentMethod('card', element)");
  const ofElement = await run<Result>('return stripe.createPaymentMethod({ element })');
  assert.deepEqual([older.paymentMethod?.type, ofElement.paymentMethod?.type], ['card', 'card']);

  const first = await newPayment();
  const untouched = await run<Result>(`
    return stripe.confirmCardPayment('${first.secret}', { payment_method: '${older.paymentMethod?.id}' })`);
  assert.equal(untouched.paymentIntent?.status, 'succeeded');
  const shown = await run<Result>(`return stripe.retrievePaymentIntent('${first.secret}')`);
  assert.equal(shown.paymentIntent?.id, first.id);
  problems.expect(/400/);
  const again = await run<Result>(`return stripe.confirmCardPayment('${first.secret}')`);
  assert.equal(again.error?.code, 'payment_intent_unexpected_state');
  const late = await run<Result>(`return stripe.handleCardAction('${first.secret}')`);
  assert.equal(
    late.error?.message,
    'handleCardAction: The PaymentIntent supplied is not in the requires_action state.',
  );
});

shopTest('what the server has confirmed needs only the action of the customer', async (shop) => {
  const { page, run } = shop;
  const sdk = { payment_method: 'pm_card_authenticationRequired', confirm: true, use_stripe_sdk: true };
  const payments = [await newPayment(sdk), await newPayment(sdk)];
  for (const [index, call] of ['handleCardAction', 'confirmCardPayment'].entries()) {
    const handled = run<Result>(`return stripe.${call}('${payments[index]?.secret}')`);
    await authenticate(page);
    assert.equal((await handled).paymentIntent?.status, 'succeeded', call);
  }
  const setup = await newSetup({ payment_method: 'pm_card_authenticationRequired' });
  const untouched = await run<Result>(`
    return stripe.confirmCardSetup('${setup.secret}', {}, { handleActions: false })`);
  assert.equal(untouched.setupIntent?.status, 'requires_action');
  const handled = run<Result>(`return stripe.handleNextAction({ clientSecret: '${setup.secret}' })`);
  await authenticate(page, 'fail');
  assert.equal((await handled).error?.code, 'setup_intent_authentication_failure');
  const { setupIntent } = await run<Result>(`return stripe.retrieveSetupIntent('${setup.secret}')`);
  assert.equal(setupIntent?.status, 'requires_payment_method');
});

shopTest('a key of a world pays and authenticates in that world', async ({ page, run }) => {
  const world = clientOf(Number(new URL(sandboxUrl).port), 'sk_test_world_browser');
  const intent = await world.paymentIntents.create({ amount: 500, currency: 'usd' });
  const confirmed = run<Result>(`
    const data = { payment_method: 'pm_card_authenticationRequired' };
    return Stripe('pk_test_world_browser').confirmCardPayment('${intent.client_secret}', data)`);
  await authenticate(page);
  assert.equal((await confirmed).paymentIntent?.status, 'succeeded');
  assert.equal((await world.paymentIntents.retrieve(intent.id)).status, 'succeeded');
});
