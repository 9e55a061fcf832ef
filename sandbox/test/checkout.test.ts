import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type Stripe from 'stripe';
import { awaitWebhook, completeAsBuyer } from '../control/checkout.ts';
import { loadFixtures } from '../control/fixtures.ts';
import { operations } from '../resources/operations.ts';
import { startSandbox } from '../sandbox.ts';
import { World } from '../worlds/world.ts';
import { clientOf, eventTypes, type TestSandbox, useReceiver, useSandbox } from './support.ts';

type Params = Stripe.Checkout.SessionCreateParams;
const urls = {
  success_url: 'https://shop.example/done?id={CHECKOUT_SESSION_ID}',
  cancel_url: 'https://shop.example',
};

/** The tests of wrong parameters also remove required ones. */
type Loose = { [K in keyof Params]?: Params[K] | undefined } & { mode: 'payment' | 'setup' | 'subscription' };

interface Shop extends TestSandbox {
  readonly monthly: Stripe.Price;
  open(params: Loose): Promise<Stripe.Checkout.Session>;
  complete(id: string, body?: object): Promise<Completed>;
}

type Completed = Stripe.Checkout.Session & { error: { code: string; message: string } | null };

const shirt = {
  quantity: 2,
  price_data: { currency: 'usd', unit_amount: 2_000, product_data: { name: 'Shirt' } },
};

async function useShop(t: TestContext): Promise<Shop> {
  const used = await useSandbox(t);
  const monthly = await used.stripe.prices.create({
    currency: 'usd',
    unit_amount: 1_500,
    recurring: { interval: 'month' },
    product_data: { name: 'Plan' },
  });
  return {
    ...used,
    monthly,
    open: (params) => {
      const given = {
        ...urls,
        ...(params.mode === 'payment'
          ? { line_items: [shirt] }
          : params.mode === 'subscription'
            ? { line_items: [{ price: monthly.id, quantity: 1 }] }
            : { currency: 'usd' }),
        ...params,
      };
      // The client leaves out what is undefined.
      return used.stripe.checkout.sessions.create(given as Params);
    },
    complete: async (id, body = {}) => {
      const { status, body: session } = await used.control('POST', `checkout_sessions/${id}/complete`, body);
      assert.equal(status, 200, JSON.stringify(session));
      return session as Completed;
    },
  };
}

/** The types of the events from now on. The balance of a charge settles later, at a time of its own. */
async function newEvents(stripe: Stripe): Promise<() => Promise<string[]>> {
  const before = (await eventTypes(stripe)).length;
  return async () => (await eventTypes(stripe)).slice(before).filter((type) => type !== 'charge.updated');
}

test('a payment creates its objects, then completes the session', async (t) => {
  const { stripe, open, complete } = await useShop(t);
  const session = await open({
    mode: 'payment',
    client_reference_id: 'cart-1',
    metadata: { order: '1' },
    payment_intent_data: { metadata: { order: '1' }, description: 'Shirts' },
  });
  assert.match(session.id, /^cs_test_/);
  assert.equal(session.url, `${new URL(session.url ?? '').origin}/c/pay/${session.id}`);
  assert.deepEqual(
    [session.status, session.payment_status, session.amount_total, session.payment_intent],
    ['open', 'unpaid', 4_000, null],
  );
  const sent = await newEvents(stripe);
  const done = await complete(session.id);
  assert.deepEqual(
    [done.status, done.payment_status, done.url, done.customer, done.error],
    ['complete', 'paid', null, null, null],
  );
  assert.deepEqual(done.customer_details?.email, 'jenny@example.com');
  const intent = await stripe.paymentIntents.retrieve(String(done.payment_intent));
  assert.deepEqual(
    [intent.status, intent.amount, intent.description, intent.metadata],
    ['succeeded', 4_000, 'Shirts', { order: '1' }],
  );
  assert.deepEqual(await sent(), [
    'payment_intent.created',
    'charge.succeeded',
    'payment_intent.succeeded',
    'checkout.session.completed',
  ]);
});

