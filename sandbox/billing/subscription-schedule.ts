import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { SchedulePhase, Subscription, SubscriptionItem, SubscriptionSchedule } from '../wire/objects.ts';
import { badParam, wrongState } from '../wire/wire-error.ts';
import { addIntervals, type Interval } from './calendar.ts';
import { periodOf } from './subscription-items.ts';
import { testClockIdOf } from './test-clock.ts';

/** Creates a schedule for a subscription. Its only phase has the current values of the subscription. */
export function scheduleFrom(store: Store, subscription: Subscription): SubscriptionSchedule {
  checkSchedulable(subscription);
  const ends = subscription.cancel_at_period_end || subscription.cancel_at !== null;
  const schedule = newSchedule(store, {
    billing_mode: subscription.billing_mode,
    customer: subscription.customer,
    defaultMethod: subscription.default_payment_method,
    defaultTax: subscription.automatic_tax,
    end_behavior: ends ? 'cancel' : 'release',
    metadata: {},
    phases: [presentPhase(subscription)],
  });
  return attachSchedule(store, schedule, subscription, 'subscription_schedule.created');
}

/** A schedule that creates its subscription when its first phase starts. */
export function newSchedule(
  store: Store,
  {
    defaultMethod,
    defaultTax = { disabled_reason: null, enabled: false, liability: null },
    ...input
  }: Pick<SubscriptionSchedule, 'billing_mode' | 'end_behavior' | 'metadata' | 'phases'> & {
    readonly customer: string;
    readonly defaultMethod: string | null;
    readonly defaultTax?: Subscription['automatic_tax'];
  },
): SubscriptionSchedule {
  return store.put(store.subscriptionSchedules, {
    ...store.blank(store.subscriptionSchedules, 'subscription_schedule'),
    ...nulls(
      'application canceled_at completed_at current_phase customer_account released_at released_subscription',
      'subscription',
    ),
    default_settings: {
      ...nulls('application_fee_percent billing_thresholds description on_behalf_of transfer_data'),
      automatic_tax: defaultTax,
      billing_cycle_anchor: 'automatic',
      collection_method: 'charge_automatically',
      default_payment_method: defaultMethod,
      invoice_settings: {
        ...nulls('account_tax_ids custom_fields days_until_due description footer'),
        issuer: { type: 'self' },
      },
    },
    pause_schedules: [],
    status: 'not_started',
    test_clock: testClockIdOf(store, input.customer),
    ...input,
  });
}

/** Starts the schedule with its subscription. */
export function attachSchedule(
  store: Store,
  before: SubscriptionSchedule,
  subscription: Subscription,
  event: 'subscription_schedule.created' | 'subscription_schedule.updated',
): SubscriptionSchedule {
  const [phase] = before.phases;
  const schedule = store.update(event, store.subscriptionSchedules, before, {
    current_phase: datesOf(phase),
    status: 'active',
    subscription: subscription.id,
  });
  store.update('customer.subscription.updated', store.subscriptions, subscription, {
    schedule: schedule.id,
    ...cancellationOf(schedule),
  });
  return schedule;
}

function checkSchedulable({ schedule, status, ended_at: endedAt }: Subscription): void {
  if (schedule !== null)
    throw wrongState(
      `You cannot migrate a subscription that is already attached to a schedule: \`${schedule}\`.`,
    );
  if (endedAt !== null || status === 'incomplete' || status === 'paused')
    throw wrongState(`You cannot migrate a subscription that is in the \`${status}\` status.`);
}

/** The current subscription, until the end of its period. */
function presentPhase(subscription: Subscription): SchedulePhase {
  const { start, end } = periodOf(subscription);
  return {
    ...unusedPhaseParts,
    billing_cycle_anchor: null,
    currency: subscription.currency,
    default_payment_method: null,
    discounts: subscription.discounts.map((discount) => ({ coupon: null, discount, promotion_code: null })),
    end_date: subscription.cancel_at ?? end,
    items: phaseItems(subscription.items),
    metadata: {},
    proration_behavior: 'create_prorations',
    start_date: start,
    trial_end: subscription.status === 'trialing' ? subscription.trial_end : null,
  };
}

function phaseItems(items: Subscription['items']): SchedulePhase['items'] {
  return items.data.map((item) => phaseItem(item.price.id, item, item.quantity));
}

export function phaseItem(
  price: string,
  { metadata, tax_rates }: Pick<SubscriptionItem, 'metadata' | 'tax_rates'>,
  quantity: number | undefined,
): SchedulePhase['items'][number] {
  const common = { billing_thresholds: null, discounts: [], metadata, plan: price, price, tax_rates };
  return quantity === undefined ? common : { ...common, quantity };
}

/** Fields that the sandbox does not use. Objects are immutable, so all phases share these values. */
export const unusedPhaseParts = {
  add_invoice_items: [],
  ...nulls(
    'application_fee_percent billing_thresholds collection_method description invoice_settings on_behalf_of',
    'transfer_data',
  ),
  default_tax_rates: [],
};

/** The subscription shows when its schedule will cancel it. */
export function cancellationOf({ end_behavior: ends, phases }: SubscriptionSchedule): Partial<Subscription> {
  const cancelAt = ends === 'cancel' ? (phases.at(-1)?.end_date ?? null) : null;
  return { cancel_at: cancelAt, cancel_at_period_end: false };
}

