import { applyPhase } from '../billing/phase-change.ts';
import { isMetered } from '../billing/price.ts';
import { startSchedule } from '../billing/schedule-life.ts';
import { updateSubscription } from '../billing/subscription-change.ts';
import { cancelNow } from '../billing/subscription-life.ts';
import * as scheduling from '../billing/subscription-schedule.ts';
import { endTrial, moveTrial } from '../billing/trial.ts';
import { existingCustomer } from '../payments/customer.ts';
import type { Store } from '../state/store.ts';
import type { Price, SchedulePhase, Subscription, SubscriptionSchedule } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, missingParam, wrongState } from '../wire/wire-error.ts';
import { discountsParam, wantedDiscounts } from './discount-params.ts';
import { interval } from './products.ts';
import { Resource } from './resource.ts';
import * as terms from './subscription-params.ts';
import {
  automaticTaxFrom,
  automaticTaxParam,
  checkTaxLocation,
  taxRatesFrom,
  taxRatesParam,
} from './tax-rates.ts';

/** The processor's own limit for the running phase and future phases. */
const phasesMax = 10;

const phaseFields = {
  items: p.required(
    p.array(
      p.object({
        price: p.required(p.text()),
        quantity: p.integer(0, terms.quantityMax),
        metadata: p.metadata,
        tax_rates: taxRatesParam,
      }),
      terms.itemsMax,
    ),
  ),
  automatic_tax: automaticTaxParam,
  billing_cycle_anchor: p.oneOf('automatic', 'phase_start'),
  currency: p.text(),
  default_payment_method: p.text(),
  discounts: discountsParam,
  duration: p.object({
    interval,
    interval_count: p.integer(1),
  }),
  end_date: terms.timeOrNow,
  iterations: p.integer(1),
  metadata: p.metadata,
  proration_behavior: terms.prorationBehavior,
  start_date: terms.timeOrNow,
  trial_end: terms.timeOrNow,
};

const commonParams = {
  default_settings: p.object({ default_payment_method: p.clearable(p.text()) }),
  end_behavior: p.oneOf('cancel', 'release'),
  metadata: p.metadata,
  phases: p.array(p.object(phaseFields), phasesMax),
};
const updateParams = { ...commonParams, proration_behavior: terms.prorationBehavior };
const createParams = {
  ...commonParams,
  billing_mode: terms.billingMode,
  customer: p.text(),
  from_subscription: p.text(),
  start_date: terms.timeOrNow,
};

const schedules = new Resource('subscription_schedules', (store) => store.subscriptionSchedules);

export const subscriptionScheduleOperations = [
  schedules.create(createParams, create),
  schedules.retrieve(),
  schedules.update(updateParams, update),
  schedules.action('release', { preserve_cancel_date: p.bool }, ({ store }, before, params) => {
    checkRunning(before, 'release', 'released');
    return scheduling.releaseSchedule(store, before, params.preserve_cancel_date ?? false);
  }),
  schedules.action('cancel', { invoice_now: p.bool, prorate: p.bool }, (call, before, params) => {
    checkRunning(before, 'cancel', 'canceled');
    const { store } = call;
    const { id, subscription } = before;
    const options = { prorates: params.prorate ?? true, invoicesNow: params.invoice_now ?? true };
    if (subscription === null) scheduling.endSchedule(store, id, 'cancellation_requested');
    else cancelNow(store, store.subscriptions.existing(subscription), options);
    return schedules.existing(call);
  }),
  schedules.list(
    {
      ...p.each(p.range, 'canceled_at completed_at released_at'),
      customer: p.text(),
      scheduled: p.bool,
    },
    {
      handled: ['canceled_at', 'completed_at', 'released_at', 'scheduled'],
      // Schedules of a test clock are listed only by their customer.
      where: (schedule, params) =>
        (schedule.test_clock === null || params.customer !== undefined) &&
        isWithin(schedule.canceled_at, params.canceled_at) &&
        isWithin(schedule.completed_at, params.completed_at) &&
        isWithin(schedule.released_at, params.released_at) &&
        (params.scheduled !== true || schedule.status === 'not_started'),
    },
  ),
];

function isWithin(at: number | null, wanted: p.Range | undefined): boolean {
  if (wanted === undefined) return true;
  const { gt = -1, gte = 0, lt = Number.POSITIVE_INFINITY, lte = Number.POSITIVE_INFINITY } = wanted;
  return at !== null && at > gt && at >= gte && at < lt && at <= lte;
}

