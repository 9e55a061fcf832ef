import type { Store } from '../state/store.ts';
import type { Invoice, Subscription } from '../wire/objects.ts';
import { collectInvoice, invoicePaid, methodFor } from './collect.ts';
import { draftSubscriptionInvoice, finalizeInvoice, voidInvoice } from './invoice.ts';
import { addInvoiceItem, pendingOf } from './invoice-item.ts';
import { upcomingInvoice } from './invoice-preview.ts';
import { settlePaused } from './pause.ts';
import { dropUpdate } from './pending-update.ts';
import { asOfNextPeriod, enterPhase } from './phase-change.ts';
import { unusedTime } from './planned-change.ts';
import { cancelSubscription, pauseSubscription, updateSubscription } from './subscription-change.ts';
import { periodOf, renewal } from './subscription-items.ts';

/** The processor expires an incomplete subscription after 23 hours. */
const incompleteSeconds = 23 * 60 * 60;
/** The processor announces the end of a trial three days ahead. */
export const trialNoticeSeconds = 3 * 86_400;

/** The processor announces renewals some days ahead. Seven is one of the settings it offers. */
const renewalNoticeSeconds = 7 * 86_400;

/**
 * The times at which the subscription needs work, given its current state. The state does not show whether a renewal or
 * the end of a trial was announced, so those announcements are due only after `doneUntil`.
 */
export function subscriptionDueTimes(subscription: Subscription, doneUntil: number): number[] {
  const { start, end } = periodOf(subscription);
  const notices = (times: readonly number[]) => times.filter((at) => at > Math.max(doneUntil, start));
  const { cancel_at: cancelAt, pause_collection: pause, pending_update: pending } = subscription;
  const others = [cancelAt, pause?.resumes_at ?? null, pending?.expires_at ?? null].filter(
    (at) => at !== null,
  );
  switch (subscription.status) {
    case 'incomplete':
      return [subscription.created + incompleteSeconds];
    case 'trialing':
      return [...notices([end - renewalNoticeSeconds, end - trialNoticeSeconds]), end, ...others];
    case 'active':
      return [...notices([end - renewalNoticeSeconds]), end, ...others];
    case 'past_due':
    case 'unpaid':
      return [end, ...others];
    case 'paused':
      return cancelAt === null ? [] : [cancelAt];
    default:
      return [];
  }
}

export function subscriptionFallsDue(store: Store, given: Subscription, at: number): void {
  // Resuming collection and starting a phase come before a renewal at the same time, so that the renewal uses their
  // values.
  const resumed =
    given.pause_collection?.resumes_at === at
      ? updateSubscription(store, given, { pause_collection: null })
      : given;
  const expired =
    resumed.pending_update?.expires_at === at ? dropUpdate(store, resumed, { expires: true }) : resumed;
  const subscription = enterPhase(store, expired, at);
  const { end } = periodOf(subscription);
  if (subscription.status === 'incomplete') expire(store, subscription);
  else if (subscription.cancel_at === at || (at === end && subscription.cancel_at_period_end))
    finish(store, subscription);
  else if (at === end) renew(store, subscription);
  else if (at === end - renewalNoticeSeconds) announceRenewal(store, subscription);
  else if (subscription.status === 'trialing' && at === end - trialNoticeSeconds)
    store.emit('customer.subscription.trial_will_end', subscription);
}

/** Sends a preview of the next invoice, which is not stored yet. */
function announceRenewal(store: Store, subscription: Subscription): void {
  if (subscription.cancel_at !== null || subscription.cancel_at_period_end) return;
  store.emit('invoice.upcoming', upcomingInvoice(store, asOfNextPeriod(store, subscription)));
}

/** Cancels the subscription at the planned time. Pending prorations are billed at the end. */
function finish(store: Store, subscription: Subscription): void {
  const canceled = cancelSubscription(store, subscription, 'cancellation_requested');
  if (pendingOf(store, canceled).some(({ proration }) => proration))
    finalDraft(store, canceled, 'subscription_cycle', periodOf(subscription).end);
}

interface Cancellation {
  /** Credits the unused time. */
  readonly prorates: boolean;
  /** Bills the items that wait for an invoice. */
  readonly invoicesNow: boolean;
  readonly comment?: string | null | undefined;
  readonly feedback?: string | null | undefined;
}

/** Cancels the subscription now, on request. */
export function cancelNow(
  store: Store,
  before: Subscription,
  { prorates, invoicesNow, comment, feedback }: Cancellation,
): Subscription {
  if (prorates) for (const item of unusedTime(store, before)) addInvoiceItem(store, item);
  const canceled = cancelSubscription(store, before, 'cancellation_requested', { comment, feedback });
  if (!invoicesNow || pendingOf(store, canceled).length === 0) return canceled;
  const draft = finalDraft(store, canceled, 'subscription_update', store.now());
  const ended = store.change(store.subscriptions, canceled, { latest_invoice: draft.id });
  const invoice = finalizeInvoice(store, draft);
  if (invoice.amount_due === 0) invoicePaid(store, invoice);
  else collectInvoice(store, invoice, { offSession: true });
  return store.subscriptions.get(before.id) ?? ended;
}

/** The last invoice, with the items that wait for one. */
function finalDraft(
  store: Store,
  canceled: Subscription,
  reason: 'subscription_cycle' | 'subscription_update',
  periodEnd: number,
): Invoice {
  return draftSubscriptionInvoice(store, canceled, {
    reason,
    lines: [],
    periodStart: periodOf(canceled).start,
    periodEnd,
    autoAdvance: canceled.pause_collection === null,
  });
}

function expire(store: Store, subscription: Subscription): void {
  const invoice = store.invoices.get(subscription.latest_invoice);
  if (invoice?.status === 'open') voidInvoice(store, invoice);
  updateSubscription(store, subscription, { status: 'incomplete_expired', ended_at: store.now() });
}

function renew(store: Store, before: Subscription): void {
  const previous = periodOf(before);
  const endedTrial = before.status === 'trialing';
  if (endedTrial && endsWithoutMethod(store, before)) return;
  const { items, lines } = renewal(store, before, previous.end);
  const renewed: Subscription = { ...before, items, status: endedTrial ? 'active' : before.status };
  const invoice = draftSubscriptionInvoice(store, renewed, {
    reason: 'subscription_cycle',
    lines,
    periodStart: previous.start,
    periodEnd: previous.end,
    // An unpaid subscription keeps creating drafts, but they are not collected.
    autoAdvance: before.status !== 'unpaid' && before.pause_collection === null,
  });
  const { id: _, object: __, ...changes } = { ...renewed, latest_invoice: invoice.id };
  updateSubscription(store, before, changes);
  if (before.pause_collection !== null) settlePaused(store, invoice, before.pause_collection.behavior);
}

/** Cancels or pauses a trial that ends without a payment method, if configured. Returns true if it did. */
export function endsWithoutMethod(store: Store, subscription: Subscription): boolean {
  const wanted = subscription.trial_settings?.end_behavior.missing_payment_method ?? 'create_invoice';
  const invoice = store.invoices.get(subscription.latest_invoice);
  if (wanted === 'create_invoice' || (invoice !== undefined && methodFor(store, invoice) !== undefined))
    return false;
  if (wanted === 'cancel') cancelSubscription(store, subscription, 'cancellation_requested');
  else pauseSubscription(store, subscription, 'trial_end_without_payment_method');
  return true;
}
