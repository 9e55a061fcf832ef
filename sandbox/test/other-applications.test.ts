import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { eventTypes } from '../webhooks/event-types.ts';
import { callControl, clientOf, customerAndPrice, useSandbox } from './support.ts';

const day = 86_400;

async function payerAndPrice(stripe: Stripe) {
  const { customer, price } = await customerAndPrice(stripe);
  const { id } = await stripe.paymentMethods.attach('pm_card_visa', { customer: customer.id });
  await stripe.customers.update(customer.id, { invoice_settings: { default_payment_method: id } });
  return { customer: customer.id, price: price.id };
}

const invoiceOf = ({ latest_invoice: invoice }: Stripe.Subscription) => invoice as Stripe.Invoice;
const now = async (url: string) =>
  ((await callControl(url, 'GET', 'clock')).body as { readonly now: number }).now;

test('a world chooses its country, its currency and the version of clients that name none', async (t) => {
  const { stripe, sandbox, control } = await useSandbox(t);
  const customer = await stripe.customers.create();
  assert.equal((await stripe.invoices.create({ customer: customer.id })).currency, 'usd');
  const settings = { country: 'DE', currency: 'eur', apiVersion: '2024-06-20' };
  const { body } = await control('POST', 'account', settings);
  assert.deepEqual(body, { id: 'acct_sandbox', ...settings });
  const invoice = await stripe.invoices.create({ customer: customer.id });
  assert.deepEqual([invoice.currency, invoice.account_country], ['eur', 'DE']);
  assert.equal((await stripe.accounts.retrieveCurrent()).default_currency, 'eur');
  const response = await fetch(`${sandbox.url}/v1/invoices/${invoice.id}`, {
    headers: { authorization: 'Bearer sk_test_x' },
  });
  assert.equal(response.headers.get('stripe-version'), '2024-06-20');
  assert.ok('paid' in ((await response.json()) as object));
  for (const wrong of [{ country: 'Germany' }, { currency: 'xyz' }, { apiVersion: '2024-01-01' }])
    assert.equal((await control('POST', 'account', wrong)).status, 400);
});

test("an invoice without a currency has its customer's", async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer } = await payerAndPrice(stripe);
  const price = await stripe.prices.create({
    currency: 'gbp',
    unit_amount: 500,
    recurring: { interval: 'month' },
    product_data: { name: 'P' },
  });
  await stripe.subscriptions.create({ customer, items: [{ price: price.id }] });
  assert.equal((await stripe.invoices.create({ customer })).currency, 'gbp');
});

test('an unknown account is refused', async (t) => {
  const { stripe, sandbox } = await useSandbox(t);
  await stripe.customers.list({}, { stripeAccount: 'acct_sandbox' });
  await assert.rejects(clientOf(sandbox.port).customers.list({}, { stripeAccount: 'acct_other' }), {
    statusCode: 403,
    code: 'account_invalid',
  });
});

test('an empty value is an error that names its parameter, unless the parameter can be unset', async (t) => {
  const { stripe } = await useSandbox(t);
  const { id } = await stripe.customers.create({ name: 'Jenny' });
  assert.equal((await stripe.customers.update(id, { name: '' })).name, null);
  const wrong = { code: 'parameter_invalid_empty', statusCode: 400 };
  await assert.rejects(stripe.customers.update(id, { balance: '' as unknown as number }), {
    ...wrong,
    param: 'balance',
  });
  await assert.rejects(stripe.subscriptions.create({ customer: id, items: [{ price: '' }] }), {
    ...wrong,
    param: 'items[0][price]',
  });
});

test('the processor knows these event types, and endpoints take no others', async (t) => {
  const { stripe } = await useSandbox(t);
  const url = 'https://example.com/hook';
  await stripe.webhookEndpoints.create({ url, enabled_events: ['invoice.paid', '*'] });
  await assert.rejects(
    stripe.webhookEndpoints.create({ url, enabled_events: ['invoice.payed' as 'invoice.paid'] }),
    {
      param: 'enabled_events[0]',
    },
  );
  assert.ok(eventTypes.has('checkout.session.completed') && eventTypes.size > 250);
});

