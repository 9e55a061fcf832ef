import assert from 'node:assert/strict';
import { test } from 'node:test';
import Stripe from 'stripe';
import { eventTypes, type TestSandbox, useSandbox } from './support.ts';

const daySeconds = 86_400;

const makePrice = (
  stripe: Stripe,
  unit_amount: number | undefined,
  more: Partial<Stripe.PriceCreateParams> = {},
) =>
  stripe.prices.create({
    currency: 'usd',
    ...(unit_amount === undefined ? {} : { unit_amount }),
    recurring: { interval: 'month' },
    product_data: { name: `Price ${unit_amount}` },
    ...more,
  });

const makePrices = (stripe: Stripe, ...amounts: number[]) =>
  Promise.all(amounts.map((amount) => makePrice(stripe, amount)));

async function makeCustomer(stripe: Stripe): Promise<{ customer: string; default_payment_method: string }> {
  const { id } = await stripe.customers.create({ payment_method: 'pm_card_visa' });
  const [card] = (await stripe.customers.listPaymentMethods(id)).data;
  return { customer: id, default_payment_method: String(card?.id) };
}

/** A subscription with an item for each of these prices, halfway through its period of 30 days. */
async function halfway(
  { stripe, control, advance }: TestSandbox,
  amounts: readonly number[],
  more: Partial<Stripe.SubscriptionCreateParams> = {},
) {
  await control('POST', 'clock', { to: Date.UTC(2027, 3, 1) / 1_000 });
  const prices = await makePrices(stripe, ...amounts);
  const subscription = await stripe.subscriptions.create({
    ...(await makeCustomer(stripe)),
    items: prices.map(({ id }) => ({ price: id })),
    ...more,
  });
  await advance(15 * daySeconds);
  const ids = subscription.items.data.map(({ id }) => id);
  return { subscription, id: subscription.id, prices: prices.map(({ id }) => id), items: ids };
}

const linesOf = (invoice: Stripe.Invoice | string | null) =>
  typeof invoice === 'object' && invoice !== null
    ? invoice.lines.data.map(({ amount, quantity }) => [amount, quantity])
    : [];

const latest = ({ latest_invoice: invoice }: Stripe.Subscription) => invoice as Stripe.Invoice;

test('a subscription with several items has one invoice with a line for each', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const prices = await makePrices(stripe, 1_000, 300, 50);
  const created = await stripe.subscriptions.create({
    ...(await makeCustomer(stripe)),
    items: prices.map(({ id }, index) => ({
      price: id,
      quantity: index + 1,
      metadata: { place: `${index}` },
    })),
    expand: ['latest_invoice'],
  });
  assert.deepEqual(
    [created.status, latest(created).total, linesOf(latest(created))],
    [
      'active',
      1_750,
      [
        [1_000, 1],
        [600, 2],
        [150, 3],
      ],
    ],
  );
  assert.deepEqual(
    latest(created).lines.data.map(({ parent }) => parent?.subscription_item_details?.subscription_item),
    created.items.data.map(({ id }) => id),
  );
  assert.equal(new Set(created.items.data.map(({ id }) => id)).size, 3);
  assert.deepEqual(
    created.items.data.map(({ metadata, created: at }) => [metadata['place'], at]),
    ['0', '1', '2'].map((place) => [place, created.created]),
  );
  await advance(32 * daySeconds);
  const [renewal] = (await stripe.invoices.list({ subscription: created.id })).data;
  assert.deepEqual(
    [renewal?.billing_reason, renewal?.status, renewal?.total],
    ['subscription_cycle', 'paid', 1_750],
  );
});

