import assert from 'node:assert/strict';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { contractCustomer, contractPrice, useContract } from './support.ts';

test('prices are found by their lookup keys, which only one price has at a time', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { product, id: plain } = await contractPrice(contract);
  const key = `contract_${plain}`;
  const create = (extra: Partial<Stripe.PriceCreateParams> = {}) =>
    stripe.prices.create({
      currency: 'usd',
      unit_amount: 900,
      product: String(product),
      lookup_key: key,
      ...extra,
    });
  const first = await create();
  contract.cleanups.push(() => stripe.prices.update(first.id, { active: false }));
  const found = await stripe.prices.list({
    lookup_keys: [key, 'contract_unknown'],
    expand: ['data.product'],
  });
  assert.deepEqual(
    found.data.map(({ id, lookup_key, product: shown }) => [id, lookup_key, typeof shown]),
    [[first.id, key, 'object']],
  );
  await assert.rejects(create(), { statusCode: 400 });
  const second = await create({ transfer_lookup_key: true });
  contract.cleanups.push(() => stripe.prices.update(second.id, { active: false }));
  assert.equal((await stripe.prices.retrieve(first.id)).lookup_key, null);
  const { data } = await stripe.prices.list({ lookup_keys: [key] });
  assert.deepEqual(
    data.map(({ id }) => id),
    [second.id],
  );
});

test('a secret key shows its own account', async (t) => {
  const { stripe } = await useContract(t);
  const account = await stripe.accounts.retrieveCurrent();
  assert.equal(account.object, 'account');
  assert.match(account.id, /^acct_/);
  assert.match(String(account.default_currency), /^[a-z]{3}$/);
  assert.equal((await stripe.accounts.retrieve(account.id)).id, account.id);
  await assert.rejects(stripe.accounts.retrieve('acct_000000000000'), { statusCode: 403 });
});

test('an invoice names the country of the account', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const { id: customer } = await contractCustomer(contract);
  const draft = await stripe.invoices.create({ customer });
  const account = await stripe.accounts.retrieveCurrent();
  assert.equal(draft.account_country, account.country);
  await stripe.invoices.del(draft.id);
});

test('what an account has none of is an empty list, not an error', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const of = { customer: customer.id };
  const lists = [
    await stripe.subscriptionSchedules.list(of),
    await stripe.creditNotes.list(of),
    await stripe.checkout.sessions.list(of),
    await stripe.quotes.list(of),
    await stripe.promotionCodes.list(of),
    await stripe.taxIds.list({ owner: { type: 'customer', customer: customer.id } }),
    await stripe.customers.listTaxIds(customer.id),
    await stripe.customers.listBalanceTransactions(customer.id),
    await stripe.disputes.list({ created: { lt: 1_000_000_000 } }),
    await stripe.radar.earlyFraudWarnings.list({ created: { lt: 1_000_000_000 } }),
    await stripe.coupons.list({ created: { lt: 1_000_000_000 } }),
    await stripe.taxRates.list({ created: { lt: 1_000_000_000 } }),
    await stripe.payouts.list({ created: { lt: 1_000_000_000 } }),
    await stripe.balanceTransactions.list({ created: { lt: 1_000_000_000 } }),
    await stripe.plans.list({ created: { lt: 1_000_000_000 } }),
  ];
  for (const { object, data, has_more } of lists)
    assert.deepEqual([object, data, has_more], ['list', [], false]);
  await assert.rejects(stripe.coupons.retrieve('none'), { statusCode: 404, code: 'resource_missing' });
  await assert.rejects(stripe.creditNotes.list({ starting_after: 'cn_none' }), { statusCode: 400 });
});

test('a recurring price is also a plan', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const price = await contractPrice(contract);
  const plan = await stripe.plans.retrieve(price.id);
  assert.deepEqual([plan.object, plan.amount, plan.interval], ['plan', 1_500, 'month']);
  const { data } = await stripe.plans.list({ product: String(price.product) });
  assert.deepEqual(
    data.map(({ id }) => id),
    [price.id],
  );
});

