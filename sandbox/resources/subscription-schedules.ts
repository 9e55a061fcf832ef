import { applyPhase } from '../billing/phase-change.ts';
import { phaseAt } from '../billing/phases.ts';
import { cancelSubscription, updateSubscription } from '../billing/subscription-change.ts';
import { cancellationOf, scheduleFrom } from '../billing/subscription-schedule.ts';
import { releaseSchedule } from '../billing/subscription-schedule-end.ts';
import { endTrial, moveTrial } from '../billing/trial.ts';
import { existing } from '../wire/existing.ts';
import type { Subscription, SubscriptionSchedule } from '../wire/objects.ts';
import type { Call, Operation } from '../wire/operation.ts';
import { applyMetadata, bool, type Parsed, type Range, range, required, text } from '../wire/params.ts';
import { wrongState } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';
import { phasesFrom, updateParams } from './schedule-params.ts';
import { checkMethod } from './subscription-params.ts';

const schedules = new Resource('subscription_schedules', (store) => store.subscriptionSchedules);

export const subscriptionScheduleOperations: readonly Operation[] = [
  schedules.operation('create', 'POST', { from_subscription: required(text()) }, ({ store }, params) =>
    scheduleFrom(store, existing(store.subscriptions, params.from_subscription, 'from_subscription')),
  ),
  schedules.retrieve(),
  schedules.operation('update', 'POST *', updateParams, update),
  schedules.operation('release', 'POST */release', { preserve_cancel_date: bool }, (call, params) =>
    releaseSchedule(call.store, running(call, 'release', 'released'), params.preserve_cancel_date ?? false),
  ),
  schedules.operation('cancel', 'POST */cancel', { invoice_now: bool, prorate: bool }, (call) => {
    const schedule = running(call, 'cancel', 'canceled');
    cancelSubscription(call.store, subscriptionIn(call, schedule), 'cancellation_requested');
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
  if (schedule.status !== 'active')
    throw wrongState(
      `You cannot ${verb} a subscription schedule that is currently in the \`${schedule.status}\` status. It must be in \`not_started\`, \`active\` status to be ${done}.`,
    );
  return schedule;
}

function subscriptionIn({ store }: Call, { subscription }: SubscriptionSchedule): Subscription {
  return existing(store.subscriptions, subscription ?? '', 'subscription');
}

function update(call: Call, params: Parsed<typeof updateParams>): SubscriptionSchedule {
  const { store } = call;
  const before = running(call, 'update', 'updated');
  const subscription = subscriptionIn(call, before);
  const method = params.default_settings?.default_payment_method;
  if (method != null) checkMethod(store, method, subscription.customer);
  const phases =
    params.phases === undefined ? before.phases : phasesFrom(store, params.phases, before, subscription);
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
  follow(call, subscription, after, params);
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
