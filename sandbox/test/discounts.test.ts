import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type Stripe from 'stripe';
import { customerAndPrice, eventTypes, type TestSandbox, useSandbox } from './support.ts';

const daySeconds = 86_400;
const hourSeconds = 3_600;

/** A customer with a card, a price of 15.00 a month, and how to subscribe to it. */
async function shop(stripe: Stripe) {
  const { customer, price } = await customerAndPrice(stripe);
  await stripe.customers.update(customer.id, { source: 'tok_visa' });
  const subscribe = (more: Partial<Stripe.SubscriptionCreateParams> = {}) =>
    stripe.subscriptions.create({ customer: customer.id, items: [{ price: price.id }], ...more });
  return { customer, price, subscribe };
}

const totalsOf = async (stripe: Stripe, subscription: string) =>
  (await stripe.invoices.list({ subscription, limit: 100 })).data.map(({ total }) => total);

test('a promotion code gives a discount on the first invoice and the renewals', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { subscribe } = await shop(stripe);
  const coupon = await stripe.coupons.create({ percent_off: 20, duration: 'forever' });
  const code = await stripe.promotionCodes.create({
    promotion: { type: 'coupon', coupon: coupon.id },
    code: 'Twenty',
  });
  const [found] = (await stripe.promotionCodes.list({ code: 'TWENTY', active: true })).data;
  assert.equal(found?.id, code.id);
  const before = (await eventTypes(stripe)).length;
  const subscription = await subscribe({
    discounts: [{ promotion_code: code.id }],
    expand: ['discounts.source.coupon', 'discounts.promotion_code', 'latest_invoice'],
  });
  const [discount] = subscription.discounts as Stripe.Discount[];
  assert.deepEqual(
    [
      (discount?.source.coupon as Stripe.Coupon | undefined)?.percent_off,
      (discount?.promotion_code as Stripe.PromotionCode | undefined)?.code,
      discount?.end,
      discount?.subscription,
    ],
    [20, 'Twenty', null, subscription.id],
  );
  const invoice = subscription.latest_invoice as Stripe.Invoice;
  assert.deepEqual(
    [invoice.subtotal, invoice.total, invoice.amount_paid, invoice.discounts],
    [1_500, 1_200, 1_200, [discount?.id]],
  );
  const taken = [{ amount: 300, discount: discount?.id }];
  assert.deepEqual(invoice.total_discount_amounts, taken);
  assert.deepEqual(invoice.lines.data[0]?.discount_amounts, taken);
  assert.deepEqual((await eventTypes(stripe)).slice(before, before + 4), [
    'customer.updated',
    'customer.discount.created',
    'customer.subscription.created',
    'invoice.created',
  ]);
  assert.equal((await stripe.promotionCodes.retrieve(code.id)).times_redeemed, 1);
  assert.equal((await stripe.coupons.retrieve(coupon.id)).times_redeemed, 1);
  await advance(32 * daySeconds);
  assert.deepEqual(await totalsOf(stripe, subscription.id), [1_200, 1_200]);
});

test('a repeating discount ends after its months, with its event', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { subscribe } = await shop(stripe);
  const { id: coupon } = await stripe.coupons.create({
    amount_off: 500,
    currency: 'usd',
    duration: 'repeating',
    duration_in_months: 2,
  });
  const subscription = await subscribe({ discounts: [{ coupon }], expand: ['discounts'] });
  const [discount] = subscription.discounts as Stripe.Discount[];
  assert.ok(Number(discount?.end) > subscription.created + 50 * daySeconds);
  await advance(Number(discount?.end) - subscription.created + 2 * hourSeconds);
  assert.deepEqual(await totalsOf(stripe, subscription.id), [1_500, 1_000, 1_000]);
  assert.deepEqual((await stripe.subscriptions.retrieve(subscription.id)).discounts, []);
  assert.equal((await eventTypes(stripe)).filter((type) => type === 'customer.discount.deleted').length, 1);
});