function checkRunning({ status }: SubscriptionSchedule, verb: string, done: string): void {
  if (status !== 'active' && status !== 'not_started')
    throw wrongState(
      `You cannot ${verb} a subscription schedule that is currently in the \`${status}\` status. It must be in \`not_started\`, \`active\` status to be ${done}.`,
    );
}

function create(call: Call, params: p.Parsed<typeof createParams>): SubscriptionSchedule {
  const { store } = call;
  const { from_subscription: from, start_date: given = 'now', phases: [first, ...others] = [] } = params;
  if (from !== undefined) {
    const [other] = Object.keys(params).filter((name) => name !== 'from_subscription');
    if (other !== undefined) throw badParam(`You cannot set ${other} if from_subscription is set.`, other);
    return scheduling.scheduleFrom(store, store.subscriptions.existing(from, 'from_subscription'));
  }
  if (params.customer === undefined) throw missingParam('customer');
  if (first === undefined) throw missingParam('phases');
  const start = given === 'now' ? store.now() : given;
  if (start < store.now()) throw badParam('The sandbox cannot start a schedule in the past.', 'start_date');
  const scheduled = beforeStart({
    billing_mode: terms.billingModeOf(params.billing_mode, call.version),
    currency: store.prices.get(first.items[0]?.price ?? '')?.currency ?? '',
    customer: existingCustomer(store, params.customer).id,
  });
  const method = params.default_settings?.default_payment_method ?? null;
  if (method !== null) terms.checkMethod(store, method, scheduled.customer, defaultParam);
  const dated = [{ ...first, start_date: start }, ...others];
  const schedule = scheduling.newSchedule(store, {
    billing_mode: scheduled.billing_mode,
    customer: scheduled.customer,
    defaultMethod: method,
    end_behavior: params.end_behavior ?? 'release',
    metadata: p.applyMetadata({}, params.metadata),
    phases: phasesFrom(store, dated, { phases: [], startDate: start }, scheduled),
  });
  if (start === store.now()) return startSchedule(store, schedule, 'subscription_schedule.created');
  store.emit('subscription_schedule.created', schedule);
  return schedule;
}

const defaultParam = 'default_settings[default_payment_method]';

/** What is known of the subscription before its schedule starts. */
function beforeStart(known: Pick<Scheduled, 'billing_mode' | 'currency' | 'customer'>): Scheduled {
  const items = { object: 'list' as const, data: [], has_more: false, url: '' };
  return { ...known, discounts: [], items, status: 'active' };
}

function update(
  call: Call,
  before: SubscriptionSchedule,
  params: p.Parsed<typeof updateParams>,
): SubscriptionSchedule {
  const { store } = call;
  checkRunning(before, 'update', 'updated');
  const subscription =
    before.subscription === null ? null : store.subscriptions.existing(before.subscription, 'subscription');
  const scheduled =
    subscription ??
    beforeStart({ ...before, customer: before.customer ?? '', currency: before.phases[0]?.currency ?? '' });
  const method = params.default_settings?.default_payment_method;
  if (method != null) terms.checkMethod(store, method, scheduled.customer, defaultParam);
  const startDate = (before.current_phase ?? before.phases[0])?.start_date;
  const phases =
    params.phases === undefined
      ? before.phases
      : phasesFrom(store, params.phases, { phases: before.phases, startDate }, scheduled);
  const after = store.update('subscription_schedule.updated', store.subscriptionSchedules, before, {
    phases,
    current_phase: scheduling.datesOf(scheduling.phaseAt(phases, store.now())) ?? before.current_phase,
    end_behavior: params.end_behavior ?? before.end_behavior,
    metadata: p.applyMetadata(before.metadata ?? {}, params.metadata),
    default_settings: {
      ...before.default_settings,
      ...(method !== undefined && { default_payment_method: method }),
    },
  });
  if (subscription !== null) follow(call, subscription, after, params);
  return schedules.existing(call);
}

/** Applies the current values of the running phase to the subscription, and the end of the schedule. */
function follow(
  { store }: Call,
  before: Subscription,
  schedule: SubscriptionSchedule,
  params: p.Parsed<typeof updateParams>,
): void {
  const phase = scheduling.phaseAt(schedule.phases, store.now());
  const ending = updateSubscription(store, before, {
    ...scheduling.cancellationOf(schedule),
    canceled_at: schedule.end_behavior === 'cancel' ? (before.canceled_at ?? store.now()) : null,
  });
  const changesPhase = params.phases !== undefined || params.default_settings !== undefined;
  if (phase === undefined || !changesPhase) return;
  const applied = applyPhase(store, ending, phase, schedule);
  if (applied.status !== 'trialing' || params.phases === undefined) return;
  // A phase without the end of the trial ends the trial.
  if (phase.trial_end === null) endTrial(store, applied);
  else if (phase.trial_end !== applied.trial_end) moveTrial(store, applied, phase.trial_end);
}

