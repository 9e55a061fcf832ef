import type { PriceObstacle } from './price-obstacle.ts';

/** Returns the Till plan with this price, if there is one. */
export type PlanOf = (processorPriceId: string) => KnownPlan | undefined;

/** What the rules about items need to know of a Till plan. */
export interface KnownPlan {
  readonly id: string;
  /** It is sold only together with a main plan. */
  readonly addOn: boolean;
}

/** An add-on of a subscription. */
export interface PlanQuantity {
  readonly planId: string;
  readonly quantity: number;
}

/** What the processor bills in a subscription that is not a Till plan. */
interface OtherItem {
  readonly processorPriceId: string;
  /** Null if usage decides what is billed. */
  readonly quantity: number | null;
  /** The processor's name of the price. */
  readonly description: string | null;
}

/** A price that a subscription bills, with its current period. */
export interface SubscriptionItemFacts {
  readonly processorItemId: string;
  readonly processorPriceId: string;
  /** Till's id of the plan, from the metadata of the price. Null if the price is not a Till plan. */
  readonly planLocalId: string | null;
  /** Why the price cannot be a Till plan. Absent if it can, or if the price is not shown. */
  readonly obstacle?: PriceObstacle;
  /** The processor's name of the price. */
  readonly nickname: string | null;
  /** Null if usage decides what is billed. */
  readonly quantity: number | null;
  readonly createdAt: Date;
  readonly currentPeriodStart: Date;
  readonly currentPeriodEnd: Date;
}

/** The items of a subscription, as facts show them. */
export interface ItemListFacts {
  /** Oldest first. Items of the same age are in the order of their ids. */
  readonly items: readonly [SubscriptionItemFacts, ...SubscriptionItemFacts[]];
  /** An event shows only the first ten items. */
  readonly hasMoreItems?: true;
  /**
   * The item that Till made the main plan: the processor's id of the item, or of its price. Null if there is no mark.
   */
  readonly mainMark: string | null;
}

/** What a row shows of the items. */
export interface ItemValues {
  readonly planId: string;
  readonly quantity: number;
  /** The other Till plans, in the order of `planId`. */
  readonly addOns: readonly PlanQuantity[];
  /** In the order of `processorPriceId`. */
  readonly otherItems: readonly OtherItem[];
  /** The processor's id of the main plan's item. */
  readonly processorMainItemId: string;
  readonly currentPeriodStart: Date | null;
  readonly currentPeriodEnd: Date | null;
}

interface ItemList<Item> extends Pick<ItemListFacts, 'mainMark'> {
  readonly items: readonly [Item, ...Item[]];
}

/** The id is null for a new row. */
export interface RecordedMain {
  readonly processorMainItemId: string | null;
}

/**
 * The item of the main plan. Undefined if no price is a Till plan. It is the item that Till's newest change has marked,
 * else the recorded one while it is there, so that an item that is added elsewhere does not take its place. Without
 * either, it is the oldest whose plan is not an add-on, else the oldest. See decision 0012.
 */
export function mainItem<Item extends SubscriptionItemFacts>(
  { items, mainMark }: ItemList<Item>,
  { processorMainItemId }: RecordedMain,
  planOf: PlanOf,
): Item | undefined {
  const ofTill = items.filter(({ processorPriceId }) => planOf(processorPriceId) !== undefined);
  return (
    ofTill.find((item) => isMarked(item, mainMark)) ??
    ofTill.find((item) => item.processorItemId === processorMainItemId) ??
    ofTill.find(({ processorPriceId }) => planOf(processorPriceId)?.addOn === false) ??
    ofTill[0]
  );
}

export function isMarked(
  item: { readonly processorItemId: string | null; readonly processorPriceId: string },
  mark: string | null,
): boolean {
  return mark !== null && (item.processorItemId === mark || item.processorPriceId === mark);
}

/** The item whose period the subscription shows. Without a Till plan it is the recorded one, else the oldest. */
export function followedItem<Item extends SubscriptionItemFacts>(
  facts: ItemList<Item>,
  recorded: RecordedMain,
  planOf: PlanOf,
): Item {
  const isRecorded = ({ processorItemId }: Item) => processorItemId === recorded.processorMainItemId;
  return mainItem(facts, recorded, planOf) ?? facts.items.find(isRecorded) ?? facts.items[0];
}

/** A price that is not a Till plan does not change the plan that the row shows. */
export function valuesOfItems(
  facts: ItemList<SubscriptionItemFacts>,
  recorded: RecordedMain & Pick<ItemValues, 'planId'>,
  planOf: PlanOf,
): ItemValues {
  const item = followedItem(facts, recorded, planOf);
  const plan = planOf(item.processorPriceId);
  return {
    planId: plan?.id ?? recorded.planId,
    quantity: item.quantity ?? 1,
    addOns: addOnsOf(facts.items, item, planOf),
    otherItems: otherItemsOf(facts.items, planOf),
    processorMainItemId: (plan === undefined ? recorded.processorMainItemId : null) ?? item.processorItemId,
    currentPeriodStart: item.currentPeriodStart,
    currentPeriodEnd: item.currentPeriodEnd,
  };
}

/** The Till plans of the items other than the main one, in the order of `planId`. */
export function addOnsOf<Item extends Pick<SubscriptionItemFacts, 'processorPriceId' | 'quantity'>>(
  items: readonly Item[],
  main: Item | undefined,
  planOf: PlanOf,
): readonly PlanQuantity[] {
  return items
    .flatMap((item) => {
      const plan = item === main ? undefined : planOf(item.processorPriceId);
      return plan === undefined ? [] : [{ planId: plan.id, quantity: item.quantity ?? 1 }];
    })
    .toSorted(by(({ planId }) => planId));
}

function otherItemsOf(items: readonly SubscriptionItemFacts[], planOf: PlanOf): readonly OtherItem[] {
  return items
    .filter(({ processorPriceId }) => planOf(processorPriceId) === undefined)
    .map(({ processorPriceId, quantity, nickname: description }) => ({
      ...{ processorPriceId, quantity, description },
    }))
    .toSorted(by(({ processorPriceId }) => processorPriceId));
}

/** Orders by a text, in the same order on every machine. */
export function by<Item>(textOf: (item: Item) => string): (a: Item, b: Item) => number {
  return (a, b) => (textOf(a) < textOf(b) ? -1 : 1);
}