test('a trial of several items is free, and a promotion code applies to all of them when it ends', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const prices = await makePrices(stripe, 1_000, 300);
  const coupon = await stripe.coupons.create({ percent_off: 50, duration: 'forever' });
  const code = await stripe.promotionCodes.create({ promotion: { type: 'coupon', coupon: coupon.id } });
  const { id, latest_invoice } = await stripe.subscriptions.create({
    ...(await makeCustomer(stripe)),
    items: prices.map((price) => ({ price: price.id })),
    trial_period_days: 5,
    discounts: [{ promotion_code: code.id }],
    expand: ['latest_invoice'],
  });
  assert.deepEqual(linesOf(latest_invoice), [
    [0, 1],
    [0, 1],
  ]);
  await advance(6 * daySeconds);
  const [first] = (await stripe.invoices.list({ subscription: id })).data;
  assert.deepEqual([first?.subtotal, first?.total, first?.status], [1_300, 650, 'paid']);
});

for (const [type, max] of [
  ['flexible', 100],
  ['classic', 20],
] as const)
  test(`a subscription in ${type} mode has at most ${max} items, each with its own price`, async (t) => {
    const { stripe } = await useSandbox(t);
    const buyer = await makeCustomer(stripe);
    const prices = await makePrices(stripe, ...Array.from({ length: max + 1 }, (_, index) => 100 + index));
    const create = (ids: readonly string[], more: Partial<Stripe.SubscriptionCreateParams> = {}) =>
      stripe.subscriptions.create({
        ...buyer,
        items: ids.map((price) => ({ price })),
        billing_mode: { type },
        ...more,
      });
    const ids = prices.map(({ id }) => id);
    const [first = '', second = ''] = ids;
    await assert.rejects(create(ids), { statusCode: 400, param: 'items' });
    await assert.rejects(create([first, second, first]), {
      statusCode: 400,
      param: 'plan',
      message: `Cannot create a Subscription with multiple Subscription Items with the same Price: ${first}`,
    });
    const { id, items } = await create(ids.slice(0, max));
    assert.equal(items.data.length, max);
    const update = (changes: Stripe.SubscriptionUpdateParams.Item[]) =>
      stripe.subscriptions.update(id, { items: changes });
    await assert.rejects(update([{ price: String(ids[max]) }]), { statusCode: 400, param: 'items' });
    const [one = '', two = ''] = items.data.map((item) => item.id);
    await assert.rejects(update([{ price: first }]), {
      statusCode: 400,
      param: 'plan',
      message: new RegExp(`existing Subscription Item ${one} is already using that Price`),
    });
    await assert.rejects(update([{ id: two, price: first }]), { statusCode: 400, param: 'plan' });
    const swapped = await update([{ id: one, deleted: true }, { id: two, price: first }, { price: second }]);
    assert.deepEqual(
      swapped.items.data.map(({ price }) => price.id),
      [first, ...ids.slice(2, max), second],
    );
    await assert.rejects(update(swapped.items.data.map((item) => ({ id: item.id, deleted: true }))), {
      statusCode: 400,
      message: /^A subscription must have at least one active plan\./,
    });
  });

test('items have one currency, and in classic billing mode one interval', async (t) => {
  const { stripe } = await useSandbox(t);
  const buyer = await makeCustomer(stripe);
  const [monthly] = await makePrices(stripe, 1_000);
  const euro = await makePrice(stripe, 900, { currency: 'eur' });
  const yearly = await makePrice(stripe, 9_000, { recurring: { interval: 'year' } });
  const create = (other: string, type: 'classic' | 'flexible') =>
    stripe.subscriptions.create({
      ...buyer,
      items: [{ price: String(monthly?.id) }, { price: other }],
      billing_mode: { type },
    });
  await assert.rejects(create(euro.id, 'flexible'), { statusCode: 400, param: 'items[1][price]' });
  await assert.rejects(create(yearly.id, 'classic'), {
    statusCode: 400,
    message: /Found mismatch in interval field\.$/,
  });
  const { id } = await create((await makePrice(stripe, 5)).id, 'classic');
  await assert.rejects(stripe.subscriptions.update(id, { items: [{ price: yearly.id }] }), {
    statusCode: 400,
  });
  await assert.rejects(stripe.subscriptions.update(id, { items: [{ price: euro.id }] }), {
    statusCode: 400,
    param: 'items[0][price]',
    message: "The price specified only supports `eur`. This doesn't match the expected currency: `usd`.",
  });
});

