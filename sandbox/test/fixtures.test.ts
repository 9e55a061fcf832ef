import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventTypes, useReceiver, useSandbox, worldOf } from './support.ts';

const card = { number: '4242424242424242', exp_month: 12, exp_year: 2034, cvc: '123' };

const shop = {
  // On purpose in another order than the objects depend on each other.
  subscriptions: [{ id: 'sub_jenny', customer: 'cus_jenny', items: [{ price: 'price_pro', quantity: 2 }] }],
  customers: [
    {
      id: 'cus_jenny',
      email: 'jenny@example.com',
      metadata: { user: '42' },
      payment_method: 'pm_jenny',
      invoice_settings: { default_payment_method: 'pm_jenny' },
    },
    { id: 'cus_without_card', name: null },
  ],
  payment_methods: [{ id: 'pm_jenny', type: 'card', card }],
  prices: [
    {
      id: 'price_pro',
      product: 'prod_pro',
      currency: 'eur',
      unit_amount: 900,
      recurring: { interval: 'month' },
    },
  ],
  products: [{ id: 'prod_pro', name: 'Pro', active: true }],
  payment_intents: [
    {
      id: 'pi_paid',
      amount: 500,
      currency: 'eur',
      customer: 'cus_jenny',
      payment_method: 'pm_jenny',
      confirm: true,
      off_session: true,
      return_url: 'https://shop.example/done',
    },
  ],
};

test('fixtures create objects with the chosen ids, which refer to each other', async (t) => {
  const { sandbox } = await useSandbox(t);
  const { stripe, control } = worldOf(sandbox, 'shop');
  const { status, body } = await control('POST', 'fixtures', shop);
  assert.equal(status, 200, JSON.stringify(body));
  const { objects } = body as { objects: Record<string, { id: string }[]> };
  assert.deepEqual(
    Object.values(objects).flatMap((kind) => kind.map(({ id }) => id)),
    ['prod_pro', 'price_pro', 'pm_jenny', 'cus_jenny', 'cus_without_card', 'pi_paid', 'sub_jenny'],
  );
  const subscription = await stripe.subscriptions.retrieve('sub_jenny', { expand: ['latest_invoice'] });
  assert.equal(subscription.status, 'active');
  const invoice = subscription.latest_invoice;
  assert.ok(typeof invoice === 'object' && invoice !== null);
  assert.deepEqual([invoice.status, invoice.amount_paid, invoice.currency], ['paid', 1_800, 'eur']);
  const customer = await stripe.customers.retrieve('cus_jenny');
  assert.ok(!customer.deleted);
  assert.deepEqual(
    [customer.metadata['user'], customer.invoice_settings.default_payment_method],
    ['42', 'pm_jenny'],
  );
  assert.equal((await stripe.paymentIntents.retrieve('pi_paid')).status, 'succeeded');
  // Other objects get random ids, as always.
  assert.match((await stripe.customers.create({})).id, /^cus_[A-Za-z0-9]{14}$/);
});

test('fixtures send the events of the objects, and an endpoint has the chosen secret', async (t) => {
  const { sandbox } = await useSandbox(t);
  const { stripe, control } = worldOf(sandbox, 'events');
  const receiver = await useReceiver(t);
  const secret = 'whsec_chosen0123456789';
  await control('POST', 'fixtures', {
    webhook_endpoints: [{ id: 'we_app', url: receiver.url, enabled_events: ['*'], secret }],
  });
  await control('POST', 'fixtures', { customers: [{ id: 'cus_a' }] });
  const [delivered] = await receiver.first(1);
  const event = stripe.webhooks.constructEvent(
    delivered?.body ?? '',
    String(delivered?.headers['stripe-signature']),
    secret,
  );
  assert.equal(event.type, 'customer.created');
  assert.deepEqual(await eventTypes(stripe), ['customer.created']);
});

test('fixtures can use a test clock', async (t) => {
  const { sandbox } = await useSandbox(t);
  const { stripe, control } = worldOf(sandbox, 'clock');
  const frozen_time = 1_700_000_000;
  const { status, body } = await control('POST', 'fixtures', {
    test_clocks: [{ id: 'clock_trial', frozen_time }],
    products: shop.products,
    prices: shop.prices,
    customers: [{ id: 'cus_trial', test_clock: 'clock_trial' }],
    subscriptions: [
      { id: 'sub_trial', customer: 'cus_trial', items: [{ price: 'price_pro' }], trial_period_days: 30 },
    ],
  });
  assert.equal(status, 200, JSON.stringify(body));
  const subscription = await stripe.subscriptions.retrieve('sub_trial');
  assert.deepEqual(
    [subscription.status, subscription.created, subscription.trial_end],
    ['trialing', frozen_time, frozen_time + 30 * 86_400],
  );
  await stripe.testHelpers.testClocks.advance('clock_trial', { frozen_time: frozen_time + 28 * 86_400 });
  while ((await stripe.testHelpers.testClocks.retrieve('clock_trial')).status !== 'ready');
  assert.ok((await eventTypes(stripe)).includes('customer.subscription.trial_will_end'));
});

