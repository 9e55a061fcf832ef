import { type PlannedChange, planChange } from '../billing/planned-change.ts';
import { changedItems } from '../billing/update-subscription.ts';
import type { Subscription } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import { applyMetadata, array, bool, integer, metadata, object, type Parsed, text } from '../wire/params.ts';
import { badParam, wrongState } from '../wire/wire-error.ts';
import {
  type anchorParam,
  billablePrice,
  checkAlike,
  itemsMax,
  type prorationBehavior,
  quantityMax,
} from './subscription-params.ts';

export const itemsParam = array(
  object({ id: text(), price: text(), quantity: integer(0, quantityMax), deleted: bool, metadata }),
  itemsMax,
);

type ChangeParams = Partial<
  Parsed<{
    items: typeof itemsParam;
    billing_cycle_anchor: typeof anchorParam;
    proration_behavior: typeof prorationBehavior;
    proration_date: ReturnType<typeof integer>;
  }>
>;

/** The change of items in the parameters. Null if there is none. */
export function planFrom(call: Call, before: Subscription, params: ChangeParams): PlannedChange | null {
  const { items, billing_cycle_anchor: anchor } = params;
  if (items === undefined && anchor?.type !== 'now') return null;
  if (before.status === 'incomplete')
    throw wrongState('The items of a subscription cannot be changed until its first invoice is paid.');
  return planChange(call.store, before, {
    items: items === undefined ? before.items : itemsFrom(call, before, items),
    anchor: anchor?.type ?? null,
    proration: params.proration_behavior ?? 'create_prorations',
    prorationDate: params.proration_date ?? null,
  });
}

function itemsFrom(
  { store }: Call,
  before: Subscription,
  given: NonNullable<ChangeParams['items']>,
): Subscription['items'] {
  const changes = given.map((item, index) => ({
    id: item.id,
    price: item.price === undefined ? undefined : billablePrice(store, item.price, `items[${index}][price]`),
    quantity: item.quantity,
    metadata: item.metadata === undefined ? undefined : applyMetadata({}, item.metadata),
    deleted: item.deleted ?? false,
  }));
  const items = changedItems(store, before, changes);
  checkAlike(items.data.map(({ price }) => price));
  if (items.data[0]?.price.currency !== before.currency)
    throw badParam(`The price must be in ${before.currency}, the currency of the subscription.`, 'items');
  return items;
}
