import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import type Stripe from 'stripe';
import { startSandbox } from '../sandbox.ts';
import { type OpenedPage, openPage } from './page-support.ts';
import { clientOf, customerAndPrice, useReceiver, useSandbox, worldOf } from './support.ts';

const sandbox = await startSandbox({ port: 0 });
after(() => sandbox.close());
const stripe = clientOf(sandbox.port);
const success = 'https://shop.example/done?id={CHECKOUT_SESSION_ID}';
const urls = { success_url: success, cancel_url: 'https://shop.example/cart' };

async function sell(
  more: Partial<Stripe.Checkout.SessionCreateParams> = {},
): Promise<Stripe.Checkout.Session> {
  const product_data = { name: 'Mug <b>' };
  return stripe.checkout.sessions.create({
    mode: 'payment',
    line_items: [{ price_data: { currency: 'eur', unit_amount: 900, product_data }, quantity: 2 }],
    ...urls,
    ...more,
  });
}

async function subscribe(more: Partial<Stripe.Checkout.SessionCreateParams> = {}, amount = 900) {
  const { customer, price } = await customerAndPrice(stripe, { unit_amount: amount });
  const session = await stripe.checkout.sessions.create({
    ...{ mode: 'subscription', line_items: [{ price: price.id, quantity: 1 }], customer: customer.id },
    ...urls,
    ...more,
  });
  return { session, customer, price };
}

const open = ({ url }: Stripe.Checkout.Session) => openPage(String(url));
const retrieve = ({ id }: Stripe.Checkout.Session) => stripe.checkout.sessions.retrieve(id);
const card = (cardNumber = '4242 4242 4242 4242') => ({
  payment_method: 'new',
  ...{ cardNumber, cardExpiry: '12 / 34', cardCvc: '123', billingName: 'Jenny Rosen' },
});
const email = 'jenny@example.com';

function contains(page: OpenedPage, parts: readonly string[]): void {
  for (const part of parts) assert.ok(page.text.includes(part), `${part} in ${page.text}`);
}