test('a discount for one invoice is used by the first that costs something', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { subscribe } = await shop(stripe);
  const { id: coupon } = await stripe.coupons.create({ percent_off: 50 });
  const paid = await subscribe({ discounts: [{ coupon }] });
  assert.deepEqual(paid.discounts, []);
  const trial = await subscribe({ discounts: [{ coupon }], trial_period_days: 7 });
  assert.equal(trial.discounts.length, 1);
  await advance(60 * daySeconds);
  assert.deepEqual(await totalsOf(stripe, paid.id), [1_500, 750]);
  assert.deepEqual((await totalsOf(stripe, trial.id)).slice(-3), [1_500, 750, 0]);
});

test('a discount of everything makes a subscription active without a payment', async (t) => {
  const { stripe } = await useSandbox(t);
  const { customer, price } = await customerAndPrice(stripe);
  const { id: coupon } = await stripe.coupons.create({ percent_off: 100, duration: 'forever' });
  const free = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    payment_behavior: 'default_incomplete',
    discounts: [{ coupon }],
    expand: ['latest_invoice.confirmation_secret'],
  });
  const invoice = free.latest_invoice as Stripe.Invoice;
  assert.deepEqual([free.status, invoice.status, invoice.confirmation_secret], ['active', 'paid', null]);
  assert.match(String(free.pending_setup_intent), /^seti_/);
});

test('an update replaces, keeps, adds and clears discounts', async (t) => {
  const { stripe } = await useSandbox(t);
  const { subscribe } = await shop(stripe);
  const make = (percent_off: number) => stripe.coupons.create({ percent_off, duration: 'forever' });
  const [ten, twenty] = [await make(10), await make(20)];
  const { id, discounts } = await subscribe({ discounts: [{ coupon: ten.id }] });
  const seen = (await eventTypes(stripe)).length;
  const update = async (params: Stripe.SubscriptionUpdateParams) =>
    (await stripe.subscriptions.update(id, { ...params, expand: ['discounts'] }))
      .discounts as Stripe.Discount[];
  const couponsOf = (list: Stripe.Discount[]) => list.map(({ source }) => source.coupon);

  const both = await update({ discounts: [{ discount: String(discounts[0]) }, { coupon: twenty.id }] });
  assert.deepEqual(couponsOf(both), [ten.id, twenty.id]);
  assert.equal(both[0]?.id, discounts[0]);
  assert.deepEqual(couponsOf(await update({ description: 'x' })), [ten.id, twenty.id]);
  assert.deepEqual(couponsOf(await update({ discounts: [{ discount: String(both[1]?.id) }] })), [twenty.id]);
  assert.deepEqual(couponsOf(await update({ discounts: [{ coupon: ten.id }] })), [ten.id]);
  assert.deepEqual(await update({ discounts: '' }), []);
  assert.deepEqual(
    (await eventTypes(stripe)).slice(seen).filter((type) => type.startsWith('customer.discount')),
    [
      'customer.discount.created',
      'customer.discount.deleted',
      'customer.discount.updated',
      'customer.discount.deleted',
    ],
  );
  await update({ discounts: [{ coupon: twenty.id }] });
  const deleted = await stripe.subscriptions.deleteDiscount(id);
  assert.equal(deleted.deleted, true);
  assert.deepEqual((await stripe.subscriptions.retrieve(id)).discounts, []);
});

test('a prorated change credits and charges what the discount leaves', async (t) => {
  const { stripe } = await useSandbox(t);
  const { subscribe } = await shop(stripe);
  const { price: dearer } = await customerAndPrice(stripe, { unit_amount: 4_000 });
  const { id: coupon } = await stripe.coupons.create({ percent_off: 50, duration: 'forever' });
  const { id, items } = await subscribe({ discounts: [{ coupon }] });
  const [item] = items.data;
  const changed = await stripe.subscriptions.update(id, {
    items: [{ id: String(item?.id), price: dearer.id }],
    proration_behavior: 'always_invoice',
    proration_date: Number(item?.current_period_start),
    expand: ['latest_invoice'],
  });
  const invoice = changed.latest_invoice as Stripe.Invoice;
  assert.deepEqual(
    invoice.lines.data.map(({ amount }) => amount),
    [-750, 2_000],
  );
  assert.deepEqual([invoice.total, invoice.status], [1_250, 'paid']);
});