test('a subscription starts when its session completes, with a paid first invoice', async (t) => {
  const { stripe, open, complete, monthly } = await useShop(t);
  const session = await open({
    mode: 'subscription',
    customer_email: 'buyer@example.com',
    subscription_data: { metadata: { seat: '1' }, description: 'The plan' },
    line_items: [
      { price: monthly.id, quantity: 3 },
      { quantity: 1, price_data: { currency: 'usd', unit_amount: 500, product_data: { name: 'Setup fee' } } },
    ],
  });
  assert.deepEqual([session.amount_total, session.subscription, session.customer], [5_000, null, null]);
  const sent = await newEvents(stripe);
  const done = await complete(session.id);
  assert.deepEqual([done.status, done.payment_status, done.payment_intent], ['complete', 'paid', null]);
  const subscription = await stripe.subscriptions.retrieve(String(done.subscription), {
    expand: ['latest_invoice', 'customer'],
  });
  const invoice = subscription.latest_invoice as Stripe.Invoice;
  assert.deepEqual(
    [
      subscription.status,
      subscription.metadata,
      subscription.description,
      subscription.items.data[0]?.quantity,
    ],
    ['active', { seat: '1' }, 'The plan', 3],
  );
  assert.deepEqual(
    [invoice.id, invoice.status, invoice.billing_reason, invoice.amount_paid, invoice.lines.data.length],
    [done.invoice, 'paid', 'subscription_create', 5_000, 2],
  );
  assert.equal((subscription.customer as Stripe.Customer).email, 'buyer@example.com');
  assert.ok(subscription.default_payment_method);
  assert.deepEqual(await sent(), [
    'customer.created',
    'payment_intent.created',
    'payment_method.attached',
    'charge.succeeded',
    'payment_intent.succeeded',
    'invoiceitem.created',
    'customer.updated',
    'customer.subscription.created',
    'invoice.created',
    'invoice.finalized',
    'invoice.updated',
    'invoice_payment.paid',
    'invoice.paid',
    'invoice.payment_succeeded',
    'customer.subscription.updated',
    'checkout.session.completed',
  ]);
});

test('a session in the mode setup saves a card', async (t) => {
  const { stripe, open, complete } = await useShop(t);
  const customer = await stripe.customers.create({ email: 'kim@example.com' });
  const session = await open({
    mode: 'setup',
    customer: customer.id,
    setup_intent_data: { metadata: { a: '1' } },
  });
  assert.deepEqual([session.payment_status, session.amount_total], ['no_payment_required', null]);
  const done = await complete(session.id);
  assert.equal(done.status, 'complete');
  const intent = await stripe.setupIntents.retrieve(String(done.setup_intent));
  assert.deepEqual([intent.status, intent.metadata], ['succeeded', { a: '1' }]);
  const method = await stripe.paymentMethods.retrieve(String(intent.payment_method));
  assert.equal(method.customer, customer.id);
});

test('a trial asks for a card, unless the session collects one only if it is required', async (t) => {
  const { stripe, open, complete } = await useShop(t);
  const trial = { trial_period_days: 14 };
  const asked = await open({ mode: 'subscription', subscription_data: trial });
  assert.equal(asked.amount_total, 0);
  const declined = await complete(asked.id, { payment_method: 'pm_card_chargeDeclined' });
  assert.deepEqual([declined.status, declined.error?.code], ['open', 'card_declined']);
  const withCard = await complete(asked.id);
  assert.deepEqual([withCard.status, withCard.payment_status], ['complete', 'no_payment_required']);
  const paying = await stripe.subscriptions.retrieve(String(withCard.subscription));
  assert.equal(paying.status, 'trialing');
  assert.equal((paying.trial_end ?? 0) - (paying.trial_start ?? 0), 14 * 86_400);
  assert.ok(paying.default_payment_method);

  const free = await open({
    mode: 'subscription',
    payment_method_collection: 'if_required',
    subscription_data: { ...trial, trial_settings: { end_behavior: { missing_payment_method: 'cancel' } } },
  });
  const withoutCard = await complete(free.id);
  assert.equal(withoutCard.payment_status, 'no_payment_required');
  const waiting = await stripe.subscriptions.retrieve(String(withoutCard.subscription));
  assert.deepEqual(
    [
      waiting.status,
      waiting.default_payment_method,
      waiting.trial_settings?.end_behavior.missing_payment_method,
    ],
    ['trialing', null, 'cancel'],
  );
});

