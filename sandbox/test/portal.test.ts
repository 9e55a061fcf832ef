import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type Stripe from 'stripe';
import { startSandbox } from '../sandbox.ts';
import { type OpenedPage, openPage } from './page-support.ts';
import { callControl, clientOf, customerAndPrice } from './support.ts';

const sandbox = await startSandbox({ port: 0 });
after(() => sandbox.close());
const stripe = clientOf(sandbox.port);
const { billingPortal: portal } = stripe;
const shop = 'https://shop.example/account';

/** A customer with a card and a subscription. */
async function subscriber() {
  const { customer, price } = await customerAndPrice(stripe);
  const card = await stripe.paymentMethods.attach('pm_card_visa', { customer: customer.id });
  await stripe.customers.update(customer.id, { invoice_settings: { default_payment_method: card.id } });
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
  });
  return { customer: customer.id, price, card, subscription };
}

const open = async (params: Stripe.BillingPortal.SessionCreateParams): Promise<OpenedPage> =>
  openPage((await portal.sessions.create({ return_url: shop, ...params })).url);
const periodEnd = ({ items }: Stripe.Subscription) => items.data[0]?.current_period_end;

/** The types of the events that the work causes. */
async function eventsOf(work: () => Promise<unknown>): Promise<string[]> {
  const count = async () => (await stripe.events.list({ limit: 100 })).data;
  const before = new Set((await count()).map(({ id }) => id));
  await work();
  return (await count())
    .filter(({ id }) => !before.has(id))
    .map(({ type }) => type)
    .reverse();
}

test('a session without a configuration gets the default one, which allows everything but changes of plans', async () => {
  const { customer } = await subscriber();
  const types = await eventsOf(async () => {
    const session = await portal.sessions.create({ customer, return_url: shop, locale: 'de' });
    assert.equal(session.object, 'billing_portal.session');
    assert.deepEqual([session.customer, session.return_url, session.locale], [customer, shop, 'de']);
    const configuration = await portal.configurations.retrieve(String(session.configuration));
    assert.deepEqual([configuration.is_default, configuration.active], [true, true]);
    const { features } = configuration;
    assert.deepEqual(
      Object.entries(features).map(([name, { enabled }]) => [name, enabled]),
      [
        ['customer_update', true],
        ['invoice_history', true],
        ['payment_method_update', true],
        ['subscription_cancel', true],
        ['subscription_pause', false],
        ['subscription_update', false],
      ],
    );
  });
  assert.deepEqual(types, ['billing_portal.configuration.created', 'billing_portal.session.created']);
  const again = await portal.sessions.create({ customer, expand: ['configuration'] });
  assert.equal(typeof again.configuration === 'object' && again.configuration.is_default, true);
  assert.equal((await portal.configurations.list({ is_default: true })).data.length, 1);
});

test('a configuration keeps what an update does not name, and an inactive one opens no session', async () => {
  const { customer, price } = await subscriber();
  const created = await portal.configurations.create({
    business_profile: { headline: 'Shop', privacy_policy_url: 'https://shop.example/privacy' },
    default_return_url: shop,
    features: {
      subscription_cancel: {
        enabled: true,
        mode: 'immediately',
        cancellation_reason: { enabled: true, options: ['unused', 'other'] },
      },
      subscription_update: {
        enabled: true,
        default_allowed_updates: ['price'],
        products: [{ product: String(price.product), prices: [price.id] }],
        proration_behavior: 'create_prorations',
      },
    },
    metadata: { app: 'shop' },
  });
  assert.deepEqual([created.is_default, created.default_return_url], [false, shop]);
  assert.deepEqual(created.features.subscription_update.products, [
    {
      adjustable_quantity: { enabled: false, maximum: null, minimum: 1 },
      prices: [price.id],
      product: price.product,
    },
  ]);
  const updated = await portal.configurations.update(created.id, {
    business_profile: { headline: '' },
    features: { subscription_cancel: { mode: 'at_period_end' }, invoice_history: { enabled: true } },
    login_page: { enabled: true },
    metadata: { more: 'yes' },
  });
  const { subscription_cancel: cancel, invoice_history: history } = updated.features;
  assert.deepEqual(
    [cancel.enabled, cancel.mode, cancel.cancellation_reason.options, history.enabled],
    [true, 'at_period_end', ['unused', 'other'], true],
  );
  assert.deepEqual(updated.features.subscription_update, created.features.subscription_update);
  assert.deepEqual(updated.business_profile, { ...created.business_profile, headline: null });
  assert.deepEqual(updated.metadata, { app: 'shop', more: 'yes' });
  assert.equal((await portal.sessions.create({ customer, configuration: created.id })).return_url, shop);
  await portal.configurations.update(created.id, { active: false });
  await assert.rejects(portal.sessions.create({ customer, configuration: created.id }), /is not active/);
  const inactive = await portal.configurations.list({ active: false });
  assert.deepEqual(
    inactive.data.map(({ id }) => id),
    [created.id],
  );
});

