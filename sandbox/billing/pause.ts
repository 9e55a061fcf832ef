import type { Store } from '../state/store.ts';
import type { Invoice, Subscription } from '../wire/objects.ts';
import { wrongState } from '../wire/wire-error.ts';
import { collectInvoice, invoicePaid } from './collect.ts';
import * as invoicing from './invoice.ts';
import { subscriptionOf } from './invoice-payment.ts';
import { isResumption, leavePaused, updateSubscription } from './subscription-change.ts';
import { invoiceLines, periodOf, startedAt } from './subscription-items.ts';

/** The processor voids the invoice of a resumption after 23 hours without a payment attempt. */
const resumptionSeconds = 23 * 60 * 60;

/** What happens to an invoice that is created while the collection of payments is paused. */
export function settlePaused(
  store: Store,
  draft: Invoice,
  behavior: NonNullable<Subscription['pause_collection']>['behavior'],
): void {
  if (behavior === 'keep_as_draft') return;
  const open = invoicing.finalizeInvoice(store, draft, { isCollected: false });
  if (behavior === 'void') invoicing.voidInvoice(store, open);
  else invoicing.markInvoiceUncollectible(store, open);
}

interface Resumption {
  readonly anchor: 'now' | 'unchanged';
  /** Charges the invoice at once, and keeps the subscription paused until the payment succeeds. */
  readonly onSuccess: boolean;
}

/**
 * Resumes a paused subscription. With a new anchor, a new period starts and its invoice must be paid first. With the
 * old anchor, the subscription is active at once: the sandbox does not prorate, so there is nothing to pay.
 */
export function resumeSubscription(
  store: Store,
  before: Subscription,
  { anchor, onSuccess }: Resumption,
): Subscription {
  const moved = withNewPeriod(store, before, anchor);
  const latest = store.invoices.get(before.latest_invoice);
  if (latest?.status === 'open' && isResumption(before, latest))
    throw wrongState(`The subscription is already being resumed. Pay or void its invoice ${latest.id}.`);
  const { billing_cycle_anchor, items } = moved;
  if (anchor === 'unchanged')
    return leavePaused(store, before, { billing_cycle_anchor, items, status: 'active' });
  const draft = invoicing.draftSubscriptionInvoice(store, moved, {
    reason: 'subscription_update',
    ...billOf(store, before, moved),
    autoAdvance: onSuccess,
  });
  updateSubscription(store, before, { billing_cycle_anchor, items, latest_invoice: draft.id });
  const invoice = invoicing.finalizeInvoice(store, draft);
  if (invoice.amount_due === 0) invoicePaid(store, invoice);
  else if (onSuccess) collectInvoice(store, invoice, { offSession: true });
  return store.subscriptions.get(before.id) ?? moved;
}

/** The subscription in its new period. */
export function withNewPeriod(
  store: Store,
  before: Subscription,
  anchor: Resumption['anchor'],
): Subscription {
  if (before.status !== 'paused')
    throw wrongState(`Only a paused subscription can be resumed. This one is ${before.status}.`);
  const now = store.now();
  const anchored = anchor === 'now' ? { ...before, billing_cycle_anchor: now } : before;
  return { ...anchored, items: startedAt(before.items, anchored.billing_cycle_anchor, now) };
}

/** What the invoice of the new period contains. */
export function billOf(store: Store, before: Subscription, moved: Subscription) {
  return {
    lines: invoiceLines(store, moved),
    periodStart: periodOf(before).start,
    periodEnd: store.now(),
  };
}

/** When the invoice of a resumption expires. Null for any other invoice, and after a payment attempt. */
export function resumptionExpiresAt(store: Store, invoice: Invoice): number | null {
  const subscription = subscriptionOf(store, invoice);
  const resumes = subscription !== undefined && isResumption(subscription, invoice);
  const { finalized_at: finalizedAt } = invoice.status_transitions;
  if (!resumes || invoice.status !== 'open' || invoice.attempted || finalizedAt === null) return null;
  return finalizedAt + resumptionSeconds;
}
