import type { Store } from '../state/store.ts';
import { nulls } from '../wire/nulls.ts';
import type { Invoice, Subscription } from '../wire/objects.ts';
import { voidInvoice } from './invoice.ts';
import { updateSubscription } from './subscription-change.ts';
import { periodOf } from './subscription-items.ts';

/** The processor discards a pending update after 23 hours. */
const pendingSeconds = 23 * 60 * 60;

/** Keeps the subscription unchanged, and stores the changes that apply once the invoice is paid. */
export function holdUpdate(
  store: Store,
  before: Subscription,
  invoice: string,
  changes: Partial<Subscription>,
  metadata: Record<string, string> | null,
): Subscription {
  const { billing_cycle_anchor: anchor, items, cancel_at_period_end: cancels } = changes;
  return updateSubscription(store, before, {
    latest_invoice: invoice,
    pending_update: {
      billing_cycle_anchor: anchor === undefined || anchor === before.billing_cycle_anchor ? null : anchor,
      cancel_at_period_end: cancels === undefined || cancels === before.cancel_at_period_end ? null : cancels,
      ...nulls('discount discounts trial_end trial_from_plan'),
      expires_at: Math.min(store.now() + pendingSeconds, periodOf(before).end),
      metadata,
      subscription_items: items?.data ?? null,
    },
  });
}

/** The invoice whose payment applies the pending update. */
export function isPendingInvoice(subscription: Subscription, invoice: Pick<Invoice, 'id'>): boolean {
  return subscription.pending_update !== null && subscription.latest_invoice === invoice.id;
}

/** The invoice is paid: applies the changes. */
export function applyUpdate(store: Store, before: Subscription): Subscription {
  const { pending_update: pending } = before;
  if (pending === null) return before;
  const items =
    pending.subscription_items === null
      ? before.items
      : { ...before.items, data: pending.subscription_items };
  const cancels = pending.cancel_at_period_end ?? before.cancel_at_period_end;
  const after = store.update('customer.subscription.pending_update_applied', store.subscriptions, before, {
    pending_update: null,
    items,
    billing_cycle_anchor: pending.billing_cycle_anchor ?? before.billing_cycle_anchor,
    metadata: { ...before.metadata, ...pending.metadata },
    cancel_at_period_end: cancels,
    ...(cancels ? { cancel_at: periodOf({ ...before, items }).end } : {}),
    ...(cancels && !before.cancel_at_period_end ? { canceled_at: store.now() } : {}),
    ...(before.cancel_at_period_end && !cancels ? { cancel_at: null, canceled_at: null } : {}),
  });
  store.emitUpdated('customer.subscription.updated', before, after);
  return after;
}

/** Discards the changes and voids their invoice. */
export function dropUpdate(
  store: Store,
  before: Subscription,
  { expires }: { readonly expires: boolean },
): Subscription {
  if (before.pending_update === null) return before;
  const invoice = store.invoices.get(before.latest_invoice);
  if (invoice?.status === 'open' || invoice?.status === 'uncollectible') voidInvoice(store, invoice);
  // Voiding the invoice can give back a discount.
  const current = store.subscriptions.get(before.id) ?? before;
  const after = store.change(store.subscriptions, current, { pending_update: null });
  if (expires) store.emit('customer.subscription.pending_update_expired', after);
  store.emitUpdated('customer.subscription.updated', current, after);
  return after;
}
