import type { Store } from '../state/store.ts';
import type { Price, Subscription, SubscriptionItem, TaxRate } from '../wire/objects.ts';
import { applyMetadata, type MetadataChange } from '../wire/params.ts';
import { badParam, missingParam } from '../wire/wire-error.ts';
import { applyChange } from './apply-change.ts';
import { restarted } from './planned-change.ts';
import { cycleAt, intervalOf, invoiceLines, newItem, startItem, withPrice } from './subscription-items.ts';

interface ItemChange {
  readonly id: string | undefined;
  readonly price: Price | undefined;
  readonly quantity: number | undefined;
  readonly metadata: MetadataChange | undefined;
  readonly deleted: boolean;
  readonly taxRates?: TaxRate[] | undefined;
  /** The name of a field of the change, for errors. */
  readonly param: (field: string) => string;
}

/**
 * The items after the changes, which apply together. A change with an id updates or removes that item. A change without
 * an id adds an item, whose first period is the rest of the current one.
 */
export function changedItems(
  store: Store,
  subscription: Subscription,
  changes: readonly ItemChange[],
): Subscription['items'] {
  let items = subscription.items.data;
  for (const change of changes) {
    if (change.id === undefined) {
      items = [...items, addedItem(store, subscription, change)];
      continue;
    }
    const existing = items.find(({ id }) => id === change.id);
    if (existing === undefined)
      throw badParam(`No such subscription item: '${change.id}'`, change.param('id'), 'resource_missing');
    items = items.flatMap((item) => {
      if (item !== existing) return [item];
      return change.deleted ? [] : [changedItem(store, subscription, item, change)];
    });
  }
  if (items.length === 0)
    throw badParam(
      'A subscription must have at least one active plan. To cancel a subscription, please use the cancel API endpoint on /v1/subscriptions.',
    );
  checkPricesDiffer(items);
  return { ...subscription.items, data: items };
}

function addedItem(store: Store, subscription: Subscription, change: ItemChange): SubscriptionItem {
  const { price, quantity, metadata, param, taxRates = [] } = change;
  if (price === undefined) throw missingParam(param('price'));
  const now = store.now();
  const { end } = cycleAt(price, subscription.billing_cycle_anchor, now);
  const fields = { quantity, metadata: applyMetadata({}, metadata), start: now, end, taxRates };
  return newItem(store, subscription.id, price, fields);
}

/** Another price resets the quantity. Another interval starts a period, except in a trial. */
function changedItem(
  store: Store,
  { status, billing_cycle_anchor: anchor }: Subscription,
  item: SubscriptionItem,
  { price = item.price, quantity, metadata, taxRates = item.tax_rates ?? [] }: ItemChange,
): SubscriptionItem {
  const changed = {
    ...withPrice(item, price, price.id === item.price.id ? (quantity ?? item.quantity) : quantity),
    metadata: applyMetadata(item.metadata, metadata),
    tax_rates: taxRates,
  };
  const moves = intervalOf(price) !== intervalOf(item.price) && status !== 'trialing' && status !== 'paused';
  return moves ? startItem(changed, anchor, store.now()) : changed;
}

function checkPricesDiffer(items: readonly SubscriptionItem[]): void {
  for (const [index, { price }] of items.entries()) {
    const other = items.slice(0, index).find((item) => item.price.id === price.id);
    if (other !== undefined)
      throw badParam(
        `A new item with Price ${price.id} can't be added to this Subscription because an existing Subscription Item ${other.id} is already using that Price. If you want to update the existing item (e.g., to adjust the quantity), pass the existing Subscription Item's \`id\` in your update request: https://stripe.com/docs/api/subscriptions/update#update_subscription-items-id`,
        'plan',
      );
  }
}

/** Starts a new period with these changes, billed immediately and in full. */
export function startPeriodNow(
  store: Store,
  before: Subscription,
  changes: Partial<Subscription>,
): Subscription {
  const moved = restarted(store, { ...before, ...changes }, changes.items ?? before.items);
  const { items, billing_cycle_anchor, cancel_at } = moved;
  return applyChange(
    store,
    before,
    {
      subscription: moved,
      prorations: [],
      bill: { lines: invoiceLines(store, moved), includesPending: true },
    },
    { ...changes, items, billing_cycle_anchor, cancel_at },
    { behavior: 'allow_incomplete', offSession: true, isPlanned: true },
  );
}
