import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type Stripe from 'stripe';
import { newestInvoice, type Subscribed, subscribed, useCard } from '../support/changes.ts';
import { effort } from '../support/effort.ts';
import { createPlan } from '../support/objects.ts';
import { readProblem } from '../support/problem.ts';
import { startTill } from '../support/till.ts';

const till = await startTill({ in: 'process', for: { after }, mustNotLogErrors: true });
const { stripe } = till;

const good = 'pm_card_mastercard';
const declining = 'pm_card_chargeCustomerFail';
const authenticating = 'pm_card_authenticationRequired';
const yearly = await createPlan(till, { name: 'Yearly', amount: 9_000, interval: 'year' });
const dearer = await createPlan(till, { name: 'Platinum', amount: 5_000 });

async function moveClock(advanceSeconds: number): Promise<void> {
  await till.control('clock', { advanceSeconds });
}

/** The last version of the API in which a customer can get a discount. */
const older = { apiVersion: '2025-02-24.acacia' };

interface Kind {
  readonly coupon: Stripe.CouponCreateParams;
  /** A code with these parameters. Null: the coupon itself. */
  readonly code: Partial<Stripe.PromotionCodeCreateParams> | null;
  readonly ofCustomer?: true;
  /** A discount that stays, and that the subscription has after this one. */
  readonly besides?: true;
  /** What happens to the coupon or the code after it was redeemed. */
  readonly ends?: (coupon: string, code: string | null) => Promise<unknown>;
}

const half = { percent_off: 50, duration: 'once' } as const;

const kinds: Readonly<Record<string, Kind>> = {
  'a code for one invoice': { coupon: half, code: {} },
  'a coupon for one invoice': { coupon: { ...half, percent_off: 12.5 }, code: null },
  'an amount for one invoice': { coupon: { amount_off: 300, currency: 'eur', duration: 'once' }, code: {} },
  'a discount of the customer': { coupon: half, code: {}, ofCustomer: true },
  'a limited discount of the customer': {
    coupon: { ...half, max_redemptions: 1 },
    code: null,
    ofCustomer: true,
  },
  'a discount for some months': {
    coupon: { percent_off: 50, duration: 'repeating', duration_in_months: 3 },
    code: {},
  },
  'a code for one customer': { coupon: half, code: { max_redemptions: 1 } },
  'a limited coupon': { coupon: { ...half, max_redemptions: 2 }, code: {} },
  'a code that was switched off': {
    coupon: { ...half, name: 'Half the price' },
    code: {},
    ends: (_, code) => stripe.promotionCodes.update(String(code), { active: false }),
  },
  'a deleted coupon': { coupon: half, code: {}, ends: (coupon) => stripe.coupons.del(coupon) },
  'two discounts': { coupon: half, code: {}, besides: true },
};

interface Scene extends Subscribed {
  readonly processorCustomerId: string;
  readonly redeemed: () => Promise<readonly (number | null)[]>;
}

async function setScene({ coupon: terms, code: limits, ...kind }: Kind): Promise<Scene> {
  const start = await subscribed(till);
  const { processorSubscriptionId: id } = start.subscription;
  const { customer } = await stripe.subscriptions.retrieve(id);
  await stripe.customers.update(String(customer), { balance: -70 });
  const coupon = (await stripe.coupons.create(terms)).id;
  const promotion = { type: 'coupon', coupon } as const;
  const code = limits === null ? null : (await stripe.promotionCodes.create({ promotion, ...limits })).id;
  const discount = code === null ? { coupon } : { promotion_code: code };
  if (kind.ofCustomer) await stripe.rawRequest('POST', `/v1/customers/${String(customer)}`, discount, older);
  else {
    const forever = kind.besides && (await stripe.coupons.create({ percent_off: 10, duration: 'forever' }));
    const besides = forever ? [{ coupon: forever.id }] : [];
    await stripe.subscriptions.update(id, { discounts: [discount, ...besides] });
  }
  await kind.ends?.(coupon, code);
  const redeemed = async () => [
    kind.ends === undefined ? (await stripe.coupons.retrieve(coupon)).times_redeemed : null,
    code === null ? null : (await stripe.promotionCodes.retrieve(code)).times_redeemed,
  ];
  return { ...start, processorCustomerId: String(customer), redeemed };
}

/** What the processor will bill next, and what Till shows. */
async function nextOf({ subscription, read }: Scene): Promise<object> {
  const { total, amount_due, starting_balance, lines, total_discount_amounts, ...invoice } =
    await stripe.invoices.createPreview({
      subscription: subscription.processorSubscriptionId,
      expand: ['discounts.source.coupon'],
    });
  const { discount, pendingChange } = await read();
  return {
    ...{ total, amount_due, starting_balance, discount, pendingChange },
    lines: lines.data.map(({ amount, description, period, discount_amounts: taken }) => ({
      ...{ amount, description, period },
      taken: taken?.map((one) => one.amount),
    })),
    taken: total_discount_amounts?.map(({ amount }) => amount),
    discounts: invoice.discounts.map((one) => {
      const coupon = typeof one === 'object' ? one.source.coupon : null;
      assert.ok(typeof coupon === 'object' && coupon !== null);
      return [coupon.percent_off, coupon.amount_off, coupon.currency, coupon.duration, coupon.name];
    }),
  };
}

