import type { Store } from '../state/store.ts';
import type { SubscriptionSchedule } from '../wire/objects.ts';
import { createSubscription } from './create-subscription.ts';
import { enterPhase, wantedBy } from './phase-change.ts';
import { attachSchedule, endSchedule } from './subscription-schedule.ts';

/** The processor announces the end of a schedule seven days ahead. */
const expiryNoticeSeconds = 7 * 86_400;

/**
 * The times at which the schedule needs work. The state does not show whether its end was announced, so the
 * announcement is due only after `doneUntil`.
 */
export function scheduleDueTimes(schedule: SubscriptionSchedule, doneUntil: number): number[] {
  if (schedule.status === 'not_started') return schedule.phases.slice(0, 1).map((phase) => phase.start_date);
  if (schedule.status !== 'active' || schedule.current_phase === null) return [];
  const { end_date: end } = schedule.current_phase;
  const notice = (schedule.phases.at(-1)?.end_date ?? 0) - expiryNoticeSeconds;
  return notice > Math.max(doneUntil, schedule.created) ? [notice, end] : [end];
}

export function scheduleFallsDue(store: Store, schedule: SubscriptionSchedule, at: number): void {
  if (schedule.status === 'not_started') startSchedule(store, schedule, 'subscription_schedule.updated');
  else if (at === schedule.current_phase?.end_date) {
    const subscription = store.subscriptions.get(schedule.subscription);
    if (subscription !== undefined) enterPhase(store, subscription, at);
  } else store.emit('subscription_schedule.expiring', schedule);
}

/** Creates the subscription of the first phase. Its first invoice stays a draft for an hour. */
export function startSchedule(
  store: Store,
  schedule: SubscriptionSchedule,
  event: 'subscription_schedule.created' | 'subscription_schedule.updated',
): SubscriptionSchedule {
  const [phase] = schedule.phases;
  const customer = store.customers.get(schedule.customer);
  if (phase === undefined || customer === undefined || customer.deleted) {
    endSchedule(store, schedule.id, 'cancellation_requested');
    return schedule;
  }
  const subscription = createSubscription(store, {
    customer: customer.id,
    items: phase.items.flatMap(({ price: id, quantity, metadata, tax_rates: rates }) => {
      const price = store.prices.get(id);
      return price === undefined
        ? []
        : [{ price, quantity, metadata: metadata ?? {}, taxRates: rates ?? [] }];
    }),
    trialEnd: null,
    details: {
      billing_mode: schedule.billing_mode,
      default_payment_method:
        phase.default_payment_method ?? schedule.default_settings.default_payment_method,
      metadata: phase.metadata ?? {},
    },
    discounts: wantedBy(store, { discounts: [] }, phase),
    offSession: true,
    isScheduled: true,
  });
  return attachSchedule(store, schedule, subscription, event);
}
