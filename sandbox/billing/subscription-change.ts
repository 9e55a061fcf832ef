import { cancelSetupIntent } from '../payments/setup-intent.ts';
import { previousAttributes } from '../state/previous-attributes.ts';
import type { Store } from '../state/store.ts';
import type { Invoice, Subscription } from '../wire/objects.ts';
import { voidInvoice } from './invoice.ts';
import { periodOf, startedAt } from './subscription-items.ts';
import { endSchedule } from './subscription-schedule.ts';

/** Changes the subscription and emits an event if anything differs. */
export function updateSubscription(
  store: Store,
  before: Subscription,
  changes: Partial<Subscription>,
): Subscription {
  return store.update('customer.subscription.updated', store.subscriptions, before, changes);
}

type PauseReason = Failure | 'pause_requested' | 'trial_end_without_payment_method';

/** Pauses the subscription: it has no invoices and no new periods until it is resumed. */
export function pauseSubscription(store: Store, before: Subscription, reason: PauseReason): Subscription {
  const paused = store.change(store.subscriptions, before, {
    status: 'paused',
    status_details: {
      paused: { subscription: { type: reason }, transitioned_at: store.now(), type: 'subscription' },
    },
  });
  store.emit('customer.subscription.paused', paused, { status: before.status });
  return paused;
}

/** Whether paying this invoice resumes the paused subscription. */
export function isResumption(subscription: Subscription, invoice: Invoice): boolean {
  const { status, status_details: details, latest_invoice: latest } = subscription;
  return (
    status === 'paused' &&
    latest === invoice.id &&
    invoice.billing_reason === 'subscription_update' &&
    invoice.created >= (details?.paused.transitioned_at ?? 0)
  );
}

/** Resumes the subscription with another status. */
export function leavePaused(
  store: Store,
  before: Subscription,
  changes: Partial<Subscription> & Pick<Subscription, 'status'>,
): Subscription {
  const { status_details: _, ...rest } = before;
  const resumed = store.put(store.subscriptions, { ...rest, ...changes });
  store.emit('customer.subscription.resumed', resumed, previousAttributes(before, resumed));
  return resumed;
}

/** What a person said about a cancellation. An absent value does not change, and null removes one. */
interface CancellationDetails {
  readonly comment?: string | null | undefined;
  readonly feedback?: string | null | undefined;
}

export function detailsAfter(
  { cancellation_details: before }: Subscription,
  { comment = before?.comment, feedback = before?.feedback }: CancellationDetails = {},
) {
  return { comment: comment ?? null, feedback: feedback ?? null, feedback_option: null };
}

/**
 * Cancels the subscription immediately. Voids an unpaid first invoice, and the invoice of a pending update. An open
 * renewal invoice stays open, but is no longer collected.
 */
export function cancelSubscription(
  store: Store,
  before: Subscription,
  reason: 'cancellation_requested' | 'payment_failed' | 'payment_disputed',
  details: CancellationDetails = {},
): Subscription {
  const now = store.now();
  const latest = store.invoices.get(before.latest_invoice);
  const isUnneeded = before.status === 'incomplete' || before.pending_update !== null;
  if (isUnneeded && latest?.status === 'open') voidInvoice(store, latest);
  else if (
    latest !== undefined &&
    (latest.status === 'open' || latest.status === 'draft') &&
    latest.auto_advance
  ) {
    store.update('invoice.updated', store.invoices, latest, {
      auto_advance: false,
      automatically_finalizes_at: null,
      next_payment_attempt: null,
    });
  }
  const setup = store.setupIntents.get(before.pending_setup_intent);
  if (setup !== undefined && setup.status !== 'succeeded' && setup.status !== 'canceled')
    cancelSetupIntent(store, setup, null);
  const { status_details: _, ...rest } = before;
  const canceled = store.record('customer.subscription.deleted', store.subscriptions, {
    ...rest,
    status: 'canceled',
    canceled_at: before.canceled_at ?? now,
    cancel_at_period_end: false,
    ended_at: now,
    pending_setup_intent: null,
    schedule: null,
    pending_update: null,
    cancellation_details: {
      ...detailsAfter(before, details),
      reason,
    },
  });
  endSchedule(store, before.schedule, reason);
  return canceled;
}

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
