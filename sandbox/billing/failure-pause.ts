import type { Store } from '../state/store.ts';
import type { Invoice, Subscription } from '../wire/objects.ts';
import { leavePaused, pauseSubscription } from './subscription-change.ts';
import { periodOf, startedAt } from './subscription-items.ts';

type Failure = 'final_payment_failure' | 'first_payment_failure';

/**
 * Pauses a subscription whose renewal was not paid. Its invoice is still collected. Only subscriptions in flexible
 * billing mode can pause. Returns false if this one cannot.
 */
export function pauseAfterFailure(
  store: Store,
  subscription: Subscription,
  { billing_reason: reason }: Invoice,
  failure: Failure,
): boolean {
  const isRenewal = failure === 'final_payment_failure' || reason === 'subscription_cycle';
  if (!isRenewal || subscription.billing_mode.type !== 'flexible') return false;
  if (subscription.status === 'paused' || subscription.ended_at !== null) return false;
  pauseSubscription(store, subscription, failure);
  return true;
}

/** Resumes such a subscription when its invoice is paid or written off, if the account is configured to do so. */
export function resumeAfterFailure(store: Store, subscription: Subscription, invoice: Invoice): void {
  const { resumption = 'manual' } = store.settings;
  const reason = subscription.status_details?.paused.subscription.type;
  if (subscription.status !== 'paused' || subscription.latest_invoice !== invoice.id) return;
  if (resumption === 'manual' || (reason !== 'first_payment_failure' && reason !== 'final_payment_failure'))
    return;
  const now = store.now();
  const resets = resumption === 'reset_anchor';
  const { end } = periodOf(subscription);
  const anchored = resets ? { ...subscription, billing_cycle_anchor: now } : subscription;
  // If its period ended in the meantime, the next one has begun, and is billed from its end.
  const items =
    resets || end <= now
      ? startedAt(subscription.items, anchored.billing_cycle_anchor, now)
      : subscription.items;
  leavePaused(store, subscription, {
    status: 'active',
    billing_cycle_anchor: anchored.billing_cycle_anchor,
    items,
  });
}
