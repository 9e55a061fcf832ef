import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Contract, contractCustomer, contractPrice, useContract } from './support.ts';

type Body = Record<string, unknown>;

/** Calls the API as a client of another version does. The official client only knows its own. */
async function call(
  { stripe }: Contract,
  version: string | null,
  method: 'GET' | 'POST',
  path: string,
  params: Record<string, string> = {},
): Promise<{ status: number; body: Body; version: string | null }> {
  const { origin, authorization } = addressOf(stripe);
  const form = new URLSearchParams(params).toString();
  const response = await fetch(`${origin}${path}${method === 'GET' && form !== '' ? `?${form}` : ''}`, {
    method,
    headers: {
      authorization,
      'content-type': 'application/x-www-form-urlencoded',
      ...(version === null ? {} : { 'stripe-version': version }),
    },
    ...(method === 'GET' ? {} : { body: form }),
  });
  return {
    status: response.status,
    body: (await response.json()) as Body,
    version: response.headers.get('stripe-version'),
  };
}

function addressOf(stripe: Contract['stripe']): { origin: string; authorization: string } {
  const key = process.env['CONTRACT_SECRET_KEY'] || 'sk_test_contract';
  const field = (name: 'host' | 'port' | 'protocol') => String(stripe.getApiField(name));
  return {
    origin: `${field('protocol')}://${field('host')}:${field('port')}`,
    authorization: `Bearer ${key}`,
  };
}

const errorOf = ({ body }: { body: Body }) => body['error'] as Body;
const fieldsOf = (value: unknown) => value as Body;

/** The last version before the period and the payments of invoices moved. */
const older = '2025-02-24.acacia';

test('an unknown version is an error, a known one is repeated in the response', async (t) => {
  const contract = await useContract(t);
  for (const version of ['2024-06-21', '2025-03-31.acacia', 'latest']) {
    const refused = await call(contract, version, 'GET', '/v1/customers');
    assert.equal(refused.status, 400);
    assert.deepEqual(errorOf(refused), {
      type: 'invalid_request_error',
      message: `Invalid Stripe API version: ${version}`,
      ...('request_log_url' in errorOf(refused)
        ? { request_log_url: errorOf(refused)['request_log_url'] }
        : {}),
    });
  }
  for (const version of ['2023-10-16', older, '2025-03-31.basil']) {
    const accepted = await call(contract, version, 'GET', '/v1/customers', { limit: '1' });
    assert.deepEqual([accepted.status, accepted.version], [200, version]);
  }
});

test('payment_method_types is accepted before 2026-09-30 and refused after', async (t) => {
  const contract = await useContract(t);
  const params = { amount: '2000', currency: 'usd', 'payment_method_types[]': 'card' };
  for (const version of ['2023-10-16', older, '2026-08-26.dahlia', null]) {
    const created = await call(contract, version, 'POST', '/v1/payment_intents', {
      ...params,
      payment_method: 'pm_card_visa',
      confirm: 'true',
    });
    assert.deepEqual(
      [
        created.status,
        created.body['status'],
        created.body['payment_method_types'],
        created.body['automatic_payment_methods'],
      ],
      [200, 'succeeded', ['card'], null],
    );
    const setup = await call(contract, version, 'POST', '/v1/setup_intents', {
      'payment_method_types[]': 'card',
    });
    assert.deepEqual([setup.status, setup.body['payment_method_types']], [200, ['card']]);
  }
  for (const path of ['/v1/payment_intents', '/v1/setup_intents']) {
    const refused = await call(
      contract,
      '2026-10-28.endive',
      'POST',
      path,
      path.includes('setup') ? { 'payment_method_types[]': 'card' } : params,
    );
    assert.deepEqual(
      [refused.status, errorOf(refused)['code']],
      [400, 'payment_method_types_no_longer_supported'],
    );
  }
});