test('a canceled authorization is refunded', async (t) => {
  const { stripe } = await useSandbox(t);
  const intent = await stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    confirm: true,
    payment_method: 'pm_card_visa',
    payment_method_options: { card: { capture_method: 'manual' } },
    return_url: 'https://example.com',
  });
  assert.equal(intent.status, 'requires_capture');
  const canceled = await stripe.paymentIntents.cancel(intent.id, { expand: ['latest_charge'] });
  const charge = canceled.latest_charge as Stripe.Charge;
  assert.deepEqual([charge.refunded, charge.amount_refunded, charge.captured], [true, 1_000, false]);
  const { data } = await stripe.refunds.list({ charge: charge.id });
  assert.deepEqual(
    data.map(({ amount, status }) => [amount, status]),
    [[1_000, 'succeeded']],
  );
});

test('a payment can demand authentication of any card', async (t) => {
  const { stripe } = await useSandbox(t);
  const intent = await stripe.paymentIntents.create({
    amount: 1_000,
    currency: 'usd',
    confirm: true,
    payment_method: 'pm_card_visa',
    payment_method_options: { card: { request_three_d_secure: 'any' } },
    return_url: 'https://example.com',
  });
  assert.equal(intent.status, 'requires_action');
});

test('a setup has its latest attempt', async (t) => {
  const { stripe } = await useSandbox(t);
  const setup = await stripe.setupIntents.create({
    confirm: true,
    payment_method: 'pm_card_visa',
    return_url: 'https://example.com',
    expand: ['latest_attempt'],
  });
  const attempt = setup.latest_attempt as Stripe.SetupAttempt;
  assert.deepEqual([attempt.status, attempt.setup_intent], ['succeeded', setup.id]);
  const { data } = await stripe.setupAttempts.list({ setup_intent: setup.id });
  assert.deepEqual(
    data.map(({ id }) => id),
    [attempt.id],
  );
});

test('canceling credits the unused time, and bills it at once, only on request', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, price } = await payerAndPrice(stripe);
  const subscribe = () => stripe.subscriptions.create({ customer, items: [{ price }] });
  const [plain, prorated, billed] = [await subscribe(), await subscribe(), await subscribe()];
  await advance(10 * day);
  const itemsAfter = async (id: string, params: Stripe.SubscriptionCancelParams) => {
    const canceled = await stripe.subscriptions.cancel(id, params);
    const pending = await stripe.invoiceItems.list({ customer, pending: true });
    return { canceled, pending: pending.data };
  };
  assert.deepEqual((await itemsAfter(plain.id, {})).pending, []);
  const [credit] = (await itemsAfter(prorated.id, { prorate: true })).pending;
  assert.ok(credit !== undefined && credit.amount < 0 && credit.proration);
  await stripe.invoiceItems.del(credit.id);
  const { canceled, pending } = await itemsAfter(billed.id, { prorate: true, invoice_now: true });
  assert.deepEqual(pending, []);
  const invoice = await stripe.invoices.retrieve(String(canceled.latest_invoice));
  assert.deepEqual([invoice.status, invoice.total], ['paid', credit.amount]);
  const { balance } = (await stripe.customers.retrieve(customer)) as Stripe.Customer;
  assert.equal(balance, credit.amount);
});

test('a product has images and a first price', async (t) => {
  const { stripe } = await useSandbox(t);
  const product = await stripe.products.create({
    name: 'Shirt',
    images: ['https://example.com/a.png'],
    default_price_data: {
      currency: 'usd',
      currency_options: { eur: { unit_amount: 11 } },
      unit_amount_decimal: '12.5' as unknown as Stripe.Decimal,
    },
    expand: ['default_price.currency_options'],
  });
  const price = product.default_price as Stripe.Price;
  assert.deepEqual(
    [product.images, price.active, price.unit_amount],
    [['https://example.com/a.png'], true, null],
  );
  assert.equal(price.currency_options?.['eur']?.unit_amount, 11);
  assert.deepEqual((await stripe.products.update(product.id, { images: '' })).images, []);
});

test('a price has amounts in other currencies and a trial', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer } = await payerAndPrice(stripe);
  const price = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 1_000,
    currency_options: { eur: { unit_amount: 900 } },
    recurring: { interval: 'month', trial_period_days: 7 },
    product_data: { name: 'P' },
    expand: ['currency_options'],
  });
  assert.deepEqual(
    Object.entries(price.currency_options ?? {}).map(([code, { unit_amount }]) => [code, unit_amount]),
    [
      ['usd', 1_000],
      ['eur', 900],
    ],
  );
  const items = [{ price: price.id }];
  const subscription = await stripe.subscriptions.create({
    customer,
    currency: 'eur',
    items,
    expand: ['latest_invoice'],
  });
  assert.deepEqual([subscription.currency, invoiceOf(subscription).total], ['eur', 900]);
  const trial = await stripe.subscriptions.create({
    customer,
    currency: 'eur',
    items,
    trial_from_plan: true,
  });
  assert.equal(Number(trial.trial_end) - trial.created, 7 * day);
});

