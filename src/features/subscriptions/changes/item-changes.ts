import { isMarked, mainItem, type PlanOf } from '#core/model/subscription-items.ts';
import type { ChangeableItem, ItemChange } from '#processor/port/subscription-changes.ts';

/** A price that a subscription is to bill. */
export interface WantedItem {
  readonly processorPriceId: string;
  readonly quantity: number;
}

/** Everything that a subscription is to bill, apart from items that are not Till plans. */
interface WantedItems {
  readonly main: WantedItem;
  readonly addOns: readonly WantedItem[];
}

export interface ItemChanges {
  /** Empty if the items are as wanted. */
  readonly changes: readonly ItemChange[];
  /** The item of the main plan after the change. Null if it is new. */
  readonly processorMainItemId: string | null;
}

/**
 * How the items of a subscription become the wanted ones. The processor refuses a second item with the same price, so a
 * price stays on the item that has it. A new main plan gets the item of the old one, unless that stays as an add-on, or
 * was removed elsewhere.
 */
export function itemChanges(
  items: readonly ChangeableItem[],
  currentMain: ChangeableItem | undefined,
  { main, addOns }: WantedItems,
): ItemChanges {
  const wanted = [main, ...addOns];
  const holderOf = (price: string) => items.find(({ processorPriceId }) => processorPriceId === price);
  const isWanted = (item: ChangeableItem) =>
    wanted.some(({ processorPriceId }) => processorPriceId === item.processorPriceId);
  const replaced = currentMain === undefined || isWanted(currentMain) ? undefined : currentMain;
  const holder = holderOf(main.processorPriceId) ?? replaced;
  const set = wanted.flatMap((one) => changeOf(one === main ? holder : holderOf(one.processorPriceId), one));
  const removed = items
    .filter((item) => item !== holder && !isWanted(item))
    .map(({ processorItemId }) => ({ processorItemId, isRemoved: true as const }));
  return { changes: [...set, ...removed], processorMainItemId: holder?.processorItemId ?? null };
}

function changeOf(item: ChangeableItem | undefined, wanted: WantedItem): readonly ItemChange[] {
  if (item === undefined) return [{ processorItemId: null, ...wanted }];
  const { processorItemId } = item;
  // The processor sets the quantity to 1 if a change of price names none.
  if (item.processorPriceId !== wanted.processorPriceId) return [{ processorItemId, ...wanted }];
  // Usage has no quantity, and counts as one unit.
  return (item.quantity ?? 1) === wanted.quantity ? [] : [{ processorItemId, quantity: wanted.quantity }];
}

/**
 * Whether the wanted main plan needs a mark to be found. It does if the rules of `mainItem` would choose another item,
 * with the recorded main item or without it, as after the restore of a backup. A mark that names none of the items is
 * also replaced: someone could add the price that it names later, and that price would become the main plan. `planned`:
 * a schedule gives an item with another price another id.
 */
export function needsMainMark(
  { items, mainMark }: { readonly items: readonly ChangeableItem[]; readonly mainMark: string | null },
  currentMain: ChangeableItem,
  { wanted: { main }, changes, planned, planOf }: WantedMain,
): boolean {
  const after = [...items.flatMap((item) => kept(item, changes, planned)), ...added(items, changes, planned)];
  const [first, ...others] = after;
  if (first === undefined) return false;
  if (mainMark !== null && !after.some((item) => isMarked(item, mainMark))) return true;
  return [currentMain.processorItemId, null].some((processorMainItemId) => {
    const found = mainItem({ items: [first, ...others], mainMark }, { processorMainItemId }, planOf);
    return found?.processorPriceId !== main.processorPriceId;
  });
}

interface WantedMain {
  readonly wanted: WantedItems;
  readonly changes: readonly ItemChange[];
  readonly planned: boolean;
  /** Also finds the wanted plans, which may not be on the subscription yet. */
  readonly planOf: PlanOf;
}

function kept(
  item: ChangeableItem,
  changes: readonly ItemChange[],
  planned: boolean,
): readonly ChangeableItem[] {
  const change = changes.find(({ processorItemId }) => processorItemId === item.processorItemId);
  if (change === undefined) return [item];
  if ('isRemoved' in change) return [];
  const { processorPriceId = item.processorPriceId } = change;
  if (planned && processorPriceId !== item.processorPriceId) return [];
  return [{ ...item, processorPriceId }];
}

/** New items are the youngest. Their ids are not known yet. */
function added(
  [item]: readonly ChangeableItem[],
  changes: readonly ItemChange[],
  planned: boolean,
): readonly ChangeableItem[] {
  if (item === undefined) return [];
  return changes.flatMap((change) => {
    if ('isRemoved' in change || change.processorPriceId === undefined) return [];
    const isNew = change.processorItemId === null || planned;
    return isNew ? [{ ...item, processorItemId: '', processorPriceId: change.processorPriceId }] : [];
  });
}
