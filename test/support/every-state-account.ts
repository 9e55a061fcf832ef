import type { Stripe } from 'stripe';
import { inLanes } from '#core/platform/lanes.ts';
import type { TestProcessor } from './backend.ts';

/** Requests of the official client at a time. */
const lanes = 12;
const renewalSeconds = 32 * 86_400;

type Price = 'month' | 'year' | 'week' | 'twenty_days' | 'team' | 'seat' | 'old' | 'usd' | 'enterprise';
type OddPrice = 'metered' | 'graduated' | 'volume';

/** The prices of an application that has sold for a while. */
export type Catalogue = Readonly<Record<Price | OddPrice, string>>;

/** Creates one customer, with everything that it has. `user` is the application's id of the customer. */
type Make = (stripe: Stripe, prices: Catalogue, user: string) => Promise<unknown>;

/** An account that has customers in every state. */
export async function makeEveryState(
  { stripe, control }: TestProcessor,
  customerCount: number,
): Promise<Catalogue> {
  await control('delivery', { mode: 'drop' });
  await control('dunning', { afterwards: 'unpaid' });
  const prices = await makeCatalogue(stripe);
  const share = customerCount / (Object.keys(aging).length + Object.keys(current).length);
  const makeAll = async (kinds: Readonly<Record<string, Make>>) => {
    const all = Object.entries(kinds).flatMap(([kind, make]) =>
      Array.from({ length: Math.ceil(share) }, (_, index) => ({ make, user: `${kind}-${index}` })),
    );
    await inLanes(all, lanes, async ({ make, user }) => {
      await make(stripe, prices, user);
    });
  };
  await makeAll(aging);
  await control('clock', { advanceSeconds: renewalSeconds });
  await makeAll(current);
  await stripe.prices.update(prices.old, { active: false });
  return prices;
}

async function makeCatalogue(stripe: Stripe): Promise<Catalogue> {
  const product = async (name: string, metadata = {}) =>
    (await stripe.products.create({ name, metadata })).id;
  const price = async (productId: string, params: Partial<Stripe.PriceCreateParams>) => {
    const usual = { currency: 'eur', unit_amount: 900, recurring: { interval: 'month' as const } };
    return (await stripe.prices.create({ product: productId, ...usual, ...params })).id;
  };
  const pro = await product('Pro', { features: 'sso, export', group: 'base' });
  const usage = await product('Usage');
  const meter = await stripe.billing.meters.create({
    ...{ display_name: 'Calls', event_name: 'calls', default_aggregation: { formula: 'sum' } },
  });
  const { unit_amount: _, ...tiered } = {
    unit_amount: 0,
    billing_scheme: 'tiered' as const,
    tiers: [
      { up_to: 10, unit_amount: 500 },
      { up_to: 'inf' as const, unit_amount: 300 },
    ],
  };
  const withoutAmount = async (params: Partial<Stripe.PriceCreateParams>) =>
    (
      await stripe.prices.create({
        product: usage,
        currency: 'eur',
        recurring: { interval: 'month' },
        ...params,
      })
    ).id;
  return {
    month: await price(pro, {}),
    year: await price(pro, { unit_amount: 9_000, recurring: { interval: 'year' } }),
    week: await price(pro, { unit_amount: 300, recurring: { interval: 'week' } }),
    twenty_days: await price(pro, { recurring: { interval: 'day', interval_count: 20 } }),
    team: await price(await product('Team'), { unit_amount: 2_900 }),
    seat: await price(await product('Seat'), { unit_amount: 400, nickname: 'Extra seat' }),
    old: await price(await product('Legacy'), { unit_amount: 500 }),
    usd: await price(await product('Pro US'), { currency: 'usd', unit_amount: 1_000 }),
    enterprise: await price(await product('Enterprise', { features: '{"audit":true}' }), {}),
    metered: await price(usage, {
      unit_amount: 1,
      nickname: 'API calls',
      recurring: { interval: 'month', usage_type: 'metered', meter: meter.id },
    }),
    graduated: await withoutAmount({ ...tiered, tiers_mode: 'graduated' }),
    volume: await withoutAmount({ ...tiered, tiers_mode: 'volume' }),
  };
}

function makePayer(stripe: Stripe, user: string): Promise<Stripe.Customer> {
  return stripe.customers.create({
    ...{ email: `${user}@example.com`, metadata: { user }, payment_method: 'pm_card_visa' },
    invoice_settings: { default_payment_method: 'pm_card_visa' },
  });
}

function subscribe(
  stripe: Stripe,
  { id: customer }: Stripe.Customer,
  items: readonly (string | Stripe.SubscriptionCreateParams.Item)[],
  params: Partial<Stripe.SubscriptionCreateParams> = {},
): Promise<Stripe.Subscription> {
  const all = items.map((item) => (typeof item === 'string' ? { price: item } : item));
  return stripe.subscriptions.create({ customer, items: all, ...params });
}

function payOnce(stripe: Stripe, { id: customer }: Stripe.Customer): Promise<Stripe.PaymentIntent> {
  return stripe.paymentIntents.create({
    ...{ customer, amount: 1_000, currency: 'eur', payment_method: 'pm_card_visa', confirm: true },
    return_url: 'https://shop.example.com',
  });
}

/** A customer with a subscription to these prices. */
function subscribedTo(
  choose: (prices: Catalogue) => readonly (string | Stripe.SubscriptionCreateParams.Item)[],
  params: Partial<Stripe.SubscriptionCreateParams> = {},
): Make {
  return async (stripe, prices, user) =>
    subscribe(stripe, await makePayer(stripe, user), choose(prices), params);
}