test('the items of a subscription can be listed and read', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const price = await contractPrice(contract);
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id, quantity: 2 }],
    trial_period_days: 7,
  });
  const { data } = await stripe.subscriptionItems.list({ subscription: subscription.id });
  assert.deepEqual(
    data.map(({ quantity, price: { id } }) => [quantity, id]),
    [[2, price.id]],
  );
  const [item] = data;
  assert.equal((await stripe.subscriptionItems.retrieve(String(item?.id))).subscription, subscription.id);
  await assert.rejects(stripe.subscriptionItems.retrieve('si_none'), { statusCode: 404 });
});

test('test tokens become cards', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const method = await stripe.paymentMethods.create({ type: 'card', card: { token: 'tok_mastercard' } });
  assert.deepEqual([method.card?.brand, method.card?.last4], ['mastercard', '4444']);
  await assert.rejects(stripe.paymentMethods.create({ type: 'card', card: { token: 'tok_none' } }), {
    statusCode: 400,
    code: 'resource_missing',
  });
  const customer = await stripe.customers.create({ source: 'tok_visa' });
  contract.cleanups.push(() => stripe.customers.del(customer.id));
  assert.match(String(customer.default_source), /^card_/);
  const price = await contractPrice(contract);
  const subscription = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
  });
  assert.equal(subscription.status, 'active');
  await assert.rejects(stripe.customers.create({ source: 'tok_chargeDeclined' }), {
    statusCode: 402,
    code: 'card_declined',
  });
});

test('a setup intent can be confirmed when it is created', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const automatic = { enabled: true, allow_redirects: 'never' } as const;
  const saved = await stripe.setupIntents.create({
    customer: customer.id,
    payment_method: 'pm_card_visa',
    confirm: true,
    automatic_payment_methods: automatic,
  });
  assert.equal(saved.status, 'succeeded');
  const { data } = await stripe.customers.listPaymentMethods(customer.id);
  assert.deepEqual(
    data.map(({ id }) => id),
    [saved.payment_method],
  );
  const waiting = await stripe.setupIntents.create({
    payment_method: 'pm_card_visa',
    automatic_payment_methods: automatic,
  });
  assert.equal(waiting.status, 'requires_confirmation');
  const changed = await stripe.setupIntents.update(waiting.id, { description: 'Later' });
  assert.deepEqual([changed.description, changed.status], ['Later', 'requires_confirmation']);
  assert.equal((await stripe.setupIntents.confirm(waiting.id)).status, 'succeeded');
  await assert.rejects(
    stripe.setupIntents.create({
      payment_method: 'pm_card_chargeDeclined',
      confirm: true,
      automatic_payment_methods: automatic,
    }),
    { statusCode: 402, code: 'card_declined' },
  );
});

test('a payment keeps its shipping details and shows them on its charge', async (t) => {
  const { stripe } = await useContract(t);
  const shipping = { name: 'Jenny Rosen', address: { line1: '510 Townsend St', city: 'San Francisco' } };
  const intent = await stripe.paymentIntents.create({
    amount: 2_000,
    currency: 'usd',
    shipping,
    confirm: true,
    payment_method: 'pm_card_visa',
    automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
    expand: ['latest_charge'],
  });
  const charge = intent.latest_charge as Stripe.Charge;
  for (const shown of [intent.shipping, charge.shipping])
    assert.deepEqual(
      [shown?.name, shown?.address?.line1, shown?.carrier],
      ['Jenny Rosen', '510 Townsend St', null],
    );
});

test('only the server confirms a payment with manual confirmation', async (t) => {
  const { stripe } = await useContract(t);
  const intent = await stripe.paymentIntents.create({
    amount: 2_000,
    currency: 'usd',
    confirmation_method: 'manual',
    payment_method: 'pm_card_visa',
    automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
  });
  assert.deepEqual([intent.confirmation_method, intent.status], ['manual', 'requires_confirmation']);
  assert.equal((await stripe.paymentIntents.confirm(intent.id)).status, 'succeeded');
});