test('what the portal cannot do is refused when the session is created', async () => {
  const { customer, subscription, price } = await subscriber();
  const other = await subscriber();
  const { id: configuration } = await portal.configurations.create({
    features: {
      subscription_cancel: { enabled: true },
      subscription_update: {
        enabled: true,
        default_allowed_updates: ['price', 'quantity'],
        products: [{ product: String(price.product), prices: [price.id] }],
      },
    },
  });
  const item = String(subscription.items.data[0]?.id);
  const cancel = { type: 'subscription_cancel', subscription_cancel: { subscription: subscription.id } };
  const confirm = (change: object) => ({
    type: 'subscription_update_confirm',
    subscription_update_confirm: { subscription: subscription.id, items: [{ id: item, ...change }] },
  });
  const refusals: [Stripe.BillingPortal.SessionCreateParams, RegExp][] = [
    [{ customer: 'cus_none' }, /No such customer: 'cus_none'/],
    [{ customer, configuration: 'bpc_none' }, /No such configuration: 'bpc_none'/],
    [{ customer, locale: 'xx' }, /Invalid locale/],
    [{ customer, return_url: 'shop' }, /Not a valid URL/],
    [{ customer, on_behalf_of: 'acct_x' }, /Received unknown parameter: on_behalf_of/],
    [{ customer, configuration, flow_data: { type: 'payment_method_update' } }, /is disabled/],
    [
      {
        customer,
        flow_data: {
          type: 'subscription_update',
          subscription_update: { subscription: subscription.id },
        },
      },
      /This subscription cannot be updated because the subscription update feature in the portal configuration is disabled\./,
    ],
    [
      { customer, flow_data: { type: 'subscription_cancel' } },
      /Missing required param: flow_data\[subscription_cancel\]/,
    ],
    [{ customer: other.customer, flow_data: cancel }, /No such subscription/],
    [
      { customer, flow_data: { type: 'payment_method_update', after_completion: { type: 'redirect' } } },
      /Missing required param: flow_data\[after_completion\]\[redirect\]/,
    ],
    [
      { customer, configuration, flow_data: confirm({ price: other.price.id }) },
      /cannot be updated to price .* does not include the price/,
    ],
    [{ customer, configuration, flow_data: confirm({ quantity: 1 }) }, /no changes to confirm/],
  ];
  for (const [params, message] of refusals) await assert.rejects(portal.sessions.create(params), message);
  await stripe.subscriptions.update(subscription.id, { cancel_at_period_end: true });
  await assert.rejects(
    portal.sessions.create({ customer, flow_data: cancel }),
    /The subscription is already set to be canceled at period end/,
  );
  await assert.rejects(
    portal.configurations.create({
      features: {
        subscription_update: { enabled: true, products: [{ product: 'prod_none', prices: ['x'] }] },
      },
    }),
    /No such product: 'prod_none'/,
  );
});

