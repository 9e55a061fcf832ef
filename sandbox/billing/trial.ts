import type { Store } from '../state/store.ts';
import type { Subscription } from '../wire/objects.ts';
import { WireError, wrongState } from '../wire/wire-error.ts';
import { startPeriodNow } from './apply-change.ts';
import { invoicePaid, methodFor, noPaymentMethod } from './collect.ts';
import { draftSubscriptionInvoice, finalizeInvoice } from './invoice.ts';
import { updateSubscription } from './subscription-change.ts';
import { invoiceLines, periodOf, withPeriod } from './subscription-items.ts';
import { endsWithoutMethod, trialNoticeSeconds } from './subscription-life.ts';

/**
 * Ends the trial now. The first paid period starts, unless the customer has no card and the trial is configured
 * otherwise.
 */
export function endTrial(store: Store, before: Subscription): Subscription {
  if (before.status !== 'trialing') return before;
  const ended = store.update('customer.subscription.trial_will_end', store.subscriptions, before, {
    trial_end: store.now(),
  });
  if (endsWithoutMethod(store, ended)) return store.subscriptions.get(before.id) ?? ended;
  const invoice = store.invoices.get(before.latest_invoice);
  const costs = before.items.data.some(({ price }) => price.unit_amount !== 0);
  if (costs && (invoice === undefined || methodFor(store, invoice) === undefined))
    throw new WireError(400, noPaymentMethod);
  return startPeriodNow(store, before, { status: 'active', trial_end: store.now() });
}

/** Moves the end of the trial, or starts one. The next period begins when it ends. */
export function moveTrial(store: Store, before: Subscription, trialEnd: number): Subscription {
  const wasTrialing = before.status === 'trialing';
  if (!wasTrialing && !['active', 'past_due', 'unpaid'].includes(before.status))
    throw wrongState(`A subscription that is ${before.status} cannot have a trial.`);
  const now = store.now();
  const start = wasTrialing ? periodOf(before).start : now;
  const changes: Partial<Subscription> = {
    billing_cycle_anchor: trialEnd,
    items: withPeriod(before.items, start, trialEnd),
    status: 'trialing',
    trial_end: trialEnd,
    trial_start: wasTrialing ? before.trial_start : now,
    ...(before.cancel_at_period_end && { cancel_at: trialEnd }),
  };
  const moved = wasTrialing ? updateSubscription(store, before, changes) : startTrial(store, before, changes);
  if (trialEnd - now <= trialNoticeSeconds) store.emit('customer.subscription.trial_will_end', moved);
  return moved;
}

/** A new trial has an invoice with amount zero, like a trial at the start of a subscription. */
function startTrial(store: Store, before: Subscription, changes: Partial<Subscription>): Subscription {
  const moved: Subscription = { ...before, ...changes };
  const draft = draftSubscriptionInvoice(store, moved, {
    reason: 'subscription_update',
    lines: invoiceLines(store, moved, moved.items.data, true),
    periodStart: periodOf(before).start,
    periodEnd: store.now(),
    autoAdvance: false,
  });
  const updated = updateSubscription(store, before, { ...changes, latest_invoice: draft.id });
  const invoice = finalizeInvoice(store, draft);
  if (invoice.amount_due === 0) invoicePaid(store, invoice);
  return store.subscriptions.get(before.id) ?? updated;
}