test('a purchase shows its lines, and a card pays it before the buyer returns', async () => {
  const session = await sell();
  const page = await open(session);
  contains(page, ['Pay Sandbox €18.00', 'Mug <b> × 2 €18.00', 'Total due today €18.00', 'Back to Sandbox']);
  assert.match(page.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
  const { page: done, location } = await page.send({ email, ...card() });
  assert.equal(location, `/c/pay/${session.id}?done`);
  assert.equal(done.continuesAt, `https://shop.example/done?id=${session.id}`);
  const complete = await retrieve(session);
  assert.deepEqual([complete.status, complete.payment_status, complete.url], ['complete', 'paid', null]);
  assert.deepEqual(
    [complete.customer_details?.email, complete.customer_details?.name],
    [email, 'Jenny Rosen'],
  );
  // An old link leads nowhere by itself, and an old form pays nothing again.
  const old = await openPage(String(session.url));
  assert.deepEqual([old.continuesAt, /Your order is complete/.test(old.text)], [null, true]);
  await page.send({ email, ...card() });
  assert.equal(
    (await stripe.charges.list({ payment_intent: String(complete.payment_intent) })).data.length,
    1,
  );
});

test('two tabs and a double click pay once', async () => {
  const { session } = await subscribe();
  const [first, second] = await Promise.all([open(session), open(session)]);
  const sent = await Promise.all([first, second, second].map((page) => page.send(card())));
  for (const { page } of sent) assert.ok(page.continuesAt?.includes(session.id));
  const { data } = await stripe.subscriptions.list({ customer: String((await retrieve(session)).customer) });
  assert.equal(data.length, 1);
});

test('a declined card and a mistake leave the page open, with what the buyer entered', async () => {
  const session = await sell({
    billing_address_collection: 'required',
    tax_id_collection: { enabled: true },
  });
  const page = await open(session);
  const entered = { email, billingCountry: 'DE', billingAddressLine1: 'Weg 1', taxId: 'DE123' };
  for (const [fields, message] of [
    [{ ...entered, email: 'jenny' }, 'Your email address is incomplete.'],
    [{ ...entered, billingAddressLine1: '' }, 'Your billing address is incomplete.'],
    [{ ...entered, cardNumber: '4242' }, 'Your card number is incomplete.'],
  ] as const) {
    const refused = await page.sendRefused({ ...card(), ...fields });
    assert.equal(refused.status, 400);
    contains(refused, [message]);
    assert.ok(refused.markup.includes('value="DE123"'));
  }
  const { page: declined } = await page.send({ ...card('4000 0000 0000 9995'), ...entered });
  contains(declined, ['Your card has insufficient funds.', 'Pay €18.00']);
  assert.ok(declined.markup.includes(`value="${email}"`) && declined.markup.includes('value="Weg 1"'));
  assert.doesNotMatch(declined.markup, /id="cardNumber"[^>]*value/);
  assert.equal((await retrieve(session)).status, 'open');
  await declined.send({ ...card(), ...entered });
  const { customer_details: details } = await retrieve(session);
  assert.deepEqual(details?.tax_ids, [{ type: 'eu_vat', value: 'DE123' }]);
  assert.deepEqual([details?.address?.line1, details?.address?.country], ['Weg 1', 'DE']);
});

test('an order is sent to an address in an allowed country, which stays on the page after a mistake', async () => {
  const session = await sell({
    shipping_address_collection: { allowed_countries: ['DE', 'US'] },
    customer_creation: 'always',
  });
  const page = await open(session);
  contains(page, ['Shipping address', 'Germany', 'United States']);
  const [, options = ''] = /<select id="shippingCountry"[^>]*>(.*?)<\/select>/.exec(page.markup) ?? [];
  assert.deepEqual(
    [...options.matchAll(/value="([^"]*)"/g)].map(([, code]) => code),
    ['', 'DE', 'US'],
  );
  const sentTo = { shippingName: 'Tom', shippingCountry: 'DE', shippingAddressLine1: 'Main Street 1' };
  const wrong = [{ shippingCountry: 'FR' }, { shippingName: ' ' }, { shippingAddressLine1: '' }];
  for (const mistake of wrong)
    contains(await page.sendRefused({ email, ...card(), ...sentTo, ...mistake }), [
      'Your shipping address is incomplete.',
    ]);
  const refused = await page.sendRefused({ email, ...card(), ...sentTo, cardNumber: '4242' });
  assert.match(refused.markup, /id="shippingName"[^>]*value="Tom"/);
  assert.match(refused.markup, /value="DE" selected/);
  await page.send({ email, ...card(), ...sentTo });
  const { collected_information, payment_intent, customer } = await stripe.checkout.sessions.retrieve(
    session.id,
    {
      expand: ['payment_intent', 'customer'],
    },
  );
  const { shipping_details: shown } = collected_information ?? {};
  assert.deepEqual(
    [shown?.name, shown?.address.country, shown?.address.line1],
    ['Tom', 'DE', 'Main Street 1'],
  );
  assert.ok(payment_intent !== null && typeof payment_intent === 'object');
  assert.deepEqual(payment_intent.shipping?.address, shown?.address);
  assert.ok(customer !== null && typeof customer === 'object' && customer.deleted !== true);
  assert.deepEqual([customer.shipping?.name, customer.shipping?.address?.country], ['Tom', 'DE']);
});

test('a card that requires authentication leads to the bank and back, and completes only then', async () => {
  const { session } = await subscribe();
  const page = await open(session);
  const pay = async () => (await page.send(card('4000 0000 0000 3220'))).page;
  const bank = await pay();
  contains(bank, ['Confirm with your bank', '$9.00']);
  contains(await open(session), ['The last payment waits for your bank. Confirm it']);
  const failed = await bank.send({ result: 'failed' });
  contains(await openPage(String(failed.page.continuesAt)), ['The authentication failed.']);
  assert.equal((await retrieve(session)).subscription, null);
  const { page: back } = await (await pay()).send({ result: 'succeeded' });
  const done = await openPage(String(back.continuesAt));
  assert.ok(done.continuesAt?.endsWith(session.id));
  assert.equal((await retrieve(session)).status, 'complete');
});

test('a trial says what follows, and asks for no card if none is needed', async () => {
  const trial = { trial_period_days: 14 };
  const { session } = await subscribe({ subscription_data: trial });
  const page = await open(session);
  contains(page, ['Try Plan $0.00 14 days free, then $9.00 per month', 'Card number', 'Start trial']);
  const { session: free } = await subscribe({
    subscription_data: trial,
    payment_method_collection: 'if_required',
  });
  const without = await open(free);
  assert.doesNotMatch(without.text, /Card number/);
  await without.send({});
  const { status, subscription } = await retrieve(free);
  assert.equal(status, 'complete');
  assert.equal((await stripe.subscriptions.retrieve(String(subscription))).status, 'trialing');
});

test('a promotion code reduces the price, and a wrong one says so', async () => {
  const coupon = await stripe.coupons.create({ percent_off: 50, duration: 'once' });
  const code = `HALF${Date.now()}`;
  await stripe.promotionCodes.create({ promotion: { type: 'coupon', coupon: coupon.id }, code });
  const { session } = await subscribe({ allow_promotion_codes: true });
  const page = await open(session);
  const refused = await page.sendRefused({ promotion_code: 'NONE' });
  contains(refused, ['This code is invalid.']);
  const { page: reduced } = await page.send({ promotion_code: code.toLowerCase() });
  contains(reduced, [`Discount -$4.50`, 'Total due today $4.50', `Remove ${code}`]);
  const { page: full } = await reduced.send({ promotion_code: '' });
  contains(full, ['Total due today $9.00', 'Promotion code']);
  await full.send({ promotion_code: code });
  await page.send(card(), '/c/pay');
  assert.equal((await retrieve(session)).amount_total, 450);
});

test('a promotion code at its limit is not redeemed by a buyer who was at the bank meanwhile', async () => {
  const coupon = await stripe.coupons.create({ percent_off: 20, duration: 'once' });
  for (const begin of [sell, async (more: object) => (await subscribe(more)).session]) {
    const promotion = { type: 'coupon' as const, coupon: coupon.id };
    const { id, code } = await stripe.promotionCodes.create({ promotion, max_redemptions: 1 });
    const slow = await begin({ allow_promotion_codes: true });
    const page = await open(slow);
    await page.send({ promotion_code: code });
    const { page: bank } = await page.send({ email, ...card('4000 0000 0000 3220') });

    const fast = await open(await sell({ allow_promotion_codes: true }));
    await fast.send({ promotion_code: code });
    await fast.send({ email, ...card() });

    const { page: back } = await bank.send({ result: 'succeeded' });
    contains(await openPage(String(back.continuesAt)), ['The authentication failed.']);
    assert.equal((await retrieve(slow)).status, 'open');
    contains(await page.sendRefused({ email, ...card() }), ['This promotion code cannot be redeemed']);
    assert.equal((await stripe.promotionCodes.retrieve(id)).times_redeemed, 1);
    await page.send({ promotion_code: '' });
    await page.send({ email, ...card() });
    const { status, total_details: totals } = await retrieve(slow);
    assert.deepEqual([status, totals?.amount_discount], ['complete', 0]);
  }
});

test('a customer who is deleted while the buyer is at the bank gets no subscription', async () => {
  const { session, customer } = await subscribe();
  const { page: bank } = await (await open(session)).send(card('4000 0000 0000 3220'));
  await stripe.customers.del(customer.id);
  await bank.send({ result: 'succeeded' });
  assert.deepEqual(
    [(await retrieve(session)).status, (await stripe.subscriptions.list({ customer: customer.id })).data],
    ['open', []],
  );
});

test('a saved card pays, and a card is saved without a payment', async () => {
  const { session, customer } = await subscribe();
  const saved = await stripe.paymentMethods.attach('pm_card_mastercard', { customer: customer.id });
  const page = await open(session);
  contains(page, ['jenny@example.com', 'Mastercard ending in 4444']);
  await page.send({ payment_method: saved.id });
  const { subscription } = await retrieve(session);
  const { default_payment_method: used } = await stripe.subscriptions.retrieve(String(subscription));
  assert.equal(used, saved.id);

  const setup = await stripe.checkout.sessions.create({
    ...{ mode: 'setup', currency: 'usd', customer: customer.id, success_url: success },
  });
  const form = await open(setup);
  contains(form, ['Save your card', 'Save card']);
  assert.doesNotMatch(form.text, /Mastercard ending|Back to Sandbox/);
  const { page: done } = await form.send(card());
  contains(done, ['Your card is saved']);
  assert.equal((await stripe.customers.listPaymentMethods(customer.id)).data.length, 2);
});

test('an expired session cannot be paid, and an unknown one has no page', async () => {
  const session = await sell();
  const page = await open(session);
  await stripe.checkout.sessions.expire(session.id);
  const late = await openPage(String(session.url));
  contains(late, ['This page has expired', 'You have not been charged.']);
  assert.doesNotMatch(late.markup, /<form/);
  contains((await page.send({ email, ...card() })).page, ['This page has expired']);
  assert.equal((await openPage(`${sandbox.url}/c/pay/cs_test_none`)).status, 404);
});

test('the buyer returns after the webhook endpoints have responded, unless that is switched off', async (t) => {
  const receiver = await useReceiver(t);
  const webhook = { url: receiver.url, secret: 'whsec_x' };
  const { stripe: client, control } = await useSandbox(t, { webhook });
  const buy = async () => {
    const { url, id } = await client.checkout.sessions.create({
      ...{ mode: 'setup', currency: 'usd', success_url: success },
    });
    const { page } = await (await openPage(String(url))).send({ email, ...card() });
    assert.ok(page.continuesAt?.endsWith(id));
    return receiver.received.some(
      ({ event }) => event.type === 'checkout.session.completed' && event.data.object.id === id,
    );
  };
  assert.equal(await buy(), true);
  await control('POST', 'checkout', { waitsForWebhook: false });
  // An endpoint that never responds.
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => {
    silent.close();
    silent.closeAllConnections();
  });
  const { port } = silent.address() as AddressInfo;
  await client.webhookEndpoints.create({
    url: `http://127.0.0.1:${port}`,
    enabled_events: ['checkout.session.completed'],
  });
  await buy();
});