/** The renewal of this price will fail. */
function failing(price: Price): Make {
  return async (stripe, prices, user) => {
    const customer = await makePayer(stripe, user);
    const { id } = await subscribe(stripe, customer, [prices[price]]);
    const card = await stripe.paymentMethods.attach('pm_card_chargeCustomerFail', { customer: customer.id });
    await stripe.subscriptions.update(id, { default_payment_method: card.id });
  };
}

const incomplete = { payment_behavior: 'default_incomplete' as const };

/** Customers that are a month old, whose states need time. */
const aging: Readonly<Record<string, Make>> = {
  renewed: subscribedTo(({ month }) => [month]),
  past_due_in_grace: failing('month'),
  past_due: failing('twenty_days'),
  unpaid: failing('week'),
  incomplete_expired: subscribedTo(({ month }) => [month], incomplete),
  paused: async (stripe, { month }, user) => {
    const customer = await stripe.customers.create({ email: `${user}@example.com`, metadata: { user } });
    await subscribe(stripe, customer, [month], {
      trial_period_days: 7,
      trial_settings: { end_behavior: { missing_payment_method: 'pause' } },
    });
  },
  // The older one pays once a year, and the newer one was created by mistake.
  older_twin: async (stripe, { year }, user) =>
    subscribe(stripe, await makePayer(stripe, `twin-${user.replace(/.*-/, '')}`), [year]),
};

const current: Readonly<Record<string, Make>> = {
  active: subscribedTo(({ month }) => [month]),
  yearly: subscribedTo(({ year }) => [year]),
  trialing: subscribedTo(({ month }) => [month], { trial_period_days: 14 }),
  incomplete: subscribedTo(({ month }) => [month], incomplete),
  other_product: subscribedTo(({ team }) => [{ price: team, quantity: 3 }]),
  add_on: subscribedTo(({ month, seat }) => [month, { price: seat, quantity: 4 }]),
  add_on_first: subscribedTo(({ month, seat }) => [{ price: seat, quantity: 2 }, month]),
  add_on_alone: subscribedTo(({ seat }) => [seat]),
  two_plans: subscribedTo(({ month, team }) => [month, team]),
  with_metered: subscribedTo(({ month, metered }) => [month, metered]),
  with_tiers: subscribedTo(({ month, graduated, seat }) => [{ price: graduated, quantity: 12 }, month, seat]),
  metered_alone: subscribedTo(({ metered }) => [metered]),
  tiers_alone: subscribedTo(({ volume }) => [{ price: volume, quantity: 3 }]),
  archived_price: subscribedTo(({ old }) => [old]),
  other_currency: subscribedTo(({ usd }) => [usd]),
  canceling: subscribedTo(({ month }) => [month], { cancel_at_period_end: true }),
  collection_paused: async (stripe, { month }, user) => {
    const { id } = await subscribe(stripe, await makePayer(stripe, user), [month]);
    await stripe.subscriptions.update(id, { pause_collection: { behavior: 'void' } });
  },
  canceled: async (stripe, { month }, user) => {
    const { id } = await subscribe(stripe, await makePayer(stripe, user), [month]);
    await stripe.subscriptions.cancel(id);
  },
  canceled_and_back: async (stripe, { month, year }, user) => {
    const customer = await makePayer(stripe, user);
    await stripe.subscriptions.cancel((await subscribe(stripe, customer, [month])).id);
    await subscribe(stripe, customer, [year]);
  },
  two_subscriptions: async (stripe, { month, team }, user) => {
    const customer = await makePayer(stripe, user);
    await subscribe(stripe, customer, [month]);
    await subscribe(stripe, customer, [team]);
  },
  odd_and_plan: async (stripe, { metered, team }, user) => {
    const customer = await makePayer(stripe, user);
    await subscribe(stripe, customer, [metered]);
    await subscribe(stripe, customer, [team]);
  },
  discounted: async (stripe, { month }, user) => {
    const coupon = await stripe.coupons.create({ percent_off: 100, duration: 'once' });
    await subscribe(stripe, await makePayer(stripe, user), [month], { discounts: [{ coupon: coupon.id }] });
  },
  scheduled: async (stripe, { month, year, seat }, user) => {
    const customer = await makePayer(stripe, user);
    const { id } = await subscribe(stripe, customer, [month, seat]);
    const schedule = await stripe.subscriptionSchedules.create({ from_subscription: id });
    const [phase] = schedule.phases;
    await stripe.subscriptionSchedules.update(schedule.id, {
      phases: [
        {
          items: [{ price: month }, { price: seat }],
          start_date: Number(phase?.start_date),
          end_date: Number(phase?.end_date),
        },
        { items: [{ price: year }] },
      ],
    });
  },
  deleted: async (stripe, { month }, user) => {
    const customer = await makePayer(stripe, user);
    await subscribe(stripe, customer, [month]);
    await stripe.customers.del(customer.id);
  },
  paid_once: async (stripe, _, user) => payOnce(stripe, await makePayer(stripe, user)),
  nothing: (stripe, _, user) => stripe.customers.create({ email: `${user}@example.com`, metadata: { user } }),
  newer_twin: async (stripe, _, user) =>
    payOnce(stripe, await makePayer(stripe, `twin-${user.replace(/.*-/, '')}`)),
  triplets: async (stripe, { metered }, user) => {
    const twins = [
      await makePayer(stripe, user),
      await makePayer(stripe, user),
      await makePayer(stripe, user),
    ];
    const [first, second] = twins;
    if (first === undefined || second === undefined) return;
    // A subscription that Till cannot adopt counts too.
    if (user.endsWith('0')) await subscribe(stripe, first, [metered]);
    await payOnce(stripe, second);
  },
  without_user: async (stripe, { month }, user) => {
    const customer = await makePayer(stripe, user);
    await stripe.customers.update(customer.id, { metadata: { user: '' } });
    await subscribe(stripe, customer, [month]);
  },
};
