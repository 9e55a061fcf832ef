import { applyPhase } from '../billing/phase-change.ts';
import { phaseAt } from '../billing/phases.ts';
import { startSchedule } from '../billing/schedule-life.ts';
import { updateSubscription } from '../billing/subscription-change.ts';
import { cancelNow } from '../billing/subscription-life.ts';
import { cancellationOf, newSchedule, scheduleFrom } from '../billing/subscription-schedule.ts';
import { endSchedule, releaseSchedule } from '../billing/subscription-schedule-end.ts';
import { endTrial, moveTrial } from '../billing/trial.ts';
import { existingCustomer } from '../payments/customer.ts';
import type { Subscription, SubscriptionSchedule } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, missingParam, wrongState } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';
import { createParams, phasesFrom, type Scheduled, updateParams } from './schedule-params.ts';
import { billingModeOf, checkMethod } from './subscription-params.ts';

const schedules = new Resource('subscription_schedules', (store) => store.subscriptionSchedules);

export const subscriptionScheduleOperations = [
  schedules.operation('create', 'POST', createParams, create),
  schedules.retrieve(),
  schedules.operation('update', 'POST *', updateParams, update),
  schedules.operation('release', 'POST */release', { preserve_cancel_date: p.bool }, (call, params) =>
    releaseSchedule(call.store, running(call, 'release', 'released'), params.preserve_cancel_date ?? false),
  ),
  schedules.operation('cancel', 'POST */cancel', { invoice_now: p.bool, prorate: p.bool }, (call, params) => {
    const { id, subscription } = running(call, 'cancel', 'canceled');
    const { store } = call;
    const options = { prorates: params.prorate ?? true, invoicesNow: params.invoice_now ?? true };
    if (subscription === null) endSchedule(store, id, 'cancellation_requested');
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

/** The schedule with the id in the path, if it has not ended. */
function running(call: Call, verb: string, done: string): SubscriptionSchedule {
  const schedule = schedules.existing(call);
  if (schedule.status !== 'active' && schedule.status !== 'not_started')
    throw wrongState(
      `You cannot ${verb} a subscription schedule that is currently in the \`${schedule.status}\` status. It must be in \`not_started\`, \`active\` status to be ${done}.`,
    );
  return schedule;
}

function create(call: Call, params: p.Parsed<typeof createParams>): SubscriptionSchedule {
  const { store } = call;
  const { from_subscription: from, start_date: given = 'now', phases: [first, ...others] = [] } = params;
  if (from !== undefined) {
    const [other] = Object.keys(params).filter((name) => name !== 'from_subscription');
    if (other !== undefined) throw badParam(`You cannot set ${other} if from_subscription is set.`, other);
    return scheduleFrom(store, store.subscriptions.existing(from, 'from_subscription'));
  }
  if (params.customer === undefined) throw missingParam('customer');
  if (first === undefined) throw missingParam('phases');
  const start = given === 'now' ? store.now() : given;
  if (start < store.now()) throw badParam('The sandbox cannot start a schedule in the past.', 'start_date');
  const scheduled = beforeStart({
    billing_mode: billingModeOf(params.billing_mode, call.version),
    currency: store.prices.get(first.items[0]?.price ?? '')?.currency ?? '',
    customer: existingCustomer(store, params.customer).id,
  });
  const method = params.default_settings?.default_payment_method ?? null;
  if (method !== null) checkMethod(store, method, scheduled.customer, defaultParam);
  const dated = [{ ...first, start_date: start }, ...others];
  const schedule = newSchedule(store, {
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

function update(call: Call, params: p.Parsed<typeof updateParams>): SubscriptionSchedule {
  const { store } = call;
  const before = running(call, 'update', 'updated');
  const subscription =
    before.subscription === null ? null : store.subscriptions.existing(before.subscription, 'subscription');
  const scheduled =
    subscription ??
    beforeStart({ ...before, customer: before.customer ?? '', currency: before.phases[0]?.currency ?? '' });
  const method = params.default_settings?.default_payment_method;
  if (method != null) checkMethod(store, method, scheduled.customer, defaultParam);
  const startDate = (before.current_phase ?? before.phases[0])?.start_date;
  const phases =
    params.phases === undefined
      ? before.phases
      : phasesFrom(store, params.phases, { phases: before.phases, startDate }, scheduled);
  const current = phaseAt(phases, store.now());
  const after = store.update('subscription_schedule.updated', store.subscriptionSchedules, before, {
    phases,
    current_phase:
      current === undefined
        ? before.current_phase
        : { start_date: current.start_date, end_date: current.end_date },
    end_behavior: params.end_behavior ?? before.end_behavior,
    metadata: p.applyMetadata(before.metadata ?? {}, params.metadata),
    default_settings: {
      ...before.default_settings,
      ...(method === undefined ? {} : { default_payment_method: method }),
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
  const phase = phaseAt(schedule.phases, store.now());
  const ending = updateSubscription(store, before, {
    ...cancellationOf(schedule),
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