test('an item brings its own price, and the first invoice bills one-time items', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer } = await payerAndPrice(stripe);
  const { id: product } = await stripe.products.create({ name: 'P' });
  const subscription = await stripe.subscriptions.create({
    customer,
    items: [{ price_data: { currency: 'usd', product, unit_amount: 700, recurring: { interval: 'month' } } }],
    add_invoice_items: [{ price_data: { currency: 'usd', product, unit_amount: 50 }, quantity: 2 }],
    expand: ['latest_invoice'],
  });
  assert.deepEqual([subscription.status, invoiceOf(subscription).total], ['active', 800]);
  const [item] = subscription.items.data;
  const changed = await stripe.subscriptions.update(subscription.id, {
    items: [
      {
        id: String(item?.id),
        price_data: { currency: 'usd', product, unit_amount: 900, recurring: { interval: 'month' } },
      },
    ],
    proration_behavior: 'none',
  });
  assert.equal(changed.items.data[0]?.price.unit_amount, 900);
});

test('the first period ends at a chosen anchor, and is billed in part', async (t) => {
  const { stripe, sandbox, advance } = await useSandbox(t);
  const { customer, price } = await payerAndPrice(stripe);
  const anchor = (await now(sandbox.url)) + 15 * day;
  const subscribe = (more: Partial<Stripe.SubscriptionCreateParams>) =>
    stripe.subscriptions.create({
      customer,
      items: [{ price }],
      billing_cycle_anchor: anchor,
      expand: ['latest_invoice'],
      ...more,
    });
  const subscription = await subscribe({});
  assert.equal(subscription.items.data[0]?.current_period_end, anchor);
  assert.ok(Math.abs(invoiceOf(subscription).total - 750) < 40);
  const free = await subscribe({ proration_behavior: 'none' });
  assert.deepEqual([free.status, invoiceOf(free).total], ['active', 0]);
  await assert.rejects(subscribe({ billing_cycle_anchor: anchor + 40 * day }), {
    param: 'billing_cycle_anchor',
  });
  await advance(15 * day + 7_200);
  const { data } = await stripe.invoices.list({ subscription: subscription.id });
  assert.equal(data[0]?.total, 1_500);
});

test('a subscription begins in the past and ends at a date', async (t) => {
  const { stripe, sandbox } = await useSandbox(t);
  const { customer, price } = await payerAndPrice(stripe);
  const at = await now(sandbox.url);
  const subscription = await stripe.subscriptions.create({
    customer,
    items: [{ price }],
    backdate_start_date: at - 365 * day,
    cancel_at: at + 100 * day,
    expand: ['latest_invoice'],
  });
  assert.deepEqual([subscription.start_date, subscription.cancel_at], [at - 365 * day, at + 100 * day]);
  const [past, current] = invoiceOf(subscription).lines.data;
  assert.equal(current?.amount, 1_500);
  assert.ok(past !== undefined && Math.abs(past.amount - 12 * 1_500) < 100);
});

test('an invoice that is sent does not charge the customer', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, price } = await payerAndPrice(stripe);
  const items = [{ price }];
  await assert.rejects(stripe.subscriptions.create({ customer, items, collection_method: 'send_invoice' }), {
    param: 'days_until_due',
  });
  const subscription = await stripe.subscriptions.create({
    customer,
    items,
    collection_method: 'send_invoice',
    days_until_due: 14,
    expand: ['latest_invoice'],
  });
  const invoice = invoiceOf(subscription);
  assert.deepEqual([subscription.status, invoice.status], ['active', 'draft']);
  assert.equal(Number(invoice.due_date) - invoice.created, 14 * day);
  await advance(2 * 3_600);
  const open = await stripe.invoices.retrieve(invoice.id);
  assert.deepEqual([open.status, open.amount_remaining, open.attempted], ['open', 1_500, false]);
  const { data: sent } = await stripe.events.list({ type: 'invoice.sent' });
  assert.equal(sent.length, 1);
  await stripe.invoices.pay(invoice.id);
  assert.equal((await stripe.subscriptions.retrieve(subscription.id)).status, 'active');
});