test('an older subscription has its period, and its invoice its payment intent', async (t) => {
  const contract = await useContract(t);
  const customer = await contractCustomer(contract);
  const price = await contractPrice(contract);
  const { body: subscription } = await call(contract, older, 'POST', '/v1/subscriptions', {
    customer: customer.id,
    'items[0][price]': price.id,
    payment_behavior: 'default_incomplete',
    'expand[]': 'latest_invoice.payment_intent',
  });
  assert.equal(typeof subscription['current_period_end'], 'number');
  const [item] = fieldsOf(subscription['items'])['data'] as Body[];
  assert.equal(item !== undefined && 'current_period_end' in item, false);
  const invoice = fieldsOf(subscription['latest_invoice']);
  assert.deepEqual(
    [invoice['subscription'], invoice['paid'], 'parent' in invoice],
    [subscription['id'], false, false],
  );
  const [line] = fieldsOf(invoice['lines'])['data'] as Body[];
  assert.deepEqual(
    [line?.['type'], line?.['proration'], line?.['subscription_item'], fieldsOf(line?.['price'])['id']],
    ['subscription', false, item?.['id'], price.id],
  );
  const intent = fieldsOf(invoice['payment_intent']);
  assert.deepEqual([intent['object'], intent['invoice']], ['payment_intent', invoice['id']]);
  assert.equal(typeof intent['client_secret'], 'string');

  const { body: confirmed } = await call(
    contract,
    older,
    'POST',
    `/v1/payment_intents/${intent['id']}/confirm`,
    {
      payment_method: 'pm_card_visa',
      return_url: 'https://example.com',
      'expand[]': 'latest_charge',
    },
  );
  assert.equal(fieldsOf(confirmed['latest_charge'])['invoice'], invoice['id']);
  const { body: list } = await call(contract, older, 'GET', '/v1/invoices', {
    customer: customer.id,
    'expand[]': 'data.subscription',
  });
  const [paid] = list['data'] as Body[];
  assert.deepEqual(
    [paid?.['paid'], paid?.['charge'], typeof fieldsOf(paid?.['subscription'])['current_period_start']],
    [true, fieldsOf(confirmed['latest_charge'])['id'], 'number'],
  );
});

test('an older subscription has its discount, with the whole coupon', async (t) => {
  const contract = await useContract(t);
  const { stripe, cleanups } = contract;
  const [customer, price] = [await contractCustomer(contract), await contractPrice(contract)];
  const coupon = await stripe.coupons.create({ percent_off: 10, duration: 'forever' });
  cleanups.push(() => stripe.coupons.del(coupon.id));
  const { body } = await call(contract, older, 'POST', '/v1/subscriptions', {
    customer: customer.id,
    'items[0][price]': price.id,
    trial_period_days: '7',
    'discounts[0][coupon]': coupon.id,
  });
  const discount = fieldsOf(body['discount']);
  const { id, percent_off } = fieldsOf(discount['coupon']);
  assert.deepEqual(
    [id, percent_off, 'source' in discount, body['discounts']],
    [coupon.id, 10, false, [discount['id']]],
  );
});

test('an older decline contains the older payment intent', async (t) => {
  const contract = await useContract(t);
  const declined = await call(contract, older, 'POST', '/v1/payment_intents', {
    amount: '2000',
    currency: 'usd',
    'payment_method_types[]': 'card',
    payment_method: 'pm_card_chargeDeclined',
    confirm: 'true',
  });
  assert.deepEqual([declined.status, errorOf(declined)['code']], [402, 'card_declined']);
  assert.equal(fieldsOf(errorOf(declined)['payment_intent'])['invoice'], null);
});

test('an older invoice item takes its price by name and shows it in full', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const recurring = await contractPrice(contract);
  const price = await stripe.prices.create({
    currency: 'usd',
    unit_amount: 300,
    product: String(recurring.product),
  });
  contract.cleanups.push(() => stripe.prices.update(price.id, { active: false }));
  const params = { customer: customer.id, price: price.id, quantity: '2' };
  const { body: item } = await call(contract, older, 'POST', '/v1/invoiceitems', params);
  assert.deepEqual(
    [
      item['amount'],
      item['unit_amount'],
      fieldsOf(item['price'])['id'],
      item['subscription'],
      'pricing' in item,
    ],
    [600, 300, price.id, null, false],
  );
  const refused = await call(contract, '2026-10-28.endive', 'POST', '/v1/invoiceitems', params);
  assert.deepEqual([refused.status, errorOf(refused)['code']], [400, 'parameter_unknown']);
});