test('the payment page of a world is below its path, and a page in a frame needs its secret', async () => {
  const world = worldOf(sandbox, 'page');
  const { url } = await world.stripe.checkout.sessions.create({
    ...{ mode: 'setup', currency: 'usd', success_url: success },
  });
  assert.match(String(url), /\/worlds\/page\/c\/pay\/cs_test_/);
  const { page } = await (await openPage(String(url))).send({ email, ...card('4000 0000 0000 3220') });
  const { page: back } = await page.send({ result: 'succeeded' });
  assert.match(String((await openPage(String(back.continuesAt))).continuesAt), /done\?id=cs_test_/);

  const { id, client_secret: secret } = await stripe.checkout.sessions.create({
    ...{ mode: 'setup', currency: 'usd', ui_mode: 'embedded_page', return_url: success },
  });
  const address = `${sandbox.url}/c/pay/${id}`;
  assert.equal((await openPage(address)).status, 404);
  assert.equal((await openPage(`${address}?secret=guess`)).status, 404);
  const framed = await openPage(`${address}?secret=${secret}`);
  assert.match(framed.headers.get('content-security-policy') ?? '', /frame-ancestors \*/);
  const { page: done } = await framed.send({ email, ...card() });
  assert.deepEqual(
    [done.continuesAt, done.markup.includes(`data-completed="https://shop.example/done?id=${id}"`)],
    [null, true],
  );
});