test('one change of several items is one event and one invoice, with a proration for each changed item', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe } = sandbox;
  const { id, items, subscription } = await halfway(sandbox, [1_000, 400, 200, 70]);
  const [dearer, extra] = await makePrices(stripe, 2_000, 600);
  const change = {
    items: [
      { id: String(items[0]), price: String(dearer?.id) },
      { id: String(items[1]), quantity: 3 },
      { id: String(items[2]), deleted: true },
      { price: String(extra?.id), quantity: 2 },
    ],
    proration_behavior: 'always_invoice' as const,
  };
  const preview = await stripe.invoices.createPreview({ subscription: id, subscription_details: change });
  const before = (await eventTypes(stripe)).length;
  const changed = await stripe.subscriptions.update(id, { ...change, expand: ['latest_invoice'] });
  const types = (await eventTypes(stripe)).slice(before);
  const expected = [
    [-500, 1],
    [1_000, 1],
    [-200, 1],
    [600, 3],
    [-100, 1],
    [600, 2],
  ];
  assert.deepEqual([linesOf(latest(changed)), latest(changed).total], [expected, 1_400]);
  assert.deepEqual([linesOf(preview), preview.total], [expected, 1_400]);
  assert.equal(types.filter((type) => type === 'customer.subscription.updated').length, 1);
  assert.equal(types.filter((type) => type === 'invoice.created').length, 1);
  const [event] = (await stripe.events.list({ type: 'customer.subscription.updated', limit: 1 })).data;
  const previous = event?.data.previous_attributes as Partial<Stripe.Subscription>;
  assert.deepEqual(
    previous.items?.data.map((item) => [item.id, item.quantity]),
    items.map((item) => [item, 1]),
  );
  const end = subscription.items.data[0]?.current_period_end;
  const [main, , , added] = changed.items.data;
  assert.equal(main?.current_period_start, subscription.items.data[0]?.current_period_start);
  assert.deepEqual(
    [added?.current_period_start, added?.created, added?.current_period_end, added?.quantity],
    [latest(changed).created, latest(changed).created, end, 2],
  );
});

test('an item that was added within a period and removed again is credited as it was charged', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const { id } = await halfway(sandbox, [1_000]);
  const extra = await makePrice(stripe, 600);
  const added = await stripe.subscriptionItems.create({ subscription: id, price: extra.id });
  await advance(5 * daySeconds);
  const deleted = await stripe.subscriptionItems.del(added.id);
  assert.deepEqual(deleted, { id: added.id, object: 'subscription_item', deleted: true });
  const next = await stripe.invoices.createPreview({ subscription: id });
  assert.deepEqual(linesOf(next), [
    [300, 1],
    [-200, 1],
    [1_000, 1],
  ]);
});

test('another price resets the quantity unless the change names one, and metadata is merged', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe } = sandbox;
  const { id, items } = await halfway(sandbox, [1_000, 400]);
  const [item = ''] = items;
  const [other, third] = await makePrices(stripe, 900, 800);
  await stripe.subscriptions.update(id, { items: [{ id: item, quantity: 4, metadata: { a: '1', b: '2' } }] });
  const reset = await stripe.subscriptions.update(id, {
    items: [{ id: item, price: String(other?.id), metadata: { b: '', c: '3' } }],
  });
  assert.deepEqual([reset.items.data[0]?.quantity, reset.items.data[0]?.metadata], [1, { a: '1', c: '3' }]);
  const named = await stripe.subscriptionItems.update(item, { price: String(third?.id), quantity: 7 });
  assert.deepEqual([named.quantity, named.price.id], [7, third?.id]);
});

