import type { Interval } from '../billing/calendar.ts';
import { type GivenDates, phaseDates } from '../billing/phases.ts';
import { isMetered } from '../billing/price-amount.ts';
import { unusedPhaseParts } from '../billing/subscription-schedule.ts';
import type { Store } from '../state/store.ts';
import type { Price, SchedulePhase, Subscription } from '../wire/objects.ts';
import * as p from '../wire/params.ts';
import { badParam, missingParam } from '../wire/wire-error.ts';
import { discountsParam, wantedDiscounts } from './discount-params.ts';
import { interval } from './inline-price.ts';
import {
  billablePrice,
  billingMode,
  checkMethod,
  checkPrices,
  checkQuantity,
  itemsMax,
  prorationBehavior,
  quantityMax,
  timeOrNow,
} from './subscription-params.ts';
import { taxRatesFrom, taxRatesParam } from './tax-rates.ts';

/** The processor's own limit for the running phase and future phases. */
const phasesMax = 10;

const phaseFields = {
  items: p.required(
    p.array(
      p.object({
        price: p.required(p.text()),
        quantity: p.integer(0, quantityMax),
        metadata: p.metadata,
        tax_rates: taxRatesParam,
      }),
      itemsMax,
    ),
  ),
  billing_cycle_anchor: p.oneOf('automatic', 'phase_start'),
  currency: p.text(),
  default_payment_method: p.text(),
  discounts: discountsParam,
  duration: p.object({
    interval,
    interval_count: p.integer(1),
  }),
  end_date: timeOrNow,
  iterations: p.integer(1),
  metadata: p.metadata,
  proration_behavior: prorationBehavior,
  start_date: timeOrNow,
  trial_end: timeOrNow,
};

const commonParams = {
  default_settings: p.object({ default_payment_method: p.clearable(p.text()) }),
  end_behavior: p.oneOf('cancel', 'release'),
  metadata: p.metadata,
  phases: p.array(p.object(phaseFields), phasesMax),
};
export const updateParams = { ...commonParams, proration_behavior: prorationBehavior };
export const createParams = {
  ...commonParams,
  billing_mode: billingMode,
  customer: p.text(),
  from_subscription: p.text(),
  start_date: timeOrNow,
};

/** The subscription of a schedule, or what is known of it before it exists. */
export type Scheduled = Pick<
  Subscription,
  'billing_mode' | 'currency' | 'customer' | 'discounts' | 'items' | 'status'
>;

type GivenPhase = p.Parsed<typeof phaseFields>;

/** The phases in the parameters. Past phases are kept, even if they are left out. */
export function phasesFrom(
  store: Store,
  given: readonly GivenPhase[],
  schedule: { readonly phases: readonly SchedulePhase[]; readonly startDate: number | undefined },
  subscription: Scheduled,
): SchedulePhase[] {
  const now = store.now();
  const prices = given.map((phase, index) => pricesOf(store, phase, subscription, index));
  const dates = phaseDates(
    given.map((phase, index) => givenDates(phase, prices[index]?.[0], now)),
    schedule.startDate ?? now,
    now,
  );
  const phases = given.map((phase, index): SchedulePhase => {
    const { start, end } = dates[index] ?? { start: 0, end: 0 };
    checkMethod(
      store,
      phase.default_payment_method,
      subscription.customer,
      `phases[${index}][default_payment_method]`,
    );
    return {
      ...unusedPhaseParts,
      billing_cycle_anchor: phase.billing_cycle_anchor ?? null,
      currency: subscription.currency,
      default_payment_method: phase.default_payment_method ?? null,
      discounts: discountsOf(store, phase, prices[index] ?? [], subscription, index),
      end_date: end,
      items: phase.items.map(({ price, quantity = 1, metadata: given, tax_rates: rates }, item) => ({
        billing_thresholds: null,
        discounts: [],
        metadata: p.applyMetadata({}, given),
        plan: price,
        price,
        ...(isMetered(prices[index]?.[item] ?? { recurring: null }) ? {} : { quantity }),
        tax_rates: taxRatesFrom(store, rates, `phases[${index}][items][${item}][tax_rates]`),
      })),
      metadata: p.applyMetadata({}, phase.metadata),
      proration_behavior: phase.proration_behavior ?? 'create_prorations',
      start_date: start,
      trial_end: trialEndOf(phase, subscription, now, index),
    };
  });
  const first = phases[0]?.start_date ?? 0;
  return [...schedule.phases.filter(({ end_date: end }) => end <= first && end <= now), ...phases];
}

function pricesOf(store: Store, phase: GivenPhase, subscription: Scheduled, index: number): Price[] {
  const at = `phases[${index}][items]`;
  if (phase.items.length === 0) throw missingParam(at, 'A phase needs at least one item.');
  // A price that has been archived can stay in use, as in the subscription itself.
  const current = new Map(subscription.items.data.map(({ price }) => [price.id, price]));
  const prices = phase.items.map(({ price: id, quantity }, item) => {
    const price = current.get(id) ?? billablePrice(store, id, `${at}[${item}][price]`);
    checkQuantity(price, quantity, `${at}[${item}][quantity]`);
    return price;
  });
  checkPrices(prices, subscription.billing_mode.type, at);
  if (prices[0]?.currency !== subscription.currency)
    throw badParam(`The price must be in ${subscription.currency}, the currency of the subscription.`, at);
  return prices;
}

function givenDates(phase: GivenPhase, price: Price | undefined, now: number): GivenDates {
  const time = (given: number | 'now' | undefined) => (given === 'now' ? now : given);
  const { duration, iterations } = phase;
  const { interval, interval_count: count } = price?.recurring ?? { interval: 'month', interval_count: 1 };
  // The sandbox creates prices only with these four intervals. The package's type allows more.
  const period = { interval: interval as Interval, count };
  return {
    start: time(phase.start_date),
    end: time(phase.end_date),
    duration:
      duration === undefined
        ? iterations === undefined
          ? undefined
          : { ...period, count: period.count * iterations }
        : { interval: duration.interval, count: duration.interval_count ?? 1 },
    period,
  };
}

function discountsOf(
  store: Store,
  { discounts, items }: GivenPhase,
  prices: readonly Price[],
  subscription: Scheduled,
  index: number,
): SchedulePhase['discounts'] {
  const given = discounts ?? [];
  wantedDiscounts(
    store,
    given,
    {
      customer: subscription.customer,
      items: prices.map((price, item) => ({ price, quantity: items[item]?.quantity })),
      discounts: subscription.discounts,
    },
    `phases[${index}][discounts]`,
  );
  return given.map(({ coupon = null, discount = null, promotion_code = null }) => ({
    coupon,
    discount,
    promotion_code,
  }));
}

/** Only the current trial of the subscription can be kept or moved. */
function trialEndOf(
  { trial_end: end }: GivenPhase,
  { status }: Scheduled,
  now: number,
  index: number,
): number | null {
  if (end === undefined || end === 'now') return null;
  if (status !== 'trialing' || end <= now)
    throw badParam(
      'trial_end can only be set on the phase of a running trial.',
      `phases[${index}][trial_end]`,
    );
  return end;
}