test('a declined card leaves the session open, and another card completes it', async (t) => {
  const { stripe, open, complete } = await useShop(t);
  const session = await open({ mode: 'payment' });
  const declined = await complete(session.id, { payment_method: 'pm_card_chargeDeclinedInsufficientFunds' });
  assert.deepEqual(
    [declined.status, declined.payment_status, declined.error?.code],
    ['open', 'unpaid', 'card_declined'],
  );
  const intent = await stripe.paymentIntents.retrieve(String(declined.payment_intent));
  assert.equal(intent.last_payment_error?.decline_code, 'insufficient_funds');
  const done = await complete(session.id);
  assert.deepEqual([done.status, done.payment_intent, done.error], ['complete', intent.id, null]);

  const plan = await open({ mode: 'subscription' });
  const sent = await newEvents(stripe);
  const refused = await complete(plan.id, { payment_method: 'pm_card_chargeDeclined' });
  assert.deepEqual(
    [refused.status, refused.subscription, refused.invoice, refused.customer],
    ['open', null, null, null],
  );
  assert.deepEqual(await sent(), [
    'customer.created',
    'payment_intent.created',
    'charge.failed',
    'payment_intent.payment_failed',
  ]);
  assert.equal((await complete(plan.id)).status, 'complete');
  assert.equal((await sent()).filter((type) => type === 'customer.created').length, 1);
});

test('a session stays open until the cardholder has authenticated', async (t) => {
  const { stripe, open, complete } = await useShop(t);
  for (const mode of ['payment', 'subscription', 'setup'] as const) {
    const session = await open({ mode });
    const card = { payment_method: 'pm_card_threeDSecure2Required' };
    const failed = await complete(session.id, { ...card, authenticate: false });
    assert.deepEqual([mode, failed.status, failed.subscription], [mode, 'open', null]);
    assert.match(failed.error?.code ?? '', /_intent_authentication_failure$/);
    const done = await complete(session.id, card);
    assert.deepEqual([mode, done.status, done.error], [mode, 'complete', null]);
    if (mode === 'subscription')
      assert.equal((await stripe.subscriptions.retrieve(String(done.subscription))).status, 'active');
  }
});

test('a session expires by a control call, and only once', async (t) => {
  const { stripe, open, control } = await useShop(t);
  const { id } = await open({ mode: 'payment' });
  const { status, body } = await control('POST', `checkout_sessions/${id}/expire`);
  assert.deepEqual([status, (body as Stripe.Checkout.Session).status], [200, 'expired']);
  assert.equal((await stripe.checkout.sessions.retrieve(id)).status, 'expired');
  assert.equal((await eventTypes(stripe)).at(-1), 'checkout.session.expired');
  assert.equal((await control('POST', `checkout_sessions/${id}/expire`)).status, 400);
});

test('the options of cards decide whether the buyer must authenticate', async (t) => {
  const { open, complete } = await useShop(t);
  const options = { card: { request_three_d_secure: 'any' } } as const;
  const { id } = await open({ mode: 'payment', payment_method_options: options });
  const refused = await complete(id, { authenticate: false });
  assert.deepEqual([refused.status, refused.error?.code], ['open', 'payment_intent_authentication_failure']);
  assert.equal((await complete(id)).status, 'complete');
});

test('discounts are applied by the merchant or by the buyer', async (t) => {
  const { stripe, open, complete, control } = await useShop(t);
  const coupon = await stripe.coupons.create({ percent_off: 25, duration: 'once', max_redemptions: 3 });
  const code = await stripe.promotionCodes.create({
    promotion: { type: 'coupon', coupon: coupon.id },
    code: 'SPRING',
  });
  const given = await open({ mode: 'payment', discounts: [{ coupon: coupon.id }] });
  assert.deepEqual(
    [given.amount_subtotal, given.amount_total, given.total_details?.amount_discount],
    [4_000, 3_000, 1_000],
  );
  assert.equal((await complete(given.id)).payment_status, 'paid');

  const entered = await open({ mode: 'subscription', allow_promotion_codes: true });
  assert.equal(entered.amount_total, 1_500);
  const done = await complete(entered.id, { promotion_code: 'spring' });
  assert.deepEqual([done.amount_total, done.discounts], [1_125, [{ coupon: null, promotion_code: code.id }]]);
  const invoice = await stripe.invoices.retrieve(String(done.invoice));
  assert.deepEqual([invoice.amount_paid, invoice.status], [1_125, 'paid']);
  assert.equal((await stripe.coupons.retrieve(coupon.id)).times_redeemed, 2);
  assert.equal((await stripe.promotionCodes.retrieve(code.id)).times_redeemed, 1);

  const [first, second] = [
    await open({ mode: 'payment', allow_promotion_codes: true }),
    await open({ mode: 'payment', discounts: [{ coupon: coupon.id }] }),
  ];
  await complete(first.id, { promotion_code: code.id });
  const { status } = await control('POST', `checkout_sessions/${second.id}/complete`);
  assert.equal(status, 400, 'the coupon is used up meanwhile');
  assert.equal((await stripe.checkout.sessions.retrieve(second.id)).status, 'open');

  const everything = await stripe.coupons.create({ percent_off: 100, duration: 'once' });
  const free = await open({ mode: 'payment', discounts: [{ coupon: everything.id }] });
  const gift = await complete(free.id);
  assert.deepEqual(
    [gift.status, gift.payment_status, gift.payment_intent],
    ['complete', 'no_payment_required', null],
  );
});