test('a pending update holds all items and applies them together', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe } = sandbox;
  const { id, items, prices, subscription } = await halfway(sandbox, [1_000, 400]);
  const extra = await makePrice(stripe, 600);
  const working = String(subscription.default_payment_method);
  const customer = String(subscription.customer);
  const failing = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', { customer });
  await stripe.subscriptions.update(id, { default_payment_method: failing.id });
  const held = await stripe.subscriptions.update(id, {
    items: [{ id: String(items[0]), quantity: 2 }, { price: extra.id }],
    proration_behavior: 'always_invoice',
    payment_behavior: 'pending_if_incomplete',
  });
  const quantities = (data: readonly Stripe.SubscriptionItem[] | null | undefined) =>
    data?.map(({ price, quantity }) => [price.id, quantity]);
  const after = [
    [prices[0], 2],
    [prices[1], 1],
    [extra.id, 1],
  ];
  assert.deepEqual(quantities(held.items.data), [
    [prices[0], 1],
    [prices[1], 1],
  ]);
  assert.deepEqual(quantities(held.pending_update?.subscription_items), after);
  await stripe.invoices.pay(String(held.latest_invoice), { payment_method: working });
  assert.deepEqual(quantities((await stripe.subscriptions.retrieve(id)).items.data), after);
});

test('a new anchor credits and bills all items', async (t) => {
  const sandbox = await useSandbox(t);
  const { id } = await halfway(sandbox, [1_000, 400]);
  const changed = await sandbox.stripe.subscriptions.update(id, {
    billing_cycle_anchor: { type: 'now' },
    expand: ['latest_invoice'],
  });
  assert.deepEqual(linesOf(latest(changed)), [
    [-500, 1],
    [-200, 1],
    [1_000, 1],
    [400, 1],
  ]);
});

test('in flexible billing mode, items of different intervals renew at their own times', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const { id, items, subscription } = await halfway(sandbox, [1_000], { billing_mode: { type: 'flexible' } });
  const yearly = await makePrice(stripe, 36_500, { recurring: { interval: 'year' } });
  const added = await stripe.subscriptionItems.create({
    subscription: id,
    price: yearly.id,
    proration_behavior: 'always_invoice',
  });
  const anchor = new Date(subscription.billing_cycle_anchor * 1_000);
  assert.equal(added.current_period_end, anchor.setUTCFullYear(anchor.getUTCFullYear() + 1) / 1_000);
  const invoices = async () => (await stripe.invoices.list({ subscription: id, limit: 100 })).data;
  assert.equal((await invoices())[0]?.total, Math.round((36_500 * 351) / 366));
  await advance(16 * daySeconds);
  assert.deepEqual(linesOf((await invoices())[0] ?? null), [[1_000, 1]]);
  const current = await stripe.subscriptions.retrieve(id);
  assert.equal(current.items.data[1]?.current_period_end, added.current_period_end);
  const preview = await stripe.invoices.createPreview({ subscription: id });
  assert.deepEqual(linesOf(preview), [[1_000, 1]]);
  await advance(11 * 31 * daySeconds);
  const together = (await invoices()).find(({ lines }) => lines.data.length === 2);
  assert.deepEqual(linesOf(together ?? null), [
    [1_000, 1],
    [36_500, 1],
  ]);
  const monthly = String(items[0]);
  await stripe.subscriptionItems.update(monthly, { quantity: 2 });
  assert.equal((await stripe.subscriptionItems.retrieve(monthly)).quantity, 2);
});