/** The schedule that manages the subscription. */
export function scheduleOf(store: Store, { schedule }: Subscription): SubscriptionSchedule | undefined {
  return store.subscriptionSchedules.get(schedule);
}

/** A change to the items of a subscription also changes the running phase. */
export function followItems(store: Store, subscription: Subscription): void {
  const before = scheduleOf(store, subscription);
  const running = before === undefined ? undefined : phaseAt(before.phases, store.now());
  if (before === undefined || running === undefined) return;
  const changed = { ...running, items: phaseItems(subscription.items) };
  store.update('subscription_schedule.updated', store.subscriptionSchedules, before, {
    phases: before.phases.map((phase) => (phase === running ? changed : phase)),
  });
}

/**
 * Ends the schedule of a subscription that ends. The caller changes the subscription. A schedule whose last phase is
 * over is completed. If the customer did not pay, the schedule is aborted.
 */
export function endSchedule(
  store: Store,
  id: string | null,
  reason: 'cancellation_requested' | 'payment_disputed' | 'payment_failed',
): void {
  const before = store.subscriptionSchedules.get(id);
  if (before === undefined) return;
  const now = store.now();
  const lasts = (before.phases.at(-1)?.end_date ?? 0) > now;
  if (!lasts && before.end_behavior === 'cancel') {
    store.update('subscription_schedule.completed', store.subscriptionSchedules, before, {
      status: 'completed',
      completed_at: now,
      current_phase: null,
    });
    return;
  }
  const canceled = store.change(store.subscriptionSchedules, before, {
    status: 'canceled',
    canceled_at: now,
    current_phase: null,
  });
  if (reason === 'payment_failed') store.emit('subscription_schedule.aborted', canceled);
  else store.emit('subscription_schedule.canceled', canceled);
}

/** Lets the subscription continue without its schedule. */
export function releaseSchedule(
  store: Store,
  before: SubscriptionSchedule,
  keepsCancellation = false,
): SubscriptionSchedule {
  const released = store.update('subscription_schedule.released', store.subscriptionSchedules, before, {
    status: 'released',
    released_at: store.now(),
    released_subscription: before.subscription,
    subscription: null,
    current_phase: null,
  });
  const subscription = store.subscriptions.get(before.subscription);
  if (subscription !== undefined) {
    store.update('customer.subscription.updated', store.subscriptions, subscription, {
      schedule: null,
      ...(keepsCancellation || before.end_behavior !== 'cancel'
        ? {}
        : { cancel_at: null, canceled_at: null }),
    });
  }
  return released;
}

interface Duration {
  readonly interval: Interval;
  readonly count: number;
}

/** When a phase of a schedule starts and ends, as given in the request. */
export interface GivenDates {
  readonly start: number | undefined;
  readonly end: number | undefined;
  readonly duration: Duration | undefined;
  /** The length of a phase without an end or a duration: one period of its price. */
  readonly period: Duration;
}

interface PhaseDates {
  readonly start: number;
  readonly end: number;
}

/**
 * The dates of the phases, which follow each other without gaps. `started` is when the running phase started, which
 * cannot change. Past phases may be left out.
 */
export function phaseDates(given: readonly GivenDates[], started: number, now: number): PhaseDates[] {
  if (given[0]?.start === undefined)
    throw badParam(
      'The subscription schedule update is missing at least one phase with a `start_date` to anchor end dates to.',
      'phases[0][start_date]',
    );
  const dates: PhaseDates[] = [];
  for (const [index, phase] of given.entries()) {
    const at = `phases[${index}]`;
    if (phase.end !== undefined && phase.duration !== undefined)
      throw badParam('You may only specify one of these parameters: duration, end_date.', `${at}[duration]`);
    const start = phase.start ?? dates[index - 1]?.end ?? 0;
    const previous = dates[index - 1];
    if (previous !== undefined && previous.end !== start)
      throw badParam('A phase must start when the phase before it ends.', `${at}[start_date]`);
    const { interval, count } = phase.duration ?? phase.period;
    const next = phase.duration === undefined ? given[index + 1]?.start : undefined;
    const end = phase.end ?? next ?? addIntervals(start, interval, count);
    if (end <= start) throw badParam('The end of a phase must be after its start.', `${at}[end_date]`);
    dates.push({ start, end });
  }
  checkRunning(dates, started, now);
  return dates;
}

function checkRunning(dates: readonly PhaseDates[], started: number, now: number): void {
  const running = dates.findIndex(({ start }) => start === started);
  if (running < 0)
    throw badParam('You can not modify the start date of the current phase.', 'phases[0][start_date]');
  if ((dates[running]?.end ?? 0) < now)
    throw badParam('The current phase must end in the future.', `phases[${running}][end_date]`);
}

/** How a schedule shows its running phase. */
export function datesOf(phase: SchedulePhase | undefined): SubscriptionSchedule['current_phase'] {
  return phase === undefined ? null : { start_date: phase.start_date, end_date: phase.end_date };
}

/** The phase that runs at a time: the last one that has started by then. */
export function phaseAt<P extends { readonly start_date: number; readonly end_date: number }>(
  phases: readonly P[],
  at: number,
): P | undefined {
  return phases.find(({ start_date: start, end_date: end }) => start <= at && at < end);
}
