import { applyPhase } from '../billing/phase-change.ts';
import { phaseAt } from '../billing/phases.ts';
import { startSchedule } from '../billing/schedule-life.ts';
import { updateSubscription } from '../billing/subscription-change.ts';
import { cancelNow } from '../billing/subscription-life.ts';
import { cancellationOf, newSchedule, scheduleFrom } from '../billing/subscription-schedule.ts';
import { endSchedule, releaseSchedule } from '../billing/subscription-schedule-end.ts';
import { endTrial, moveTrial } from '../billing/trial.ts';
import { existingCustomer } from '../payments/customer.ts';
import { existing } from '../wire/existing.ts';
import type { Subscription, SubscriptionSchedule } from '../wire/objects.ts';
import type { Call, Operation } from '../wire/operation.ts';
import { applyMetadata, bool, type Parsed, type Range, range, text } from '../wire/params.ts';
import { badParam, wrongState } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';
import { createParams, phasesFrom, type Scheduled, updateParams } from './schedule-params.ts';
import { billingModeOf, checkMethod } from './subscription-params.ts';

const schedules = new Resource('subscription_schedules', (store) => store.subscriptionSchedules);

export const subscriptionScheduleOperations: readonly Operation[] = [
  schedules.operation('create', 'POST', createParams, create),
  schedules.retrieve(),
  schedules.operation('update', 'POST *', updateParams, update),
  schedules.operation('release', 'POST */release', { preserve_cancel_date: bool }, (call, params) =>
    releaseSchedule(call.store, running(call, 'release', 'released'), params.preserve_cancel_date ?? false),
  ),
  schedules.operation('cancel', 'POST */cancel', { invoice_now: bool, prorate: bool }, (call, params) => {
    const { id, subscription } = running(call, 'cancel', 'canceled');
    const { store, baseUrl } = call;
    const options = { prorates: params.prorate ?? true, invoicesNow: params.invoice_now ?? true };
    if (subscription === null) endSchedule(store, id, 'cancellation_requested');
    else cancelNow(store, existing(store.subscriptions, subscription), options, baseUrl);
    return schedules.existing(call);
  }),
  schedules.list(
    {
      canceled_at: range,
      completed_at: range,
      customer: text(),
      released_at: range,
      scheduled: bool,
    },
    {
      within: ({ customer }) => ({ customer }),
      // Schedules of a test clock are listed only by their customer.
      where: (_store, params) => (schedule) =>
        (schedule.test_clock === null || params.customer !== undefined) &&
        isWithin(schedule.canceled_at, params.canceled_at) &&
        isWithin(schedule.completed_at, params.completed_at) &&
        isWithin(schedule.released_at, params.released_at) &&
        (params.scheduled !== true || schedule.status === 'not_started'),
    },
  ),
];

function isWithin(at: number | null, wanted: Range | undefined): boolean {
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

function create(call: Call, params: Parsed<typeof createParams>): SubscriptionSchedule {
  const { store, baseUrl } = call;
  const { from_subscription: from, start_date: given = 'now', phases: [first, ...others] = [] } = params;
  if (from !== undefined) {
    const [other] = Object.keys(params).filter((name) => name !== 'from_subscription');
    if (other !== undefined) throw badParam(`You cannot set ${other} if from_subscription is set.`, other);
    return scheduleFrom(store, existing(store.subscriptions, from, 'from_subscription'));
  }
  if (params.customer === undefined)
    throw badParam('Missing required param: customer.', 'customer', 'parameter_missing');
  if (first === undefined) throw badParam('Missing required param: phases.', 'phases', 'parameter_missing');
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
    metadata: applyMetadata({}, params.metadata),
    phases: phasesFrom(store, dated, { phases: [], startDate: start }, scheduled),
  });
  if (start === store.now()) return startSchedule(store, schedule, 'subscription_schedule.created', baseUrl);
  store.emit('subscription_schedule.created', schedule);
  return schedule;
}

const defaultParam = 'default_settings[default_payment_method]';

/** What is known of the subscription before its schedule starts. */
function beforeStart(known: Pick<Scheduled, 'billing_mode' | 'currency' | 'customer'>): Scheduled {
  const items = { object: 'list' as const, data: [], has_more: false, url: '' };
  return { ...known, discounts: [], items, status: 'active' };
}

function update(call: Call, params: Parsed<typeof updateParams>): SubscriptionSchedule {
  const { store } = call;
  const before = running(call, 'update', 'updated');
  const subscription =
    before.subscription === null ? null : existing(store.subscriptions, before.subscription, 'subscription');
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
  const after = store.change(store.subscriptionSchedules, before, {
    phases,
    current_phase:
      current === undefined
        ? before.current_phase
        : { start_date: current.start_date, end_date: current.end_date },
    end_behavior: params.end_behavior ?? before.end_behavior,
    metadata: applyMetadata(before.metadata ?? {}, params.metadata),
    default_settings: {
      ...before.default_settings,
      ...(method === undefined ? {} : { default_payment_method: method }),
    },
  });
  store.emitUpdated('subscription_schedule.updated', before, after);
  if (subscription !== null) follow(call, subscription, after, params);
  return schedules.existing(call);
}

/** Applies the current values of the running phase to the subscription, and the end of the schedule. */
function follow(
  { store, baseUrl }: Call,
  before: Subscription,
  schedule: SubscriptionSchedule,
  params: Parsed<typeof updateParams>,
): void {
  const phase = phaseAt(schedule.phases, store.now());
  const ending = updateSubscription(store, before, {
    ...cancellationOf(schedule),
    canceled_at: schedule.end_behavior === 'cancel' ? (before.canceled_at ?? store.now()) : null,
  });
  const changesPhase = params.phases !== undefined || params.default_settings !== undefined;
  if (phase === undefined || !changesPhase) return;
  const applied = applyPhase(store, ending, phase, schedule, baseUrl);
  if (applied.status !== 'trialing' || params.phases === undefined) return;
  // A phase without the end of the trial ends the trial.
  if (phase.trial_end === null) endTrial(store, applied, baseUrl);
  else if (phase.trial_end !== applied.trial_end) moveTrial(store, applied, phase.trial_end, baseUrl);
}
