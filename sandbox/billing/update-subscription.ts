import type { Store } from '../state/store.ts';
import type { Price, Subscription } from '../wire/objects.ts';
import { badParam } from '../wire/wire-error.ts';
import { collectInvoice } from './collect.ts';
import { draftSubscriptionInvoice, finalizeInvoice } from './invoice.ts';
import { updateSubscription } from './subscription-change.ts';
import { invoiceLines, newItem, nextPeriodEnd, periodOf, planOf, withPeriod } from './subscription-items.ts';

interface ItemChange {
  readonly id: string | undefined;
  readonly price: Price | undefined;
  readonly quantity: number | undefined;
  readonly metadata: Record<string, string> | undefined;
  readonly deleted: boolean;
}

/** The items after the changes. A change with an id updates that item; a change without one adds an item. */
export function changedItems(
  store: Store,
  subscription: Subscription,
  changes: readonly ItemChange[],
): Subscription['items'] {
  const { start, end } = periodOf(subscription);
  let items = subscription.items.data;
  for (const [index, change] of changes.entries()) {
    if (change.id === undefined) {
      if (change.price === undefined)
        throw badParam(
          `Missing required param: items[${index}][price].`,
          `items[${index}][price]`,
          'parameter_missing',
        );
      const made = { quantity: change.quantity ?? 1, metadata: change.metadata ?? {}, start, end };
      items = [...items, newItem(store, subscription.id, change.price, made)];
      continue;
    }
    const existing = items.find(({ id }) => id === change.id);
    if (existing === undefined)
      throw badParam(`No such subscription item: '${change.id}'`, `items[${index}][id]`, 'resource_missing');
    const { price = existing.price } = change;
    const changed = {
      ...existing,
      price,
      plan: planOf(price),
      quantity: change.quantity ?? existing.quantity ?? 1,
      metadata: change.metadata ?? existing.metadata,
    };
    items = items.flatMap((item) => (item !== existing ? [item] : change.deleted ? [] : [changed]));
  }
  if (items.length === 0) throw badParam('A subscription must have at least one active price.', 'items');
  return { ...subscription.items, data: items };
}

/**
 * Moves the subscription to other prices without proration. With the same interval, the new price applies from the next
 * renewal. With another interval, a new period starts immediately and is billed in full.
 */
export function changeItems(
  store: Store,
  before: Subscription,
  items: Subscription['items'],
  baseUrl: string,
): Subscription {
  const isSameInterval = intervalOf(before.items) === intervalOf(items);
  if (isSameInterval || ['trialing', 'incomplete', 'paused'].includes(before.status))
    return updateSubscription(store, before, { items });
  return startPeriodNow(store, before, { items }, baseUrl);
}

/** Starts a new period with these changes, billed immediately and in full. */
export function startPeriodNow(
  store: Store,
  before: Subscription,
  changes: Partial<Subscription>,
  baseUrl: string,
): Subscription {
  const now = store.now();
  const anchored: Subscription = { ...before, ...changes, billing_cycle_anchor: now };
  const end = nextPeriodEnd(anchored, now);
  const moved = { ...anchored, items: withPeriod(anchored.items, now, end) };
  const draft = draftSubscriptionInvoice(store, moved, {
    reason: 'subscription_update',
    lines: invoiceLines(moved, now, end, false),
    periodStart: periodOf(before).start,
    periodEnd: now,
    autoAdvance: true,
  });
  updateSubscription(store, before, {
    ...changes,
    items: moved.items,
    billing_cycle_anchor: now,
    latest_invoice: draft.id,
    ...(before.cancel_at_period_end ? { cancel_at: end } : {}),
  });
  collectInvoice(store, finalizeInvoice(store, draft, baseUrl), { offSession: true, baseUrl });
  return store.subscriptions.get(before.id) ?? moved;
}

export function intervalOf(items: Subscription['items']): string {
  const recurring = items.data[0]?.price.recurring;
  return `${recurring?.interval_count} ${recurring?.interval}`;
}