test('a schedule starts its subscription now or later', async (t) => {
  const { stripe, sandbox, advance } = await useSandbox(t);
  const { customer, price } = await payerAndPrice(stripe);
  const phases = [
    { items: [{ price }], duration: { interval: 'month' as const } },
    { items: [{ price, quantity: 2 }], duration: { interval: 'month' as const } },
  ];
  const started = await stripe.subscriptionSchedules.create({ customer, start_date: 'now', phases });
  assert.equal(started.status, 'active');
  const start_date = (await now(sandbox.url)) + 10 * day;
  const later = await stripe.subscriptionSchedules.create({
    customer,
    start_date,
    phases,
    end_behavior: 'cancel',
  });
  assert.deepEqual([later.status, later.subscription], ['not_started', null]);
  await advance(10 * day + 7_200);
  const active = await stripe.subscriptionSchedules.retrieve(later.id, { expand: ['subscription'] });
  const subscription = active.subscription as Stripe.Subscription;
  assert.deepEqual(
    [active.status, subscription.status, subscription.start_date],
    ['active', 'active', start_date],
  );
  const [invoice] = (await stripe.invoices.list({ subscription: subscription.id })).data;
  assert.deepEqual([invoice?.status, invoice?.total], ['paid', 1_500]);
  await advance(31 * day);
  const second = await stripe.subscriptions.retrieve(subscription.id);
  assert.equal(second.items.data[0]?.quantity, 2);
  await advance(40 * day);
  assert.equal((await stripe.subscriptionSchedules.retrieve(later.id)).status, 'completed');
  const never = await stripe.subscriptionSchedules.create({
    customer,
    start_date: start_date + 900 * day,
    phases,
  });
  assert.equal((await stripe.subscriptionSchedules.cancel(never.id)).status, 'canceled');
});

test("a customer's coupon reduces invoices without a discount of their own", async (t) => {
  const { stripe } = await useSandbox(t);
  const older = { apiVersion: '2024-06-20' };
  const { customer, price } = await payerAndPrice(stripe);
  const [half, tenth] = await Promise.all(
    [50, 10].map((percent_off) => stripe.coupons.create({ percent_off, duration: 'forever' })),
  );
  const give = (coupon: string) =>
    stripe.customers.update(customer, { coupon } as Stripe.CustomerUpdateParams, older);
  await give(String(half?.id));
  await assert.rejects(stripe.customers.update(customer, { coupon: 'x' } as Stripe.CustomerUpdateParams), {
    code: 'parameter_unknown',
  });
  const subscribe = (more: object) =>
    stripe.subscriptions.create({ customer, items: [{ price }], expand: ['latest_invoice'], ...more }, older);
  assert.equal(invoiceOf(await subscribe({})).total, 750);
  assert.equal(invoiceOf(await subscribe({ coupon: tenth?.id })).total, 1_350);
  await stripe.invoiceItems.create({ customer, amount: 1_000, currency: 'usd' });
  const invoice = await stripe.invoices.create({ customer, pending_invoice_items_behavior: 'include' });
  assert.equal(invoice.total, 500);
  await stripe.customers.deleteDiscount(customer);
  assert.equal(invoiceOf(await subscribe({})).total, 1_500);
  const types = (await stripe.events.list({ limit: 100 })).data.map(({ type }) => type);
  assert.equal(types.filter((type) => type.startsWith('customer.discount.')).length, 3);
});

test('versions before 2025-03-31 preview the upcoming invoice', async (t) => {
  const { stripe, sandbox } = await useSandbox(t);
  const { customer, price } = await payerAndPrice(stripe);
  const { id } = await stripe.subscriptions.create({ customer, items: [{ price }] });
  const get = async (path: string, version: string) => {
    const headers = { authorization: 'Bearer sk_test_x', 'stripe-version': version };
    const response = await fetch(`${sandbox.url}/v1/invoices/${path}`, { headers });
    return { status: response.status, body: (await response.json()) as { total?: number; data?: object[] } };
  };
  const query = `customer=${customer}&subscription=${id}`;
  assert.equal((await get(`upcoming?${query}`, '2024-06-20')).body.total, 1_500);
  const ending = await get(`upcoming?${query}&subscription_cancel_at_period_end=true`, '2024-06-20');
  assert.equal(ending.status, 404);
  assert.equal((await get(`upcoming/lines?${query}`, '2024-06-20')).body.data?.length, 1);
  assert.equal((await get(`upcoming?${query}`, '2026-10-28.endive')).status, 404);
});

