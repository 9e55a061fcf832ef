import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { contractCustomer, contractPrice, useContract } from './support.ts';

const urls = { success_url: 'https://shop.example.com/welcome', cancel_url: 'https://shop.example.com/' };
const expand = ['line_items', 'subscription', 'payment_intent.latest_charge', 'setup_intent.latest_attempt'];

test('a session is open until it expires, and then it stays expired', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { id: customer } = await contractCustomer(contract);
  const price = await contractPrice(contract);
  const created = await stripe.checkout.sessions.create({
    ...{ mode: 'subscription', customer, ...urls, expand, metadata: { till_id: 'a' } },
    line_items: [{ price: price.id, quantity: 2 }],
    payment_method_collection: 'always',
    subscription_data: {
      metadata: { till_id: 'b' },
      billing_mode: { type: 'flexible' },
      trial_period_days: 7,
    },
  });
  assert.partialDeepStrictEqual(created, {
    ...{ object: 'checkout.session', status: 'open', payment_status: 'unpaid', mode: 'subscription' },
    ...{ customer, subscription: null, invoice: null, metadata: { till_id: 'a' }, currency: 'usd' },
  });
  const day = 86_400;
  assert.ok(Math.abs(created.expires_at - created.created - day) < 60);
  assert.match(created.url ?? '', /^https?:\/\//);
  const read = await stripe.checkout.sessions.retrieve(created.id, { expand });
  const [line] = read.line_items?.data ?? [];
  assert.deepEqual([line?.price?.id, line?.quantity], [price.id, 2]);
  assert.equal(read.url, created.url);
  const listed = async (status: 'open' | 'expired') =>
    (await stripe.checkout.sessions.list({ customer, status })).data.map(({ id }) => id);
  assert.deepEqual(await listed('open'), [created.id]);

  const expired = await stripe.checkout.sessions.expire(created.id);
  assert.partialDeepStrictEqual(expired, { status: 'expired', url: null, subscription: null });
  assert.deepEqual(await listed('open'), []);
  assert.deepEqual(await listed('expired'), [created.id]);
  await assert.rejects(stripe.checkout.sessions.expire(created.id), { statusCode: 400 });
  assert.deepEqual((await stripe.subscriptions.list({ customer, status: 'all' })).data, []);
});

test('sessions that sell once or save a card have an intent, or get it on the page', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { id: customer } = await contractCustomer(contract);
  const open = async (params: Stripe.Checkout.SessionCreateParams) =>
    stripe.checkout.sessions.create({ customer, ...urls, expand, ...params });
  const price_data = { currency: 'usd', unit_amount: 700, product_data: { name: 'Order 7' } };
  const order = await open({
    mode: 'payment',
    line_items: [{ quantity: 1, price_data }],
    payment_intent_data: { metadata: { till_id: 'c' }, description: 'Order 7' },
    expires_at: Math.floor(Date.now() / 1_000) + 31 * 60,
  });
  assert.partialDeepStrictEqual(order, { mode: 'payment', status: 'open', amount_total: 700 });
  assert.equal(order.payment_intent, null);
  const card = await open({
    mode: 'setup',
    allowed_payment_method_types: ['card'],
    setup_intent_data: { metadata: { till_id: 'd' } },
  });
  assert.partialDeepStrictEqual(card, {
    ...{ mode: 'setup', status: 'open', amount_total: null, payment_status: 'no_payment_required' },
  });
  assert.equal((await stripe.checkout.sessions.list({ customer, status: 'open' })).data.length, 2);
  for (const { id } of [order, card]) await stripe.checkout.sessions.expire(id);
});

test('refused: a time too near, a locale that does not exist, and a customer that does not', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { id: customer } = await contractCustomer(contract);
  const params = { mode: 'setup', currency: 'usd', customer, ...urls } as const;
  const refused = async (change: object, param: string) =>
    assert.rejects(stripe.checkout.sessions.create({ ...params, ...change }), { statusCode: 400, param });
  await refused({ expires_at: Math.floor(Date.now() / 1_000) + 60 }, 'expires_at');
  await refused({ locale: 'tlh' }, 'locale');
  await refused({ customer: 'cus_unknown' }, 'customer');
});

test('a portal session has a URL, and its configuration says what customers can do', async (t) => {
  const contract = await useContract(t);
  const { stripe, cleanups } = contract;
  const { id: customer } = await contractCustomer(contract);
  const { id: configuration } = await stripe.billingPortal.configurations.create({
    features: {
      payment_method_update: { enabled: true },
      invoice_history: { enabled: true },
      customer_update: { enabled: true, allowed_updates: ['address'] },
      subscription_cancel: { enabled: true, mode: 'at_period_end' },
    },
    metadata: { contract: '1' },
  });
  cleanups.push(() => stripe.billingPortal.configurations.update(configuration, { active: false }));
  const { data } = await stripe.billingPortal.configurations.list({ limit: 100 });
  const found = data.find(({ id }) => id === configuration);
  assert.partialDeepStrictEqual(found, {
    ...{ active: true, metadata: { contract: '1' } },
    features: { subscription_cancel: { enabled: true, mode: 'at_period_end' } },
  });
  const return_url = 'https://shop.example.com/account';
  const session = await stripe.billingPortal.sessions.create({ customer, configuration, return_url });
  assert.partialDeepStrictEqual(session, { object: 'billing_portal.session', customer, return_url });
  assert.match(session.url, /^https?:\/\//);
});