test('the home page shows the plan, the cards, the information and the invoices, and links back', async () => {
  const { customer, subscription } = await subscriber();
  const page = await open({ customer });
  assert.equal(page.status, 200);
  for (const part of [
    'Plan, $15.00 per month',
    `Renews on `,
    'Visa ending in 4242, expires 12/2034 Default',
    'Jenny jenny@example.com',
    'Paid $15.00',
    'Return to Sandbox',
  ])
    assert.ok(page.text.includes(part), `${part} in ${page.text}`);
  assert.ok(page.markup.includes(`href="${shop}"`));
  assert.doesNotMatch(page.text, /Change plan/);
  const [invoice] = (await stripe.invoices.list({ subscription: subscription.id })).data;
  assert.match((await page.follow(String(invoice?.number))).text, /Paid on/);
  assert.match(page.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
});

test('a plan is canceled at the end of its period and taken back, with the events of the API', async () => {
  const { customer, subscription } = await subscriber();
  const page = await (await open({ customer })).follow('Cancel plan');
  assert.match(page.text, /You keep your plan until/);
  const types = await eventsOf(async () => {
    const { page: home } = await page.send({});
    assert.match(home.text, /Ends on /);
    const ending = await stripe.subscriptions.retrieve(subscription.id);
    // As at the processor, a plan in flexible billing mode gets a date.
    assert.deepEqual([ending.cancel_at, ending.cancel_at_period_end], [periodEnd(ending), false]);
    assert.equal(ending.cancellation_details?.reason, 'cancellation_requested');
    const { page: kept } = await home.send({}, 'step=renew');
    assert.match(kept.text, /Renews on/);
  });
  assert.deepEqual(types, ['customer.subscription.updated', 'customer.subscription.updated']);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).cancel_at, null);
  const classic = await stripe.subscriptions.create({
    customer,
    items: [{ price: String(subscription.items.data[0]?.price.id) }],
    billing_mode: { type: 'classic' },
  });
  const flow = { type: 'subscription_cancel', subscription_cancel: { subscription: classic.id } };
  await (await open({ customer, flow_data: flow })).send({});
  assert.equal((await stripe.subscriptions.retrieve(classic.id)).cancel_at_period_end, true);
});

test('a configuration can end a plan at once, and ask why', async () => {
  const { customer, subscription } = await subscriber();
  const { id: configuration } = await portal.configurations.create({
    features: {
      subscription_cancel: {
        enabled: true,
        mode: 'immediately',
        cancellation_reason: { enabled: true, options: ['too_expensive', 'other'] },
      },
    },
  });
  const home = await open({ customer, configuration });
  assert.doesNotMatch(home.text, /Invoices|Cards|Billing information/);
  const page = await home.follow('Cancel plan');
  assert.match(page.text, /Your plan ends now\. .*Too expensive Other/);
  await page.send({ feedback: 'too_expensive', comment: 'Sorry' });
  const ended = await stripe.subscriptions.retrieve(subscription.id);
  assert.equal(ended.status, 'canceled');
  assert.deepEqual(
    [ended.cancellation_details?.feedback, ended.cancellation_details?.comment],
    ['too_expensive', 'Sorry'],
  );
});

test('cards are added, made the default and removed; a declined or incomplete card says so', async () => {
  const { customer, card } = await subscriber();
  const form = await (await open({ customer })).follow('Add a card');
  assert.match(form.text, /4000 0000 0000 0002: Declined: generic_decline\./);
  const enter = (cardNumber: string, more = {}) => ({
    payment_method: 'new',
    ...{ cardNumber, cardExpiry: '12 / 34', cardCvc: '123', ...more },
  });
  for (const [fields, message] of [
    [enter(''), 'Your card number is incomplete.'],
    [enter('4242 4242 4242 4241'), 'Your card number is invalid.'],
    [enter('4242 4242 4242 4242', { cardExpiry: '01 / 20' }), "Your card's expiration year is in the past."],
    [enter('4242 4242 4242 4242', { cardCvc: '1' }), "Your card's security code is incomplete."],
    [enter('4000 0000 0000 9995'), 'Your card has insufficient funds.'],
    [{ payment_method: 'pm_card_visa_chargeDeclined' }, 'Your card was declined.'],
  ] as const) {
    const refused = await form.sendRefused(fields);
    assert.ok(refused.text.includes(message), `${message} in ${refused.text}`);
  }
  const types = await eventsOf(async () => {
    const { page } = await form.send(enter('5555 5555 5555 4444', { billingName: 'Jenny Q' }));
    assert.match(page.text, /Mastercard ending in 4444, expires 12\/2034 Make default/);
    const { page: changed } = await page.send({}, 'step=default_card');
    assert.match(changed.text, /Mastercard ending in 4444, expires 12\/2034 Default/);
    await changed.send({}, `step=remove_card&card=${card.id}`);
  });
  assert.deepEqual(types, [
    'setup_intent.created',
    'payment_method.attached',
    'setup_intent.succeeded',
    'customer.updated',
    'payment_method.detached',
  ]);
  const { data } = await stripe.customers.listPaymentMethods(customer);
  assert.deepEqual(
    data.map(({ billing_details: { name } }) => name),
    ['Jenny Q'],
  );
});