test("an invoice has its customer's footer and custom fields, and its own payment settings", async (t) => {
  const { stripe } = await useSandbox(t);
  const fields = [{ name: 'PO', value: '17' }];
  const customer = await stripe.customers.create({
    invoice_prefix: 'ACME',
    invoice_settings: { footer: 'Thanks', custom_fields: fields },
  });
  assert.equal(customer.invoice_prefix, 'ACME');
  const { id, invoice_settings: kept } = await stripe.customers.update(customer.id, { name: 'Jenny' });
  assert.deepEqual([kept.footer, kept.custom_fields], ['Thanks', fields]);
  const settings = { payment_method_types: ['card' as const] };
  const invoice = await stripe.invoices.create({ customer: id, payment_settings: settings });
  assert.deepEqual([invoice.footer, invoice.custom_fields], ['Thanks', fields]);
  assert.deepEqual(invoice.payment_settings.payment_method_types, ['card']);
  const other = await stripe.invoices.create({ customer: id, footer: 'Bye' });
  assert.deepEqual([other.footer, other.payment_settings.payment_method_types], ['Bye', null]);
  await assert.rejects(stripe.customers.update(id, { invoice_prefix: 'no' }), { param: 'invoice_prefix' });
});

test("a customer's card changes its billing details and its expiry date", async (t) => {
  const { stripe } = await useSandbox(t);
  const [{ id: customer }, other] = [await stripe.customers.create(), await stripe.customers.create()];
  const { id } = await stripe.paymentMethods.create({
    type: 'card',
    card: { token: 'tok_visa' },
    billing_details: { name: 'Jenny', address: { city: 'Berlin' } },
  });
  await assert.rejects(stripe.paymentMethods.update(id, { metadata: { a: 'b' } }), {
    message: /save this PaymentMethod to a customer/,
  });
  await stripe.paymentMethods.attach(id, { customer });
  await stripe.paymentMethods.update(id, {
    billing_details: { email: 'jenny@example.com' },
    card: { exp_month: 5, exp_year: 2040 },
  });
  const { billing_details: details, card } = await stripe.customers.retrievePaymentMethod(customer, id);
  assert.deepEqual(
    [details.name, details.email, details.address?.city, card?.exp_month, card?.exp_year],
    ['Jenny', 'jenny@example.com', 'Berlin', 5, 2040],
  );
  await assert.rejects(stripe.paymentMethods.update(id, { card: { exp_year: 2001 } }), {
    code: 'invalid_expiry_year',
  });
  await assert.rejects(stripe.customers.retrievePaymentMethod(other.id, id), { statusCode: 404 });
});

test('the address of the list of subscriptions that a customer includes works', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  const items = [{ price: price.id }];
  const subscribe = () =>
    stripe.subscriptions.create({ customer: customer.id, items, payment_behavior: 'default_incomplete' });
  const [kept, canceled] = [await subscribe(), await subscribe()];
  await stripe.subscriptions.cancel(canceled.id);
  const { subscriptions } = await stripe.customers
    .retrieve(customer.id, { expand: ['subscriptions'] })
    .then((found) => (found.deleted ? assert.fail('deleted') : found));
  const listed = await stripe.rawRequest('GET', String(subscriptions?.url));
  assert.deepEqual(
    [subscriptions?.data.map(({ id }) => id), Reflect.get(listed, 'data')],
    [[kept.id], JSON.parse(JSON.stringify(subscriptions?.data))],
  );
});

test('an item may name its price a plan, and older versions show that of a single item', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer, price } = await payerAndPrice(stripe);
  const other = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 500,
    recurring: { interval: 'month' },
    product_data: { name: 'Extra' },
  });
  const { id } = await stripe.subscriptions.create({ customer, items: [{ plan: price, quantity: 3 }] });
  const older = async () => {
    const shown: unknown = await stripe.subscriptions.retrieve(id, {}, { apiVersion: '2024-06-20' });
    const { plan, quantity } = shown as { plan: { id: string } | null; quantity: number | null };
    return [plan?.id, quantity];
  };
  assert.deepEqual(await older(), [price, 3]);
  await assert.rejects(stripe.subscriptionItems.create({ subscription: id, plan: 'none' }), {
    param: 'plan',
  });
  await stripe.subscriptionItems.create({ subscription: id, plan: other.id });
  assert.deepEqual(await older(), [undefined, null]);
});