test('a session expires on request and at its time, and its payment is canceled', async (t) => {
  const { stripe, open, complete, advance } = await useShop(t);
  const [asked, due] = [await open({ mode: 'payment' }), await open({ mode: 'payment' })];
  const declined = await complete(asked.id, { payment_method: 'pm_card_chargeDeclined' });
  const sent = await newEvents(stripe);
  const expired = await stripe.checkout.sessions.expire(asked.id);
  assert.deepEqual([expired.status, expired.url, expired.payment_status], ['expired', null, 'unpaid']);
  assert.deepEqual(await sent(), ['payment_intent.canceled', 'checkout.session.expired']);
  assert.equal((await stripe.paymentIntents.retrieve(String(declined.payment_intent))).status, 'canceled');
  await advance(24 * 60 * 60 - 60);
  assert.equal((await stripe.checkout.sessions.retrieve(due.id)).status, 'open');
  await advance(60);
  assert.equal((await stripe.checkout.sessions.retrieve(due.id)).status, 'expired');
  assert.deepEqual((await sent()).slice(2), ['checkout.session.expired']);
});

test('a session is completed or expired once, even by two tabs at once', async (t) => {
  const { stripe, open, control } = await useShop(t);
  const session = await open({ mode: 'subscription' });
  const path = `checkout_sessions/${session.id}/complete`;
  const statuses = await Promise.all([control('POST', path, {}), control('POST', path, {})]);
  assert.deepEqual(statuses.map(({ status }) => status).sort(), [200, 400]);
  assert.equal((await stripe.subscriptions.list()).data.length, 1);
  await assert.rejects(stripe.checkout.sessions.expire(session.id), {
    statusCode: 400,
    message:
      'Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of `complete`.',
  });
  const other = await open({ mode: 'payment' });
  const [completed] = await Promise.all([
    control('POST', `checkout_sessions/${other.id}/complete`, {}),
    stripe.checkout.sessions.expire(other.id).catch(() => undefined),
  ]);
  const { status } = await stripe.checkout.sessions.retrieve(other.id);
  assert.equal(status, completed.status === 200 ? 'complete' : 'expired');
});

test('a payment that is only authorized is paid when it is captured', async (t) => {
  const { stripe, open, complete } = await useShop(t);
  const session = await open({ mode: 'payment', payment_intent_data: { capture_method: 'manual' } });
  const done = await complete(session.id);
  assert.deepEqual([done.status, done.payment_status], ['complete', 'unpaid']);
  await stripe.paymentIntents.capture(String(done.payment_intent));
  assert.equal((await stripe.checkout.sessions.retrieve(session.id)).payment_status, 'paid');
});

test('a payment can create a customer, save the card and create an invoice', async (t) => {
  const { stripe, open, complete } = await useShop(t);
  const session = await open({
    mode: 'payment',
    customer_creation: 'always',
    invoice_creation: { enabled: true, invoice_data: { description: 'Thanks', metadata: { a: '1' } } },
    payment_intent_data: { setup_future_usage: 'off_session' },
  });
  const done = await complete(session.id);
  const invoice = await stripe.invoices.retrieve(String(done.invoice));
  assert.deepEqual(
    [invoice.status, invoice.amount_paid, invoice.description, invoice.metadata, invoice.customer],
    ['paid', 4_000, 'Thanks', { a: '1' }, done.customer],
  );
  const cards = await stripe.customers.listPaymentMethods(String(done.customer));
  assert.equal(cards.data.length, 1);
});