test('a phase restates all items: those with the same price keep their id', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const { id, items, prices, subscription } = await halfway(sandbox, [1_000, 400, 200]);
  const [other] = await makePrices(stripe, 2_000);
  const schedule = await stripe.subscriptionSchedules.create({ from_subscription: id });
  const [phase] = schedule.phases;
  assert.deepEqual(
    phase?.items.map(({ price, quantity }) => [price, quantity]),
    prices.map((price) => [price, 1]),
  );
  await stripe.subscriptionSchedules.update(schedule.id, {
    phases: [
      {
        start_date: Number(phase?.start_date),
        end_date: Number(phase?.end_date),
        items: prices.map((price) => ({ price })),
      },
      {
        items: [
          { price: String(other?.id) },
          { price: String(prices[1]), quantity: 5 },
          { price: String(prices[2]) },
        ],
        proration_behavior: 'none',
      },
    ],
  });
  const preview = await stripe.invoices.createPreview({ subscription: id });
  await advance(16 * daySeconds);
  const entered = await stripe.subscriptions.retrieve(id, { expand: ['latest_invoice'] });
  const expected = [
    [2_000, 1],
    [2_000, 5],
    [200, 1],
  ];
  assert.deepEqual([linesOf(latest(entered)), linesOf(preview)], [expected, expected]);
  const [main, ...kept] = entered.items.data;
  assert.deepEqual([main?.price.id, kept.map((item) => item.id)], [other?.id, items.slice(1)]);
  assert.ok(!items.includes(String(main?.id)));
  assert.deepEqual(
    [...new Set(entered.items.data.map((item) => item.current_period_start))],
    [subscription.items.data[0]?.current_period_end],
  );
});

test('a metered item has no quantity, is billed at 0, and is not prorated', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, advance } = sandbox;
  const meter = await stripe.billing.meters.create({
    display_name: 'Calls',
    event_name: 'call',
    default_aggregation: { formula: 'sum' },
  });
  await assert.rejects(makePrice(stripe, 2, { recurring: { interval: 'month', usage_type: 'metered' } }), {
    statusCode: 400,
    message: /must be backed by meters/,
  });
  const metered = await makePrice(stripe, undefined, {
    unit_amount_decimal: Stripe.Decimal.from('0.02'),
    recurring: { interval: 'month', usage_type: 'metered', meter: meter.id },
  });
  const { id, subscription } = await halfway(sandbox, [1_000]);
  const add = (quantity?: number) =>
    stripe.subscriptionItems.create({
      subscription: id,
      price: metered.id,
      ...(quantity === undefined ? {} : { quantity }),
      proration_behavior: 'always_invoice',
    });
  await assert.rejects(add(3), {
    statusCode: 400,
    message: 'You cannot set the quantity for metered plans.',
    param: 'quantity',
  });
  const item = await add();
  assert.deepEqual([item.price.unit_amount, String(item.price.unit_amount_decimal)], [null, '0.02']);
  assert.deepEqual(['quantity' in item, item.plan.usage_type, item.plan.meter], [false, 'metered', meter.id]);
  assert.equal((await stripe.subscriptions.retrieve(id)).latest_invoice, subscription.latest_invoice);
  const schedule = await stripe.subscriptionSchedules.create({ from_subscription: id });
  assert.deepEqual(
    schedule.phases[0]?.items.map(({ quantity }) => quantity),
    [1, undefined],
  );
  await stripe.subscriptionSchedules.release(schedule.id);
  await advance(16 * daySeconds);
  const [renewal] = (await stripe.invoices.list({ subscription: id })).data;
  assert.deepEqual(linesOf(renewal ?? null), [
    [1_000, 1],
    [0, 0],
  ]);
  await assert.rejects(stripe.subscriptionItems.del(item.id, { clear_usage: true }), {
    statusCode: 400,
    message: /billing_mode\.type=flexible.*clear_usage\.$/,
  });
  await stripe.subscriptionItems.del(item.id);
  await assert.rejects(stripe.subscriptionItems.retrieve(item.id), {
    statusCode: 404,
    message: `Invalid subscription_item id: ${item.id}`,
  });
});