/** The ways in which a change that is billed at once fails. Afterwards, nothing is pending. */
const ways: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  declined: async ({ subscription, change }) => {
    await useCard(till, subscription, declining);
    await readProblem(await change({ planId: yearly.id }), 402, 'payment_declined');
  },
  abandoned: async ({ subscription, plan, changed }) => {
    await useCard(till, subscription, authenticating);
    const { clientSecret } = await changed({ planId: yearly.id });
    const intent = String(clientSecret).split('_secret_')[0] ?? '';
    await till.control(`payment_intents/${intent}/authenticate`, { result: 'failed' });
    // Later the customer chooses the current plan.
    await changed({ planId: plan.id });
  },
  dropped: async ({ subscription, changed }) => {
    await useCard(till, subscription, authenticating);
    await changed({ planId: yearly.id });
    await changed({ cancelAtPeriodEnd: true });
    await changed({ cancelAtPeriodEnd: false });
  },
  expired: async ({ subscription, changed }) => {
    await useCard(till, subscription, authenticating);
    await changed({ planId: yearly.id });
    await moveClock(86_400);
    await till.settle();
  },
  replaced: async ({ subscription, change, changed, previewed }) => {
    await useCard(till, subscription, authenticating);
    await changed({ planId: yearly.id });
    await useCard(till, subscription, declining);
    const replacement = { planId: dearer.id, proration: 'invoice' };
    const { amountDue, prorationDate } = await previewed(replacement);
    await readProblem(await change({ ...replacement, prorationDate }), 402, 'payment_declined');
    const { amount_due: billed } = await newestInvoice(till, subscription);
    assert.equal(billed, amountDue, 'the preview shows what the next change costs');
  },
};

const voidings = ['used', 'redeemable', 'returned'] as const;
type Voiding = (typeof voidings)[number];

/** Everything is as before, and the next attempt costs what the first one did. */
async function assertUndone(kind: Kind, way: string, voiding: Voiding): Promise<void> {
  await till.control('voiding', { discounts: voiding });
  const scene = await setScene(kind);
  await till.settle();
  const { subscription, changed, previewed, path } = scene;
  const before = await nextOf(scene);
  const redeemed = await scene.redeemed();
  const cost = (await previewed({ planId: yearly.id })).amountDue;
  await ways[way]?.(scene);
  await till.settle();
  assert.deepEqual(await nextOf(scene), before);
  // A second failure, of what the first one restored.
  await useCard(till, subscription, declining);
  await readProblem(await scene.change({ quantity: 3, proration: 'invoice' }), 402, 'payment_declined');
  await till.settle();
  assert.deepEqual(await nextOf(scene), before);
  if (voiding !== 'redeemable' && (kind.coupon.max_redemptions ?? kind.code?.max_redemptions) !== undefined)
    assert.deepEqual(await scene.redeemed(), redeemed, 'a limited code is redeemed once');
  await useCard(till, subscription, good);
  if (way !== 'expired') assert.equal((await previewed({ planId: yearly.id })).amountDue, cost);
  const { amountDue } = await previewed({ planId: yearly.id });
  const { subscription: after } = await changed({ planId: yearly.id });
  assert.equal(after.planId, yearly.id);
  const paid = await newestInvoice(till, subscription);
  assert.deepEqual([paid.status, paid.amount_due], ['paid', amountDue]);
  await till.settle();
  assert.equal((await till.call('DELETE', path)).status, 200);
}

/** In the short form, each way meets the first kind and a few others, so that each kind and each voiding occurs. */
function casesOf(place: number) {
  const all = Object.entries(kinds).flatMap(([name, kind], index) =>
    voidings.map((voiding, at) => ({ name, kind, voiding, index, at })),
  );
  const isShort = ({ index, at }: (typeof all)[number]) =>
    (index + place) % voidings.length === at && (index === 0 || index % wayNames.length === place);
  return effort({ short: all.filter(isShort), long: all });
}

const wayNames = Object.keys(ways);
for (const [place, way] of wayNames.entries())
  test(`after a change that was ${way}, the next invoice is what it was before`, async () => {
    for (const { name, kind, voiding } of casesOf(place))
      await assertUndone(kind, way, voiding).catch((error: unknown) => {
        throw new Error(`${name}, ${voiding}`, { cause: error });
      });
  });