test('a flow for a new card leads to the bank, makes the card the default, and returns to the shop', async () => {
  const { customer } = await subscriber();
  const page = await open({
    customer,
    flow_data: {
      type: 'payment_method_update',
      after_completion: { type: 'redirect', redirect: { return_url: 'https://shop.example/done' } },
    },
  });
  assert.match(page.text, /Add a card/);
  const bank = await page.send({ payment_method: 'pm_card_threeDSecure2Required' });
  assert.match(bank.page.text, /asks to save your card/);
  const failed = await bank.page.send({ result: 'failed' });
  assert.match((await openPage(String(failed.page.continuesAt))).text, /The authentication failed/);
  const again = await page.send({ payment_method: 'pm_card_threeDSecure2Required' });
  const succeeded = await again.page.send({ result: 'succeeded' });
  const done = await openPage(String(succeeded.page.continuesAt));
  assert.equal(done.continuesAt, 'https://shop.example/done');
  const { invoice_settings: settings } = (await stripe.customers.retrieve(customer, {
    expand: ['invoice_settings.default_payment_method'],
  })) as Stripe.Customer;
  const method = settings.default_payment_method;
  assert.equal(typeof method === 'object' && method?.card?.last4, '3220');
});

test('billing information is changed as far as the configuration allows it', async () => {
  const { customer } = await subscriber();
  const form = await (await open({ customer })).follow('Update information');
  const { page } = await form.send({
    name: 'Jenny <i>Q</i>',
    email: 'new@example.com',
    billingCountry: 'FR',
    billingLocality: 'Paris',
  });
  assert.match(page.text, /Jenny <i>Q<\/i> new@example\.com Paris, FR/);
  const refused = await form.sendRefused({ name: 'Jenny', email: 'nothing' });
  assert.match(refused.text, /Invalid email address: nothing/);
  const { id: configuration } = await portal.configurations.create({
    features: { customer_update: { enabled: true, allowed_updates: ['name'] } },
  });
  const flow = {
    type: 'customer_update',
    after_completion: { type: 'hosted_confirmation', hosted_confirmation: { custom_message: 'Thank you.' } },
  };
  const limited = await open({ customer, configuration, flow_data: flow });
  const { page: done } = await limited.send({ name: 'Jenny', email: 'other@example.com' });
  assert.match(done.text, /Thank you\./);
  const changed = (await stripe.customers.retrieve(customer)) as Stripe.Customer;
  assert.deepEqual(
    [changed.name, changed.email, changed.address?.city],
    ['Jenny', 'new@example.com', 'Paris'],
  );
});

