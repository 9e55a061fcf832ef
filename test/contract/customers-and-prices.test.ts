import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contractCustomer, contractPrice, useContract } from './support.ts';

test('a customer is created, read, changed, cleared and deleted', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  assert.match(customer.id, /^cus_/);
  assert.deepEqual(
    [customer.object, customer.email, customer.name, customer.phone, customer.livemode, customer.metadata],
    ['customer', 'contract@example.com', 'Contract', '+15550100', false, {}],
  );
  const changed = await stripe.customers.update(customer.id, {
    name: 'Other',
    phone: '',
    metadata: { till_id: 'x', gone: '' },
  });
  assert.deepEqual(
    [changed.name, changed.phone, changed.metadata, changed.email],
    ['Other', null, { till_id: 'x' }, customer.email],
  );
  const read = await stripe.customers.retrieve(customer.id);
  assert.ok(!read.deleted);
  assert.equal(read.name, 'Other');
  assert.equal((await stripe.customers.del(customer.id)).deleted, true);
  assert.equal((await stripe.customers.retrieve(customer.id)).deleted, true);
  await assert.rejects(stripe.customers.update(customer.id, { name: 'Late' }), { code: 'resource_missing' });
});

test('an id that names nothing is a 404 in a path and a 400 in a parameter', async (t) => {
  const { stripe } = await useContract(t);
  await assert.rejects(stripe.customers.retrieve('cus_contractnothing'), {
    statusCode: 404,
    code: 'resource_missing',
    param: 'id',
  });
  await assert.rejects(
    stripe.paymentIntents.create({ amount: 1_000, currency: 'usd', customer: 'cus_contractnothing' }),
    {
      statusCode: 400,
      code: 'resource_missing',
      param: 'customer',
    },
  );
});

test('a price is created with its product in one call, and both can be archived', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const price = await contractPrice(contract);
  assert.deepEqual(
    [
      price.object,
      price.active,
      price.unit_amount,
      price.currency,
      price.type,
      price.recurring?.interval,
      price.recurring?.interval_count,
    ],
    ['price', true, 1_500, 'usd', 'recurring', 'month', 1],
  );
  assert.equal(price.unit_amount_decimal?.toString(), '1500');
  const product = await stripe.products.retrieve(String(price.product));
  assert.deepEqual([product.object, product.name, product.active], ['product', 'Contract plan', true]);
  assert.equal((await stripe.prices.update(price.id, { active: false })).active, false);
  assert.equal((await stripe.products.update(product.id, { active: false })).active, false);
});

test('a price may cost nothing', async (t) => {
  const contract = await useContract(t);
  assert.equal((await contractPrice(contract, 0)).unit_amount, 0);
});

test('a currency that does not exist is refused by name', async (t) => {
  const { stripe } = await useContract(t);
  await assert.rejects(stripe.paymentIntents.create({ amount: 1_000, currency: 'xxq' }), {
    statusCode: 400,
    param: 'currency',
  });
});

test('a parameter that does not exist is refused by name', async (t) => {
  const { stripe } = await useContract(t);
  await assert.rejects(stripe.customers.create({ colour: 'red' } as object), {
    statusCode: 400,
    code: 'parameter_unknown',
    param: 'colour',
  });
});

test('a webhook endpoint shows its secret once', async (t) => {
  const { stripe } = await useContract(t);
  const endpoint = await stripe.webhookEndpoints.create({
    url: 'https://example.com/till-contract',
    enabled_events: ['customer.created'],
  });
  assert.match(String(endpoint.secret), /^whsec_/);
  assert.equal((await stripe.webhookEndpoints.retrieve(endpoint.id)).secret, undefined);
  assert.equal((await stripe.webhookEndpoints.del(endpoint.id)).deleted, true);
});

test('the account of a secret key can be read', async (t) => {
  const { stripe } = await useContract(t);
  const account = await stripe.accounts.retrieveCurrent();
  assert.deepEqual([account.object, (await stripe.accounts.retrieveCurrent()).id], ['account', account.id]);
  assert.match(account.id, /^acct_\w+$/);
});