test('the shipping address of an order changes an existing customer only on request', async (t) => {
  const { stripe, open, complete } = await useShop(t);
  const { id: customer } = await stripe.customers.create({ email: 'tom@example.com' });
  const asked = { shipping_address_collection: { allowed_countries: ['CA' as const] }, customer };
  const first = await open({ mode: 'payment', ...asked });
  assert.deepEqual(first.shipping_address_collection, { allowed_countries: ['CA'] });
  const { collected_information: collected } = await complete(first.id);
  assert.equal(collected?.shipping_details?.address.country, 'CA');
  const shipping = async () => {
    const found = await stripe.customers.retrieve(customer);
    return found.deleted ? undefined : found.shipping;
  };
  assert.equal(await shipping(), null);
  await complete((await open({ mode: 'subscription', ...asked, customer_update: { shipping: 'auto' } })).id);
  assert.deepEqual((await shipping())?.address, collected?.shipping_details?.address);
  await assert.rejects(open({ mode: 'setup', ...asked }), { param: 'shipping_address_collection' });
});

test('a session keeps its customer, and changes only what it may', async (t) => {
  const { stripe, open, complete } = await useShop(t);
  const customer = await stripe.customers.create({ email: 'kim@example.com', name: 'Kim' });
  await complete((await open({ mode: 'payment', customer: customer.id })).id);
  assert.equal((await stripe.customers.list()).data.length, 1);
  assert.deepEqual(await stripe.customers.retrieve(customer.id), customer);
  const update = { name: 'auto', address: 'auto' } as const;
  const done = await complete(
    (await open({ mode: 'payment', customer: customer.id, customer_update: update })).id,
  );
  const changed = (await stripe.customers.retrieve(customer.id)) as Stripe.Customer;
  assert.deepEqual([changed.name, changed.address?.country], ['Jenny Rosen', 'US']);
  assert.equal(done.customer_details?.email, 'kim@example.com');
});

test('sessions are listed, expanded and updated', async (t) => {
  const { stripe, open, complete, monthly } = await useShop(t);
  const { sessions } = stripe.checkout;
  const coupon = await stripe.coupons.create({ amount_off: 500, currency: 'usd', duration: 'once' });
  const session = await open({ mode: 'subscription', discounts: [{ coupon: coupon.id }] });
  const other = await open({ mode: 'payment' });
  const done = await complete(session.id);
  const shown = await sessions.retrieve(session.id, {
    expand: [
      'customer',
      'discounts.coupon',
      'invoice',
      'line_items.data.discounts',
      'line_items.data.price.product',
      'subscription',
      'total_details.breakdown',
    ],
  });
  assert.equal(shown.total_details?.breakdown?.discounts[0]?.amount, 500);
  const [line] = shown.line_items?.data ?? [];
  assert.deepEqual(
    [line?.amount_total, line?.description, line?.price?.id, line?.discounts?.[0]?.amount],
    [1_000, 'Plan', monthly.id, 500],
  );
  assert.equal((shown.subscription as Stripe.Subscription).id, done.subscription);
  assert.deepEqual(
    (await sessions.listLineItems(session.id)).data.map(({ id }) => id),
    [line?.id],
  );
  const ids = async (params: Stripe.Checkout.SessionListParams) =>
    (await sessions.list(params)).data.map(({ id }) => id);
  assert.deepEqual(await ids({}), [other.id, session.id]);
  assert.deepEqual(await ids({ status: 'open' }), [other.id]);
  assert.deepEqual(await ids({ customer: String(done.customer) }), [session.id]);
  assert.deepEqual(await ids({ subscription: String(done.subscription) }), [session.id]);
  assert.deepEqual(await ids({ customer_details: { email: 'jenny@example.com' } }), [session.id]);
  const [item] = (await sessions.listLineItems(other.id)).data;
  const updated = await sessions.update(other.id, {
    metadata: { a: '1' },
    line_items: [{ id: String(item?.id), quantity: 5 }],
  });
  assert.deepEqual([updated.amount_total, updated.metadata], [10_000, { a: '1' }]);
});