test('a plan is changed to a price of the configuration, after a look at what it costs', async () => {
  const { customer, price, subscription } = await subscriber();
  const larger = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 4_500,
    recurring: { interval: 'month' },
    product_data: { name: 'Large' },
  });
  const coupon = await stripe.coupons.create({ percent_off: 10, duration: 'forever' });
  await stripe.promotionCodes.create({ promotion: { type: 'coupon', coupon: coupon.id }, code: 'TEN' });
  const { id: configuration } = await portal.configurations.create({
    features: {
      subscription_update: {
        enabled: true,
        default_allowed_updates: ['price', 'quantity', 'promotion_code'],
        products: [price, larger].map(({ id, product }) => ({ product: String(product), prices: [id] })),
        proration_behavior: 'always_invoice',
      },
    },
  });
  const flow = { type: 'subscription_update', subscription_update: { subscription: subscription.id } };
  const session = await portal.sessions.create({ customer, configuration, flow_data: flow });
  const form = await openPage(session.url);
  assert.match(form.text, /Plan, \$15\.00 per month Large, \$45\.00 per month/);
  const chosen = { step: 'confirm', subscription: subscription.id, price: larger.id, quantity: '2' };
  const confirm = (more: object) => openPage(`${session.url}?${new URLSearchParams({ ...chosen, ...more })}`);
  const page = await confirm({ code: 'TEN' });
  assert.match(page.text, /Your new plan: Large, \$45\.00 per month\. Due today/);
  assert.match((await (await confirm({ code: 'NONE' })).sendRefused({})).text, /This code is invalid\./);
  assert.match((await confirm({ price: 'price_other' })).text, /Choose one of the plans\./);
  const { page: home } = await page.send({});
  assert.match(home.text, /2 × Large, \$90\.00 per month/);
  const changed = await stripe.subscriptions.retrieve(subscription.id, { expand: ['latest_invoice'] });
  assert.deepEqual(
    [changed.items.data[0]?.price.id, changed.items.data[0]?.quantity, changed.discounts.length],
    [larger.id, 2, 1],
  );
  const item = String(changed.items.data[0]?.id);
  const back = await open({
    customer,
    configuration,
    flow_data: {
      type: 'subscription_update_confirm',
      subscription_update_confirm: {
        subscription: subscription.id,
        items: [{ id: item, price: price.id, quantity: 1 }],
      },
    },
  });
  assert.match(back.text, /Your new plan: Plan, \$15\.00 per month\./);
  await back.send({});
  const returned = await stripe.subscriptions.retrieve(subscription.id);
  assert.equal(returned.items.data[0]?.price.id, price.id);
});

test('a cancellation can be answered with a discount', async () => {
  const { customer, subscription } = await subscriber();
  const coupon = await stripe.coupons.create({ percent_off: 20, duration: 'forever', name: 'A fifth off' });
  const page = await open({
    customer,
    flow_data: {
      type: 'subscription_cancel',
      subscription_cancel: {
        subscription: subscription.id,
        retention: { type: 'coupon_offer', coupon_offer: { coupon: coupon.id } },
      },
    },
  });
  assert.match(page.text, /Stay, and get A fifth off\./);
  await page.send({ stay: 'yes' });
  const kept = await stripe.subscriptions.retrieve(subscription.id);
  assert.deepEqual([kept.cancel_at, kept.discounts.length], [null, 1]);
});

test('a session ends after an hour, and unknown steps show the home page', async () => {
  const { customer } = await subscriber();
  const { url } = await portal.sessions.create({ customer, return_url: shop });
  for (const step of ['constructor', 'none', 'update'])
    assert.match((await openPage(`${url}?step=${step}`)).text, /Your plan/);
  assert.match((await openPage(`${url}?step=cancel&subscription=sub_none`)).text, /No such subscription/);
  await callControl(sandbox.url, 'POST', 'clock', { advanceSeconds: 3_601 });
  const expired = await openPage(url);
  assert.equal(expired.status, 404);
  assert.match(expired.text, /This link has expired/);
});

test('the login page of a configuration opens the portal of the customer with an email', async () => {
  const { customer } = await subscriber();
  await stripe.customers.update(customer, { email: 'login@example.com' });
  const { login_page: login, id } = await portal.configurations.create({
    features: { invoice_history: { enabled: true } },
    login_page: { enabled: true },
  });
  const page = await openPage(String(login.url));
  assert.match((await page.sendRefused({ email: 'x@example.com' })).text, /There is no customer/);
  assert.match((await page.send({ email: 'login@example.com' })).page.text, /Paid \$15\.00/);
  const closed = await portal.configurations.update(id, { login_page: { enabled: false } });
  assert.equal(closed.login_page.url, null);
  assert.equal((await openPage(String(login.url))).status, 404);
});
