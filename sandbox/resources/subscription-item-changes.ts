import { type PlannedChange, planChange } from '../billing/planned-change.ts';
import { changedItems } from '../billing/update-subscription.ts';
import type { Subscription } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { badParam, wrongState } from '../wire/wire-error.ts';
import {
  type anchorParam,
  checkIntervals,
  checkQuantity,
  itemPrice,
  itemPriceFields,
  itemsMax,
  type prorationBehavior,
  quantityMax,
} from './subscription-params.ts';
import { taxRatesFrom } from './tax-rates.ts';

export const itemFields = { ...itemPriceFields, quantity: p.integer(0, quantityMax), metadata: p.metadata };
const changeFields = { ...itemFields, id: p.text(), deleted: p.bool, clear_usage: p.bool };
export const itemsParam = p.array(p.object(changeFields), itemsMax);

type ChangeParams = Partial<
  p.Parsed<{
    items: p.Parser<readonly Partial<p.Parsed<typeof changeFields>>[]>;
    billing_cycle_anchor: typeof anchorParam;
    proration_behavior: typeof prorationBehavior;
    proration_date: ReturnType<typeof p.integer>;
  }>
>;

/**
 * The change of items in the parameters. Null if there is none. For errors, `path` is the name of the list, or null if
 * the parameters are those of a single item.
 */
export function planFrom(
  call: Call,
  before: Subscription,
  params: ChangeParams,
  path: string | null = 'items',
): PlannedChange | null {
  const { items, billing_cycle_anchor: anchor } = params;
  if (items === undefined && anchor?.type !== 'now') return null;
  if (before.status === 'incomplete')
    throw wrongState('The items of a subscription cannot be changed until its first invoice is paid.');
  return planChange(call.store, before, {
    items: items === undefined ? before.items : itemsFrom(call, before, items, path),
    anchor: anchor?.type ?? null,
    proration: params.proration_behavior ?? 'create_prorations',
    prorationDate: params.proration_date ?? null,
  });
}

function itemsFrom(
  { store }: Call,
  before: Subscription,
  given: NonNullable<ChangeParams['items']>,
  path: string | null,
): Subscription['items'] {
  const { currency, billing_mode: mode } = before;
  if (mode.type === 'flexible' && given.some(({ clear_usage: clears }) => clears !== undefined))
    throw badParam(
      'With `billing_mode.type=flexible` set on a subscription, the following parameters are not supported: clear_usage.',
    );
  const changes = given.map(({ deleted = false, tax_rates: rates, ...item }, index) => {
    const param = (field: string) => (path === null ? field : `${path}[${index}][${field}]`);
    const price = itemPrice(store, item, param, currency);
    if (price !== undefined && price.currency !== currency)
      throw badParam(
        `The price specified only supports \`${price.currency}\`. This doesn't match the expected currency: \`${currency}\`.`,
        param('price'),
      );
    const known = before.items.data.find(({ id }) => id === item.id)?.price;
    checkQuantity(price ?? known, item.quantity, param('quantity'));
    const { id, quantity, metadata: change } = item;
    const taxRates = rates === undefined ? undefined : taxRatesFrom(store, rates, param('tax_rates'));
    return { id, quantity, metadata: change, price, deleted, param, taxRates };
  });
  const items = changedItems(store, before, changes);
  if (items.data.length > itemsMax)
    throw badParam(`A subscription can have at most ${itemsMax} items.`, path ?? 'price');
  checkIntervals(
    items.data.map(({ price }) => price),
    mode.type,
  );
  return items;
}