test('an older client resumes a subscription with the name of its anchor', async (t) => {
  const contract = await useContract(t);
  const customer = await contractCustomer(contract);
  const price = await contractPrice(contract);
  const { body } = await call(contract, older, 'POST', '/v1/subscriptions', {
    customer: customer.id,
    'items[0][price]': price.id,
    trial_period_days: '7',
    'trial_settings[end_behavior][missing_payment_method]': 'pause',
  });
  const path = `/v1/subscriptions/${body['id']}`;
  const paused = await call(contract, older, 'POST', path, { trial_end: 'now' });
  assert.deepEqual([paused.body['status'], 'status_details' in paused.body], ['paused', false]);
  const word = { billing_cycle_anchor: 'unchanged', proration_behavior: 'none' };
  assert.equal((await call(contract, '2026-10-28.endive', 'POST', `${path}/resume`, word)).status, 400);
  const resumed = await call(contract, older, 'POST', `${path}/resume`, word);
  assert.deepEqual([resumed.status, resumed.body['status']], [200, 'active']);
});

test('an older client changes a price, and sees prorations on the lines', async (t) => {
  const contract = await useContract(t);
  const { stripe } = contract;
  const customer = await contractCustomer(contract);
  const [low, high] = [await contractPrice(contract), await contractPrice(contract, 9_000)];
  const method = await stripe.paymentMethods.attach('pm_card_visa', { customer: customer.id });
  const created = await call(contract, older, 'POST', '/v1/subscriptions', {
    customer: customer.id,
    'items[0][price]': low.id,
    default_payment_method: method.id,
  });
  const [item] = fieldsOf(created.body['items'])['data'] as Body[];
  const change = {
    'items[0][id]': String(item?.['id']),
    'items[0][price]': high.id,
    billing_cycle_anchor: 'now',
    'expand[]': 'latest_invoice',
  };
  const path = `/v1/subscriptions/${created.body['id']}`;
  assert.equal((await call(contract, '2026-10-28.endive', 'POST', path, change)).status, 400);
  const changed = await call(contract, older, 'POST', path, change);
  assert.equal(changed.status, 200);
  const lines = fieldsOf(fieldsOf(changed.body['latest_invoice'])['lines'])['data'] as Body[];
  assert.deepEqual(
    lines.map((line) => [line['type'], line['proration'], fieldsOf(line['price'])['id']]).sort(),
    [
      ['invoiceitem', true, low.id],
      ['subscription', false, high.id],
    ],
  );
  assert.match(String(lines.find((line) => line['proration'])?.['invoice_item']), /^ii_/);
});

test('booleans may be written as Python writes them', async (t) => {
  const contract = await useContract(t);
  const created = await call(contract, '2026-10-28.endive', 'POST', '/v1/products', {
    name: 'Contract product',
    active: 'False',
  });
  assert.deepEqual([created.status, created.body['active']], [200, false]);
  const { body } = await call(contract, null, 'POST', `/v1/products/${created.body['id']}`, {
    active: 'True',
  });
  assert.equal(body['active'], true);
  await call(contract, null, 'POST', `/v1/products/${created.body['id']}`, { active: 'false' });
});

test('metadata that looks like an object stays as it is', async (t) => {
  const contract = await useContract(t);
  const customer = await contractCustomer(contract);
  for (const object of ['subscription', 'invoice', 'line_item', 'invoiceitem', 'payment_intent']) {
    const { status, body } = await call(contract, older, 'POST', `/v1/customers/${customer.id}`, {
      'metadata[id]': 'x',
      'metadata[object]': object,
    });
    assert.deepEqual([status, body['metadata']], [200, { id: 'x', object }]);
  }
});