test('a deleted coupon keeps its discounts, and cannot be redeemed again', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { subscribe } = await shop(stripe);
  const { id: coupon } = await stripe.coupons.create({ id: 'HALF', percent_off: 50, duration: 'forever' });
  const { id } = await subscribe({ discounts: [{ coupon }] });
  assert.deepEqual(await stripe.coupons.del(coupon), { id: coupon, object: 'coupon', deleted: true });
  await assert.rejects(stripe.coupons.retrieve(coupon), { statusCode: 404, code: 'resource_missing' });
  await assert.rejects(subscribe({ discounts: [{ coupon }] }), { code: 'resource_missing' });
  await advance(32 * daySeconds);
  assert.deepEqual(await totalsOf(stripe, id), [750, 750]);
  const { discounts } = await stripe.subscriptions.retrieve(id, { expand: ['discounts.source.coupon'] });
  const [discount] = discounts as Stripe.Discount[];
  assert.equal((discount?.source.coupon as Stripe.Coupon | undefined)?.percent_off, 50);
});

test('a promotion code is refused when it is expired, inactive, used up or restricted', async (t) => {
  const { stripe, advance } = await useSandbox(t);
  const { customer, price, subscribe } = await shop(stripe);
  const coupon = await stripe.coupons.create({ percent_off: 10, duration: 'forever' });
  const make = (more: Partial<Stripe.PromotionCodeCreateParams> = {}) =>
    stripe.promotionCodes.create({ promotion: { type: 'coupon', coupon: coupon.id }, ...more });
  const refuses = (code: Stripe.PromotionCode, message: RegExp) =>
    assert.rejects(subscribe({ discounts: [{ promotion_code: code.id }] }), {
      statusCode: 400,
      type: 'StripeInvalidRequestError',
      param: 'discounts[0][promotion_code]',
      message,
    });
  const other = await stripe.customers.create({});
  await refuses(await make({ customer: other.id }), /different customer/);
  const least = { minimum_amount: 1_501, minimum_amount_currency: 'usd' };
  await refuses(await make({ restrictions: least }), /minimum amount/);
  const inactive = await stripe.promotionCodes.update((await make()).id, { active: false });
  assert.equal(inactive.active, false);
  await refuses(inactive, /inactive/);
  const single = await make({ max_redemptions: 1 });
  const firstTime = await make({ restrictions: { first_time_transaction: true } });
  const brief = await make({ expires_at: Math.floor(Date.now() / 1_000) + daySeconds });
  await subscribe({ discounts: [{ promotion_code: single.id }], items: [{ price: price.id, quantity: 2 }] });
  await refuses(single, /used up/);
  await refuses(firstTime, /prior transactions/);
  await advance(2 * daySeconds);
  await refuses(brief, /expired/);
  const active = await stripe.promotionCodes.list({ coupon: coupon.id, active: true, limit: 100 });
  assert.deepEqual(new Set(active.data.map(({ id }) => id)).has(brief.id), false);
  assert.deepEqual(
    (await stripe.promotionCodes.list({ customer: customer.id })).data.map(({ id }) => id),
    [],
  );
});

test('discounts survive a restart, and end on time after it', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'till-discounts-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const first = await useSandbox(t, { dataDir });
  const { subscribe } = await shop(first.stripe);
  const { id: coupon } = await first.stripe.coupons.create({
    percent_off: 10,
    duration: 'repeating',
    duration_in_months: 1,
  });
  const { id } = await subscribe({ discounts: [{ coupon }] });
  await first.sandbox.close();
  const second = await useSandbox(t, { dataDir });
  assert.equal((await second.stripe.subscriptions.retrieve(id)).discounts.length, 1);
  await second.advance(32 * daySeconds);
  assert.deepEqual((await second.stripe.subscriptions.retrieve(id)).discounts, []);
  assert.deepEqual(await totalsOf(second.stripe, id), [1_500, 1_350]);
});