test('a session survives a restart, while its card is being authenticated too', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'till-checkout-'));
  t.after(() => rm(dataDir, { recursive: true }));
  const before = await startSandbox({ port: 0, dataDir });
  const session = await clientOf(before.port).checkout.sessions.create({
    ...urls,
    mode: 'payment',
    line_items: [shirt],
    customer_creation: 'always',
  });
  const path = `/v1/payment_pages/${session.id}/confirm`;
  const confirmed = await fetch(`${before.url}${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk_test_x', 'content-type': 'application/x-www-form-urlencoded' },
    body: 'payment_method=pm_card_threeDSecure2Required&expected_amount=4000',
  });
  const { payment_intent: intent, status } = (await confirmed.json()) as Stripe.Checkout.Session;
  assert.equal(status, 'open');
  await before.close();

  const { stripe, control } = await useSandbox(t, { dataDir });
  const { status: code } = await control('POST', `payment_intents/${String(intent)}/authenticate`, {
    result: 'succeeded',
  });
  assert.equal(code, 200);
  const done = await stripe.checkout.sessions.retrieve(session.id, { expand: ['line_items'] });
  assert.deepEqual([done.status, done.payment_status, done.line_items?.data.length], ['complete', 'paid', 1]);
  assert.ok(done.customer);
});

test('the intent of an open session cannot be confirmed, changed or canceled on its own', async (t) => {
  const { stripe, open, complete } = await useShop(t);
  const session = await open({ mode: 'payment' });
  const { payment_intent } = await complete(session.id, { payment_method: 'pm_card_chargeDeclined' });
  const intent = String(payment_intent);
  const refused = { message: 'You cannot perform this action on PaymentIntents created by Checkout.' };
  await assert.rejects(stripe.paymentIntents.cancel(intent), refused);
  await assert.rejects(stripe.paymentIntents.update(intent, { amount: 100 }), refused);
  await assert.rejects(stripe.paymentIntents.confirm(intent, { payment_method: 'pm_card_visa' }), refused);
  const setup = await open({ mode: 'setup' });
  await assert.rejects(stripe.setupIntents.cancel(String(setup.setup_intent)), {
    message: 'You cannot perform this action on SetupIntents created by Checkout.',
  });
});

test('older API versions use older names of the UI modes', async (t) => {
  const { stripe, sandbox } = await useShop(t);
  const embedded: Params = { mode: 'payment', line_items: [shirt], return_url: 'https://shop.example' };
  const session = await stripe.checkout.sessions.create({ ...embedded, ui_mode: 'embedded_page' });
  assert.deepEqual([session.ui_mode, session.url], ['embedded_page', null]);
  assert.match(session.client_secret ?? '', new RegExp(`^${session.id}_secret_`));
  await assert.rejects(stripe.checkout.sessions.create({ ...embedded, ui_mode: 'embedded' }), {
    param: 'ui_mode',
  });
  for (const apiVersion of ['2026-02-25.clover', '2024-06-20']) {
    const older = { apiVersion };
    const made = await stripe.checkout.sessions.create({ ...embedded, ui_mode: 'embedded' }, older);
    assert.equal(made.ui_mode, 'embedded');
    assert.equal((await stripe.checkout.sessions.retrieve(session.id, {}, older)).ui_mode, 'embedded');
  }
  const plain = await fetch(`${sandbox.url}/v1/checkout/sessions/${session.id}`, {
    headers: { authorization: 'Bearer sk_test_x' },
  });
  assert.equal(((await plain.json()) as Stripe.Checkout.Session).ui_mode, 'embedded_page');
});

test('wrong parameters are refused by name', async (t) => {
  const { stripe, monthly, open } = await useShop(t);
  const { id: customer } = await stripe.customers.create({});
  const oneTime = { price_data: { currency: 'usd', unit_amount: 100, product_data: { name: 'A' } } };
  const now = Math.floor(Date.now() / 1_000);
  const archived = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 1,
    product_data: { name: 'B' },
  });
  await stripe.prices.update(archived.id, { active: false });
  const cases: readonly [Parameters<typeof open>[0], string, RegExp][] = [
    [{ mode: 'payment', success_url: undefined }, 'success_url', /Missing required param: success_url/],
    [{ mode: 'payment', line_items: undefined }, 'line_items', /Missing required param: line_items/],
    [{ mode: 'payment', line_items: [oneTime] }, 'line_items[0]', /Quantity is required/],
    [
      { mode: 'payment', line_items: [{ quantity: 1 }] },
      'line_items[0][price]',
      /either `price` or `price_data`/,
    ],
    [
      { mode: 'payment', line_items: [{ price: 'price_x', quantity: 1 }] },
      'line_items[0][price]',
      /No such price/,
    ],
    [
      { mode: 'payment', line_items: [{ price: archived.id, quantity: 1 }] },
      'line_items[0][price]',
      /inactive/,
    ],
    [
      { mode: 'payment', line_items: [{ price: monthly.id, quantity: 1 }] },
      'mode',
      /passed a recurring price/,
    ],
    [
      { mode: 'subscription', line_items: [{ ...oneTime, quantity: 1 }] },
      'mode',
      /at least one recurring price/,
    ],
    [
      { mode: 'payment', line_items: [{ quantity: 1, price_data: { currency: 'usd', unit_amount: 900 } }] },
      'line_items[0][price_data][product]',
      /exactly one of product or product_data/,
    ],
    [
      {
        mode: 'payment',
        line_items: [shirt, { quantity: 1, price_data: { ...oneTime.price_data, currency: 'eur' } }],
      },
      'line_items[1][price]',
      /same currency/,
    ],
    [{ mode: 'setup', line_items: [shirt] }, 'line_items', /can not pass `line_items` in `setup` mode/],
    [
      { mode: 'subscription', payment_intent_data: { description: 'x' } },
      'payment_intent_data',
      /can not pass/,
    ],
    [{ mode: 'payment', customer, customer_email: 'a@example.com' }, 'customer', /only specify one of/],
    [{ mode: 'payment', customer: 'cus_x' }, 'customer', /No such customer/],
    [
      { mode: 'payment', customer_update: { name: 'auto' } },
      'customer_update',
      /only be used with `customer`/,
    ],
    [
      { mode: 'payment', allow_promotion_codes: true, discounts: [{ coupon: 'x' }] },
      'allow_promotion_codes',
      /only specify one of/,
    ],
    [{ mode: 'payment', discounts: [{ coupon: 'x' }] }, 'discounts[0][coupon]', /No such coupon/],
    [{ mode: 'payment', expires_at: now + 60 }, 'expires_at', /at least 30 minutes/],
    [{ mode: 'payment', expires_at: now + 90_000 }, 'expires_at', /less than 24 hours/],
    [
      { mode: 'subscription', subscription_data: { trial_end: now + 3_600 } },
      'subscription_data[trial_end]',
      /at least 2 days/,
    ],
    [
      { mode: 'payment', customer, tax_id_collection: { enabled: true } },
      'customer_update[name]',
      /Tax ID collection requires/,
    ],
    [
      { mode: 'payment', customer, automatic_tax: { enabled: true } },
      'automatic_tax',
      /requires a valid address/,
    ],
    [{ mode: 'setup', currency: undefined }, 'currency', /`currency` in `setup` mode/],
    [{ mode: 'payment', return_url: 'https://shop.example' }, 'return_url', /can not pass `return_url`/],
    [{ mode: 'payment', ui_mode: 'embedded_page' }, 'success_url', /can not pass `success_url`/],
  ];
  for (const [params, param, message] of cases)
    await assert.rejects(open(params), { statusCode: 400, param, message }, JSON.stringify(params));
  const cheap = {
    quantity: 1,
    price_data: { currency: 'usd', unit_amount: 10, product_data: { name: 'A' } },
  };
  await assert.rejects(open({ mode: 'payment', line_items: [cheap] }), { code: 'amount_too_small' });
  await assert.rejects(stripe.checkout.sessions.retrieve('cs_test_x'), {
    statusCode: 404,
    message: "No such checkout.session: 'cs_test_x'",
  });
});

test('the payment page waits for the webhook endpoint, unless that is switched off', async (t) => {
  const receiver = await useReceiver(t);
  const world = new World({
    accountId: 'acct_x',
    url: () => 'http://127.0.0.1',
    basePath: '',
    webhook: { url: receiver.url, secret: 'whsec_x' },
    log: () => undefined,
  });
  await world.start();
  t.after(() => world.close());
  const fixture = { ...urls, mode: 'payment', line_items: [shirt] };
  const complete = async () => {
    const body = JSON.stringify({ checkout_sessions: [fixture] });
    // The response has the objects that the fixture describes.
    const [session] = loadFixtures(world, operations, body)['checkout_sessions'] as Stripe.Checkout.Session[];
    const id = session?.id ?? '';
    await completeAsBuyer(world, id, {
      authenticate: undefined,
      payment_method: undefined,
      promotion_code: undefined,
    });
    await awaitWebhook(world, id);
    return receiver.received.some(
      ({ event }) => event.type === 'checkout.session.completed' && event.data.object.id === id,
    );
  };
  assert.equal(await complete(), true);
  world.store.changeSettings({ checkoutWaits: false });
  world.deliverer.setMode('paused');
  assert.equal(await complete(), false);
});