test('fixtures create invoices after the items they include and before the items that name them', async (t) => {
  const { stripe, control } = await useSandbox(t);
  const item = { customer: 'cus_a', amount: 500, currency: 'usd' };
  const invoices = [
    { id: 'in_a', customer: 'cus_a', pending_invoice_items_behavior: 'include' },
    { id: 'in_b', customer: 'cus_a', currency: 'usd' },
  ];
  const invoiceitems = [
    { ...item, id: 'ii_b', invoice: 'in_b' },
    { ...item, id: 'ii_a' },
  ];
  const customers = [{ id: 'cus_a' }];
  for (const input of [
    { invoices, invoiceitems, customers },
    { invoiceitems, invoices, customers },
  ]) {
    const { status, body } = await control('POST', 'fixtures', input);
    assert.equal(status, 200, JSON.stringify(body));
    for (const name of ['a', 'b'])
      assert.deepEqual(
        (await stripe.invoiceItems.list({ invoice: `in_${name}` })).data.map(({ id }) => id),
        [`ii_${name}`],
      );
    await control('POST', 'reset');
  }
});

const wrong: [string, unknown, RegExp][] = [
  ['no JSON', undefined, /must be JSON/],
  ['a list', [], /must be a JSON object/],
  [
    'an unknown kind',
    { customer: [] },
    /Unknown kind "customer"\. Known kinds: checkout_sessions, confirmation_tokens, coupons, customers,/,
  ],
  ['no list', { customers: {} }, /"customers" must be a list/],
  ['no object', { customers: ['cus_1'] }, /customers\[0\] must be an object/],
  ['an unknown field', { customers: [{ emial: 'a' }] }, /customers\[0\]: Received unknown parameter: emial/],
  ['a missing field', { products: [{ id: 'prod_1' }] }, /products\[0\]: Missing required param: name/],
  ['a wrong prefix', { customers: [{ id: 'prod_1' }] }, /customers\[0\]: "id" must be "cus_" followed by/],
  ['a hostile id', { customers: [{ id: 'cus_../x' }] }, /customers\[0\]: "id" must be/],
  ['no id', { customers: [{ id: 7 }] }, /customers\[0\]: "id" must be/],
  [
    'the same id twice',
    { customers: [{ id: 'cus_1' }, { id: 'cus_1' }] },
    /customers\[1\]: "cus_1" already exists/,
  ],
  ['an unknown reference', { refunds: [{ charge: 'ch_1' }] }, /refunds\[0\]: No such charge: 'ch_1'/],
  [
    'a declined card',
    {
      payment_intents: [
        {
          amount: 500,
          currency: 'eur',
          confirm: true,
          payment_method: 'pm_card_chargeDeclined',
          return_url: 'https://a.example',
        },
      ],
    },
    /payment_intents\[0\]: .*declined/,
  ],
  [
    'a bad secret',
    { webhook_endpoints: [{ url: 'http://a.example', enabled_events: ['*'], secret: 'x' }] },
    /"secret" must be/,
  ],
  [
    'deep nesting',
    { customers: [{ metadata: { a: { b: { c: { d: { e: { f: 1 } } } } } } }] },
    /at most 6 levels/,
  ],
  ['too many', { customers: Array.from({ length: 1_001 }, () => ({})) }, /at most 1000 objects/],
];

for (const [name, input, message] of wrong)
  test(`fixtures with ${name} are refused as a whole`, async (t) => {
    const { sandbox, control, stripe } = await useSandbox(t);
    const valid = { products: [{ id: 'prod_valid', name: 'Valid' }] };
    const body =
      input === undefined
        ? 'not JSON'
        : JSON.stringify(Array.isArray(input) ? input : { ...valid, ...(input as object) });
    const response = await fetch(`${sandbox.url}/sandbox/fixtures`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const { error } = (await response.json()) as { error: string };
    assert.equal(response.status, 400);
    assert.match(error, message);
    const { holds } = (await control('GET', '')).body as { holds: Record<string, number> };
    assert.deepEqual(
      Object.values(holds).filter((count) => count > 0),
      [],
    );
    assert.deepEqual(await eventTypes(stripe), []);
  });
