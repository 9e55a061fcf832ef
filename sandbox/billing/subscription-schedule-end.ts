import type { Store } from '../state/store.ts';
import type { SubscriptionSchedule } from '../wire/objects.ts';

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