test('tiered items are billed and prorated by their tiers, which callers see when they expand them', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe } = sandbox;
  const tiered = (tiers_mode: 'graduated' | 'volume') =>
    makePrice(stripe, undefined, {
      billing_scheme: 'tiered',
      tiers_mode,
      tiers: [
        { up_to: 5, unit_amount: 700, flat_amount: 100 },
        { up_to: 'inf', unit_amount: 600 },
      ],
    });
  const [graduated, volume] = [await tiered('graduated'), await tiered('volume')];
  assert.deepEqual([graduated.unit_amount, 'tiers' in graduated], [null, false]);
  const { tiers } = await stripe.prices.retrieve(graduated.id, { expand: ['tiers'] });
  assert.deepEqual(
    tiers?.map(({ up_to, unit_amount, flat_amount }) => [up_to, unit_amount, flat_amount]),
    [
      [5, 700, 100],
      [null, 600, null],
    ],
  );
  await assert.rejects(
    makePrice(stripe, undefined, {
      billing_scheme: 'tiered',
      tiers_mode: 'volume',
      tiers: [{ up_to: 5, unit_amount: 1 }],
    }),
    { statusCode: 400, param: 'tiers' },
  );
  const { id } = await halfway(sandbox, [1_000]);
  const changed = await stripe.subscriptions.update(id, {
    items: [
      { price: graduated.id, quantity: 7 },
      { price: volume.id, quantity: 7 },
    ],
    proration_behavior: 'always_invoice',
    expand: ['latest_invoice', 'items.data.price.tiers'],
  });
  // 5 × 700 + 100 + 2 × 600 = 4,800, and 7 × 600 = 4,200.
  assert.deepEqual(linesOf(latest(changed)), [
    [2_400, 7],
    [2_100, 7],
  ]);
  assert.deepEqual(
    changed.items.data.map(({ price }) => price.tiers?.length),
    [undefined, 2, 2],
  );
  const fewer = await stripe.invoices.createPreview({
    subscription: id,
    subscription_details: {
      items: [{ id: String(changed.items.data[2]?.id), quantity: 2 }],
      proration_behavior: 'always_invoice',
    },
  });
  assert.deepEqual(linesOf(fewer), [
    [-2_100, 7],
    [750, 2],
  ]);
});

test('a coupon for some products reduces only their lines, on invoices and in prorations', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe } = sandbox;
  const prices = await makePrices(stripe, 1_000, 400, 200);
  const [, second, third] = prices.map(({ product }) => String(product));
  const applies_to = { products: [String(second), String(third)] };
  await assert.rejects(stripe.coupons.create({ percent_off: 10, applies_to: { products: ['prod_none'] } }), {
    statusCode: 400,
    param: 'applies_to[products][0]',
  });
  const coupon = await stripe.coupons.create({
    amount_off: 150,
    currency: 'usd',
    duration: 'forever',
    applies_to,
  });
  assert.ok(!('applies_to' in coupon));
  assert.deepEqual(
    (await stripe.coupons.retrieve(coupon.id, { expand: ['applies_to'] })).applies_to,
    applies_to,
  );
  const code = await stripe.promotionCodes.create({ promotion: { type: 'coupon', coupon: coupon.id } });
  const created = await stripe.subscriptions.create({
    ...(await makeCustomer(stripe)),
    items: prices.map(({ id }) => ({ price: id })),
    discounts: [{ promotion_code: code.id }],
    expand: ['latest_invoice', 'discounts.source.coupon.applies_to'],
  });
  assert.deepEqual(
    latest(created).lines.data.map(({ discount_amounts: taken }) => taken?.map(({ amount }) => amount)),
    [[], [100], [50]],
  );
  assert.equal(latest(created).total, 1_450);
  const [discount] = created.discounts as Stripe.Discount[];
  const redeemed = discount?.source.coupon as Stripe.Coupon | undefined;
  assert.deepEqual(redeemed?.applies_to, applies_to);
  const [main, extra] = created.items.data;
  const credited = await stripe.invoices.createPreview({
    subscription: created.id,
    subscription_details: {
      items: [
        { id: String(main?.id), quantity: 2 },
        { id: String(extra?.id), deleted: true },
      ],
      proration_behavior: 'always_invoice',
      proration_date: Number(main?.current_period_start),
    },
  });
  assert.deepEqual(linesOf(credited), [
    [-1_000, 1],
    [2_000, 2],
    [-300, 1],
  ]);
});