/** A change that is billed with the discount of a `once` code, and declined. Its invoice is open. */
async function declinedChange({ stripe }: TestSandbox, owner: 'customer' | 'subscription') {
  const { customer, price } = await customerAndPrice(stripe);
  const attach = async (card: string) =>
    (await stripe.paymentMethods.attach(card, { customer: customer.id })).id;
  const coupon = await stripe.coupons.create({ percent_off: 50, duration: 'once', max_redemptions: 1 });
  const code = await stripe.promotionCodes.create({ promotion: { type: 'coupon', coupon: coupon.id } });
  const { id, items } = await stripe.subscriptions.create({
    customer: customer.id,
    items: [{ price: price.id }],
    default_payment_method: await attach('pm_card_visa'),
  });
  const older = { apiVersion: '2025-02-24.acacia' };
  const promotion = { promotion_code: code.id };
  if (owner === 'customer') await stripe.rawRequest('POST', `/v1/customers/${customer.id}`, promotion, older);
  else await stripe.subscriptions.update(id, { discounts: [{ promotion_code: code.id }] });
  await stripe.subscriptions.update(id, {
    default_payment_method: await attach('pm_card_chargeCustomerFail'),
  });
  const preview = async () => (await stripe.invoices.createPreview({ subscription: id })).total;
  assert.equal(await preview(), 750);
  const { latest_invoice: invoice } = await stripe.subscriptions.update(id, {
    items: [{ id: String(items.data[0]?.id), quantity: 3 }],
    billing_cycle_anchor: { type: 'now' },
    payment_behavior: 'pending_if_incomplete',
  });
  assert.equal(await preview(), 1_500, 'the invoice has used the discount');
  const redeemed = async () => [
    (await stripe.coupons.retrieve(coupon.id)).times_redeemed,
    (await stripe.promotionCodes.retrieve(code.id)).times_redeemed,
  ];
  return { id, invoice: String(invoice), preview, redeemed };
}

test('a voided invoice gives back what it has used as far as the account says', async (t) => {
  const sandbox = await useSandbox(t);
  const { stripe, control } = sandbox;
  assert.deepEqual((await control('GET', 'voiding')).body, { discounts: 'used' });
  for (const [discounts, total, times] of [
    ['used', 1_500, 1],
    ['redeemable', 1_500, 0],
    ['returned', 750, 1],
  ] as const) {
    assert.deepEqual((await control('POST', 'voiding', { discounts })).body, { discounts });
    for (const owner of ['customer', 'subscription'] as const) {
      const { id, invoice, preview, redeemed } = await declinedChange(sandbox, owner);
      assert.deepEqual(await redeemed(), [1, 1]);
      await stripe.invoices.voidInvoice(invoice);
      assert.deepEqual([await preview(), ...(await redeemed())], [total, times, times], discounts);
      assert.equal((await stripe.subscriptions.retrieve(id)).pending_update, null);
    }
  }
  assert.equal((await control('POST', 'voiding', { discounts: 'lost' })).status, 400);
});

test('a preview shows other discounts than those of the subscription, and redeems nothing', async (t) => {
  const { stripe } = await useSandbox(t);
  const { subscribe } = await shop(stripe);
  const kept = await stripe.coupons.create({ percent_off: 20, duration: 'forever' });
  const other = await stripe.coupons.create({ amount_off: 100, currency: 'usd', duration: 'once' });
  const { id, discounts, items } = await subscribe({ discounts: [{ coupon: kept.id }] });
  const [discount] = discounts;
  const totalWith = async (given: Stripe.InvoiceCreatePreviewParams.Discount[] | '') =>
    (await stripe.invoices.createPreview({ subscription: id, discounts: given })).total;
  assert.equal(await totalWith([]), 1_200);
  assert.equal(await totalWith(''), 1_500);
  assert.equal(await totalWith([{ coupon: other.id }]), 1_400);
  assert.equal(await totalWith([{ coupon: other.id }, { discount: String(discount) }]), 1_120);
  const change = await stripe.invoices.createPreview({
    subscription: id,
    discounts: [{ coupon: other.id }],
    subscription_details: {
      items: [{ id: String(items.data[0]?.id), quantity: 2 }],
      billing_cycle_anchor: { type: 'now' },
      proration_behavior: 'none',
    },
  });
  assert.equal(change.total, 2_900);
  await assert.rejects(totalWith([{ coupon: 'none' }]), { code: 'resource_missing' });
  assert.equal((await stripe.coupons.retrieve(other.id)).times_redeemed, 0);
  assert.deepEqual((await stripe.subscriptions.retrieve(id)).discounts, discounts);
});
