import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type Stripe from 'stripe';
import { effort } from '../../test/support/effort.ts';
import { assertProperty } from '../../test/support/seeds.ts';
import { useSandbox } from './support.ts';

const start = 1_800_000_000;
const hourSeconds = 3_600;
const itemsMax = 5;
const changesPerLife = 10;
/** More lives than these numbers of changes need, because some changes are refused. */
const lives = { short: 8, long: 600 };
const changesMin = effort({ short: 60, long: 500 });
/** The index of the metered price, which takes no quantity. */
const metered = 4;

/** One entry of `items`. `item` and `price` pick among what there is. */
const entry = fc.record({
  kind: fc.constantFrom('add', 'add', 'quantity', 'price', 'both', 'remove'),
  item: fc.nat(itemsMax),
  price: fc.nat(20),
  quantity: fc.integer({ min: 0, max: 12 }),
});
const change = fc.record({
  entries: fc.array(entry, { minLength: 1, maxLength: 3 }),
  proration_behavior: fc.constantFrom(
    'always_invoice',
    'always_invoice',
    'create_prorations',
    'create_prorations',
    'none',
  ),
  resets: fc.constantFrom(false, false, false, true),
  backdatesHours: fc.constantFrom(0, 0, 30),
  waitHours: fc.integer({ min: 0, max: 45 * 24 }),
});
const life = fc.record({
  type: fc.constantFrom('classic', 'flexible'),
  discount: fc.constantFrom(null, null, 'percent', 'fixed', 'both'),
  trialDays: fc.constantFrom(0, 0, 0, 20),
  first: fc.uniqueArray(fc.nat(20), { minLength: 1, maxLength: itemsMax }),
  changes: fc.array(change, { minLength: changesPerLife, maxLength: changesPerLife }),
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** What a customer pays, line by line. */
const billOf = ({ subtotal, total, total_discount_amounts: discounts, lines }: Stripe.Invoice) => ({
  subtotal,
  total,
  discounts: discounts?.map(({ amount }) => amount),
  lines: lines.data.map(({ amount, quantity, period, description, discount_amounts: taken }) => ({
    ...{ amount, quantity, period, description },
    taken: taken?.map((one) => one.amount),
  })),
});

async function makePrices(stripe: Stripe): Promise<string[]> {
  const meter = await stripe.billing.meters.create({
    display_name: 'Calls',
    event_name: 'call',
    default_aggregation: { formula: 'sum' },
  });
  const month = { interval: 'month' } as const;
  const year = { interval: 'year' } as const;
  const tiers: Stripe.PriceCreateParams.Tier[] = [
    { up_to: 3, unit_amount: 777, flat_amount: 99 },
    { up_to: 9, unit_amount: 531 },
    { up_to: 'inf', flat_amount: 3_333 },
  ];
  const kinds: Partial<Stripe.PriceCreateParams>[] = [
    { unit_amount: 1_000, recurring: month },
    { unit_amount: 2_999, recurring: month },
    { unit_amount: 0, recurring: month },
    { unit_amount: 37, recurring: month, transform_quantity: { divide_by: 5, round: 'up' } },
    { unit_amount: 7, recurring: { ...month, usage_type: 'metered', meter: meter.id } },
    { billing_scheme: 'tiered', tiers_mode: 'graduated', tiers, recurring: month },
    { billing_scheme: 'tiered', tiers_mode: 'volume', tiers, recurring: month },
    { unit_amount: 9_999, recurring: year },
    { billing_scheme: 'tiered', tiers_mode: 'volume', tiers, recurring: year },
  ];
  const ids: string[] = [];
  for (const [index, kind] of kinds.entries())
    ids.push(
      (await stripe.prices.create({ currency: 'usd', product_data: { name: `P${index}` }, ...kind })).id,
    );
  return ids;
}

/** The entries as parameters, with each item and each price at most once. The intervals may not match. */
function itemsOf({ entries }: Change, { items }: Stripe.Subscription, prices: readonly string[]) {
  const left = [...items.data];
  const used = new Set(left.map(({ price }) => price.id));
  let count = left.length;
  return entries.flatMap(({ kind, item, price: index, quantity }): Stripe.SubscriptionUpdateParams.Item[] => {
    const price = String(prices[index % prices.length]);
    const counted = index % prices.length === metered ? {} : { quantity };
    const [picked] = kind === 'add' ? [] : left.splice(item % Math.max(1, left.length), 1);
    const id = picked?.id ?? '';
    if (kind === 'remove' && picked !== undefined && count > 1) {
      count -= 1;
      return [{ id, deleted: true }];
    }
    if (kind === 'quantity' && picked?.quantity !== undefined) return [{ id, quantity }];
    if (used.has(price) || (kind === 'add' ? count === itemsMax : picked === undefined)) return [];
    used.add(price);
    if (kind !== 'add') return [{ id, price, ...(kind === 'both' ? counted : {}) }];
    count += 1;
    return [{ price, ...counted }];
  });
}

test(`in ${changesMin} random changes of up to ${itemsMax} items, what is billed equals its preview`, async (t) => {
  const { stripe } = await useSandbox(t);
  const prices = await makePrices(stripe);
  const first = await stripe.prices.retrieve(String(prices[0]));
  const coupons = {
    percent: await stripe.coupons.create({ percent_off: 33.3, duration: 'forever' }),
    fixed: await stripe.coupons.create({
      amount_off: 500,
      currency: 'usd',
      duration: 'forever',
      applies_to: { products: [String(first.product)] },
    }),
  };
  const counts = { now: 0, later: 0, refused: 0, renewals: 0, items: 0 };

  await assertProperty(
    fc.asyncProperty(life, async ({ type, discount, trialDays, first: firstPrices, changes }) => {
      const clock = await stripe.testHelpers.testClocks.create({ frozen_time: start });
      let now = start;
      const advance = async (seconds: number) => {
        now += seconds;
        await stripe.testHelpers.testClocks.advance(clock.id, { frozen_time: now });
        while ((await stripe.testHelpers.testClocks.retrieve(clock.id)).status === 'advancing');
      };
      const customer = await stripe.customers.create({
        payment_method: 'pm_card_visa',
        test_clock: clock.id,
      });
      const [card] = (await stripe.customers.listPaymentMethods(customer.id)).data;
      const monthly = prices.slice(0, 7);
      const wanted = [...new Set(firstPrices.map((index) => String(monthly[index % monthly.length])))];
      const names =
        discount === 'both' ? (['percent', 'fixed'] as const) : discount === null ? [] : [discount];
      let current = await stripe.subscriptions.create({
        customer: customer.id,
        items: wanted.map((price) => ({ price })),
        default_payment_method: String(card?.id),
        billing_mode: { type },
        trial_period_days: trialDays,
        discounts: names.map((name) => ({ coupon: coupons[name].id })),
      });
      const { id } = current;
      const upcoming = () => stripe.invoices.createPreview({ subscription: id });

      for (const wish of changes) {
        const ends = Math.min(...current.items.data.map((item) => item.current_period_end));
        const expected = await upcoming();
        const isRenewed = now + wish.waitHours * hourSeconds >= ends;
        if (wish.waitHours > 0) await advance(wish.waitHours * hourSeconds);
        if (isRenewed) {
          const invoices = await stripe.invoices.list({ subscription: id, limit: 100 });
          const renewal = invoices.data.find(
            ({ billing_reason, created }) => billing_reason === 'subscription_cycle' && created === ends,
          );
          assert.ok(renewal !== undefined, 'the period ended without an invoice');
          assert.deepEqual(billOf(renewal), billOf(expected));
          counts.renewals += 1;
        }
        current = await stripe.subscriptions.retrieve(id);
        const details = {
          items: itemsOf(wish, current, prices),
          proration_behavior: wish.proration_behavior,
          ...(wish.resets ? { billing_cycle_anchor: { type: 'now' as const } } : {}),
          ...(wish.backdatesHours === 0 ? {} : { proration_date: now - wish.backdatesHours * hourSeconds }),
        };
        const refusal = (error: Error) => error;
        const preview = await stripe.invoices
          .createPreview({ subscription: id, subscription_details: details })
          .catch(refusal);
        const changed = await stripe.subscriptions
          .update(id, { ...details, expand: ['latest_invoice'] })
          .catch(refusal);
        if (preview instanceof Error || changed instanceof Error) {
          assert.ok(preview instanceof Error && changed instanceof Error, `${preview}; ${changed}`);
          assert.equal(preview.message.replace(/si_\w+/g, 'si'), changed.message.replace(/si_\w+/g, 'si'));
          counts.refused += 1;
          continue;
        }
        const bill = changed.latest_invoice as Stripe.Invoice;
        const isNow = bill.id !== current.latest_invoice;
        assert.deepEqual(billOf(isNow ? bill : await upcoming()), billOf(preview));
        counts[isNow ? 'now' : 'later'] += 1;
        counts.items = Math.max(counts.items, changed.items.data.length);
        current = changed;
      }
      await stripe.testHelpers.testClocks.del(clock.id);
    }),
    lives,
  );
  t.diagnostic(JSON.stringify(counts));
  assert.ok(counts.now + counts.later >= changesMin, JSON.stringify(counts));
  // Each kind of change, and of renewal, is met.
  for (const count of Object.values(counts)) assert.ok(count > 0, JSON.stringify(counts));
});
