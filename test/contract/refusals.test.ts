import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { contractCustomer, contractPrice, useContract } from './support.ts';

const returnUrl = 'https://example.com/done';
const payment = { amount: 1_000, currency: 'usd', confirm: true, return_url: returnUrl };

test('a detached card cannot be used again', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = (await contractCustomer(contract)).id;
  const { id } = await stripe.paymentMethods.attach('pm_card_visa', { customer });
  await stripe.paymentMethods.detach(id);
  await assert.rejects(stripe.paymentMethods.attach(id, { customer }), {
    statusCode: 400,
    message: /was detached from a Customer/,
  });
  for (const more of [{}, { customer }])
    await assert.rejects(stripe.paymentIntents.create({ ...payment, ...more, payment_method: id }), {
      statusCode: 400,
      message: /was detached from a Customer/,
    });
  const setup = await stripe.setupIntents.create({ customer });
  await assert.rejects(stripe.setupIntents.confirm(setup.id, { payment_method: id, return_url: returnUrl }), {
    statusCode: 400,
  });
});

test('a card that paid without a customer cannot be used again', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const paid = await stripe.paymentIntents.create({ ...payment, payment_method: 'pm_card_visa' });
  const used = String(paid.payment_method);
  await assert.rejects(stripe.paymentIntents.create({ ...payment, payment_method: used }), {
    statusCode: 400,
  });
  await assert.rejects(stripe.paymentMethods.attach(used, { customer: customer.id }), { statusCode: 400 });
});

test('a response expands at most four levels, and `data` counts as one', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const [customer, price] = await Promise.all([contractCustomer(contract), contractPrice(contract)]);
  await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    payment_behavior: 'default_incomplete',
  });
  const list = { customer: customer.id, status: 'all' } as const;
  const [four] = (
    await stripe.subscriptions.list({ ...list, expand: ['data.latest_invoice.customer.default_source'] })
  ).data;
  const invoice = four?.latest_invoice as Stripe.Invoice;
  assert.equal((invoice.customer as Stripe.Customer).id, customer.id);
  await assert.rejects(stripe.subscriptions.list({ ...list, expand: ['data.items.data.price.product'] }), {
    statusCode: 400,
    code: 'property_expansion_max_depth',
    message: /^You cannot expand more than 4 levels of a property/,
  });
});

test('a card payment takes no statement_descriptor, only a suffix of letters', async (t) => {
  const { stripe } = await useContract(t);
  const intent = { amount: 1_000, currency: 'usd' };
  await assert.rejects(stripe.paymentIntents.create({ ...intent, statement_descriptor: 'SHOP' }), {
    statusCode: 400,
    message: /statement_descriptor_suffix/,
  });
  for (const suffix of ['A<B', 'A>B', "A'B", 'A"B', 'A\\B', 'A*B', '12345'])
    await assert.rejects(
      stripe.paymentIntents.create({ ...intent, statement_descriptor_suffix: suffix }),
      { statusCode: 400, type: 'StripeInvalidRequestError' },
      suffix,
    );
  const created = await stripe.paymentIntents.create({ ...intent, statement_descriptor_suffix: 'ORDER 5' });
  assert.equal(created.statement_descriptor_suffix, 'ORDER 5');
  await assert.rejects(stripe.products.create({ name: 'P', statement_descriptor: '<SHOP>' }), {
    statusCode: 400,
  });
});

test('an error links to its documentation and to the request', async (t) => {
  const { stripe } = await useContract(t);
  const error = await stripe.customers.retrieve('cus_contractnothing').catch((thrown: unknown) => thrown);
  const raw = (error as Stripe.errors.StripeError).raw as Stripe.StripeRawError & {
    request_log_url?: string;
  };
  assert.match(
    String(raw.doc_url),
    /^https:\/\/(docs\.)?stripe\.com\/(docs\/)?error-codes\/resource-missing$/,
  );
  assert.match(
    String(raw.request_log_url),
    new RegExp((error as Stripe.errors.StripeError).requestId ?? '-'),
  );
  const declined = await stripe.paymentIntents
    .create({ ...payment, payment_method: 'pm_card_visa_chargeDeclined' })
    .catch((thrown: unknown) => thrown);
  const { payment_intent: intent, doc_url: url } = declined as Stripe.errors.StripeCardError;
  assert.match(String(url), /card-declined$/);
  assert.equal(intent?.last_payment_error?.doc_url, url);
});

test('use_stripe_sdk leaves the authentication to the client library', async (t) => {
  const { stripe } = await useContract(t);
  const pay = (more: object) =>
    stripe.paymentIntents.create({
      ...payment,
      payment_method: 'pm_card_threeDSecure2Required',
      ...more,
    });
  const redirected = await pay({});
  assert.equal(redirected.next_action?.type, 'redirect_to_url');
  assert.equal(redirected.next_action?.redirect_to_url?.return_url, returnUrl);
  const handled = await pay({ use_stripe_sdk: true });
  assert.equal(handled.next_action?.type, 'use_stripe_sdk');
  assert.equal(handled.next_action?.redirect_to_url, undefined);
  assert.ok(handled.next_action?.use_stripe_sdk);
});

test('a search query that does not parse, or names an unknown field, is an error', async (t) => {
  const { stripe } = await useContract(t);
  const search = (query: string) => stripe.customers.search({ query });
  const refused = { statusCode: 400, type: 'StripeInvalidRequestError' };
  for (const query of ['jenny', "email='a@example.com'", "(email:'a@example.com')"])
    await assert.rejects(search(query), { ...refused, message: /unable to parse your search query/ }, query);
  await assert.rejects(search("colour:'red'"), {
    ...refused,
    message: /^Field `colour` is an unsupported search field for resource `customers`/,
  });
  await assert.rejects(search("email:'a' AND name:'b' OR name:'c'"), refused);
  await assert.rejects(search("email>'a'"), refused);
  await assert.rejects(search("name~'ab'"), refused);
});

test('only properties of the object can be expanded', async (t) => {
  const contract = await useContract(t);
  const { id } = await contractCustomer(contract);
  for (const path of ['__proto__.__proto__', '__proto__', 'constructor', 'toString', 'metadata', 'none'])
    await assert.rejects(contract.stripe.customers.retrieve(id, { expand: [path] }), {
      statusCode: 400,
      message: /cannot be expanded/,
    });
});

test('a return address must be a URL', async (t) => {
  const { stripe } = await useContract(t);
  const refused = { statusCode: 400, code: 'url_invalid', param: 'return_url' };
  const setup = { confirm: true, payment_method: 'pm_card_visa' };
  for (const return_url of ['done', '//example.com', 'https://'])
    for (const attempt of [
      () => stripe.paymentIntents.create({ ...payment, payment_method: 'pm_card_visa', return_url }),
      () => stripe.setupIntents.create({ ...setup, return_url }),
    ])
      await assert.rejects(attempt, refused, return_url);
});