/** The subscription of a schedule, or what is known of it before it exists. */
type Scheduled = Pick<
  Subscription,
  'billing_mode' | 'currency' | 'customer' | 'discounts' | 'items' | 'status'
>;

type GivenPhase = p.Parsed<typeof phaseFields>;

/** The phases in the parameters. Past phases are kept, even if they are left out. */
function phasesFrom(
  store: Store,
  given: readonly GivenPhase[],
  schedule: { readonly phases: readonly SchedulePhase[]; readonly startDate: number | undefined },
  subscription: Scheduled,
): SchedulePhase[] {
  const now = store.now();
  const prices = given.map((phase, index) => pricesOf(store, phase, subscription, index));
  const dates = scheduling.phaseDates(
    given.map((phase, index) => givenDates(phase, prices[index]?.[0], now)),
    schedule.startDate ?? now,
    now,
  );
  const phases = given.map((phase, index): SchedulePhase => {
    const { start, end } = dates[index] ?? { start: 0, end: 0 };
    terms.checkMethod(
      store,
      phase.default_payment_method,
      subscription.customer,
      `phases[${index}][default_payment_method]`,
    );
    return {
      ...scheduling.unusedPhaseParts,
      ...taxOf(store, phase, subscription),
      billing_cycle_anchor: phase.billing_cycle_anchor ?? null,
      currency: subscription.currency,
      default_payment_method: phase.default_payment_method ?? null,
      discounts: discountsOf(store, phase, prices[index] ?? [], subscription, index),
      end_date: end,
      items: phase.items.map(({ price, quantity = 1, metadata: given, tax_rates: rates }, item) => {
        const tax_rates = taxRatesFrom(store, rates, `phases[${index}][items][${item}][tax_rates]`);
        const hasQuantity = !isMetered(prices[index]?.[item] ?? { recurring: null });
        const details = { metadata: p.applyMetadata({}, given), tax_rates };
        return scheduling.phaseItem(price, details, hasQuantity ? quantity : undefined);
      }),
      metadata: p.applyMetadata({}, phase.metadata),
      proration_behavior: phase.proration_behavior ?? 'create_prorations',
      start_date: start,
      trial_end: trialEndOf(phase, subscription, now, index),
    };
  });
  const first = phases[0]?.start_date ?? 0;
  return [...schedule.phases.filter(({ end_date: end }) => end <= first && end <= now), ...phases];
}

/** A phase without it has the default of the schedule. */
function taxOf(
  store: Store,
  { automatic_tax: tax }: GivenPhase,
  { customer }: Scheduled,
): Pick<SchedulePhase, 'automatic_tax'> {
  if (tax === undefined) return {};
  if (tax.enabled) checkTaxLocation(store, customer);
  return { automatic_tax: automaticTaxFrom(tax) };
}

function pricesOf(store: Store, phase: GivenPhase, subscription: Scheduled, index: number): Price[] {
  const at = `phases[${index}][items]`;
  if (phase.items.length === 0) throw missingParam(at, 'A phase needs at least one item.');
  // A price that has been archived can stay in use, as in the subscription itself.
  const current = new Map(subscription.items.data.map(({ price }) => [price.id, price]));
  const prices = phase.items.map(({ price: id, quantity }, item) => {
    const price = current.get(id) ?? terms.billablePrice(store, id, `${at}[${item}][price]`);
    terms.checkQuantity(price, quantity, `${at}[${item}][quantity]`);
    return price;
  });
  terms.checkPrices(prices, subscription.billing_mode.type, at);
  if (prices[0]?.currency !== subscription.currency)
    throw badParam(`The price must be in ${subscription.currency}, the currency of the subscription.`, at);
  return prices;
}

function givenDates(phase: GivenPhase, price: Price | undefined, now: number): scheduling.GivenDates {
  const time = (given: number | 'now' | undefined) => (given === 'now' ? now : given);
  const { duration, iterations } = phase;
  const { interval, interval_count: count } = price?.recurring ?? {
    interval: 'month' as const,
    interval_count: 1,
  };
  const period = { interval, count };
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
