import type { Store } from '../state/store.ts';
import type { Price, Subscription } from '../wire/objects.ts';
import { badParam } from '../wire/wire-error.ts';
import { applyChange } from './apply-change.ts';
import { restarted } from './planned-change.ts';
import { invoiceLines, newItem, periodOf, planOf } from './subscription-items.ts';

export interface ItemChange {
  readonly id: string | undefined;
  readonly price: Price | undefined;
  readonly quantity: number | undefined;
  readonly metadata: Record<string, string> | undefined;
  readonly deleted: boolean;
}

/** The items after the changes. A change with an id updates that item. A change without an id adds an item. */
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
      const { id: priceId } = change.price;
      if (items.some(({ price }) => price.id === priceId))
        throw badParam(
          `Cannot add multiple subscription items with the same price: ${priceId}`,
          `items[${index}][price]`,
        );
      const fields = { quantity: change.quantity ?? 1, metadata: change.metadata ?? {}, start, end };
      items = [...items, newItem(store, subscription.id, change.price, fields)];
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

/** Starts a new period with these changes, billed immediately and in full. */
export function startPeriodNow(
  store: Store,
  before: Subscription,
  changes: Partial<Subscription>,
  baseUrl: string,
): Subscription {
  const moved = restarted(store, { ...before, ...changes }, changes.items ?? before.items);
  const { start, end } = periodOf(moved);
  const { items, billing_cycle_anchor, cancel_at } = moved;
  return applyChange(
    store,
    before,
    {
      subscription: moved,
      prorations: [],
      bill: { lines: invoiceLines(moved, start, end, false), includesPending: true },
    },
    { ...changes, items, billing_cycle_anchor, cancel_at },
    { behavior: 'allow_incomplete', offSession: true, baseUrl },
  );
}
