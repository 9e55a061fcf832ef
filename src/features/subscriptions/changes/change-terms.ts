import { Failure, invalidRequest, requireFound } from '#core/errors.ts';
import { type Plan, planArchived } from '#core/model/plan.ts';
import { hasEnded, type Subscription } from '#core/model/subscription.ts';
import { followedItem, isMarked, mainItem, type PlanOf } from '#core/model/subscription-items.ts';
import type {
  ChangeableItem,
  ChangeableSubscription,
  ItemChange,
  ItemsChange,
} from '#processor/port/subscription-changes.ts';
import type { PlanService } from '../../plans/plan-service.ts';
import {
  intervalMismatch,
  intervalOf,
  type ListedPlan,
  requireAddOn,
  requireMainPlan,
  requireSameCurrency,
} from '../add-ons.ts';
import type { SubscriptionContext } from '../subscription-creation.ts';
import type { TermsChange, WantedTerms } from './subscription-patch.ts';

/** What a change of plans or quantities depends on. */
export interface ChangePlans {
  readonly subscription: Subscription;
  /** The requested main plan. Null if it does not change. */
  readonly wanted: Plan | null;
  /** All requested add-ons. Null if they stay. */
  readonly addOns: readonly ListedPlan[] | null;
}

/** The items after the change, and what that means for the subscription. */
export interface ChangeTarget extends ItemChanges {
  /** The item of the main plan before the change. Its period is the subscription's. */
  readonly item: ChangeableItem;
  /** The main plan before the change. Undefined if its price is not a Till plan. */
  readonly currentPlan: Plan | undefined;
  /** The mark that the change must set: the item, or the price, of the main plan. Null if none is needed. */
  readonly mainMark: string | null;
  /** The same for a change at the end of the period. */
  readonly plannedMainMark: string | null;
  /** The subscription has these plans and quantities already. */
  readonly isUnchanged: boolean;
  /** The wanted main plan bills in another interval. */
  readonly isOtherInterval: boolean;
  /** The interval changes, or a free subscription becomes a paid one. */
  readonly changesPeriod: boolean;
  /** A new period starts with the change. In some billing modes the processor does not start one by itself. */
  readonly startsPeriod: boolean;
  /** A period costs less than before, or the processor does not show what it costs now. */
  readonly isCheaper: boolean;
}

/** Reads the plans of a change. Fails if the subscription has ended, or cannot get one of them. */
export async function plansOfChange(
  plans: PlanService,
  subscription: Subscription,
  { planId, addOns }: WantedTerms,
): Promise<ChangePlans> {
  if (hasEnded(subscription.status)) throw subscriptionEnded();
  if (planId === undefined && addOns?.some((one) => one.planId === subscription.planId))
    throw mainPlanListed(subscription.planId);
  const ids = addOns?.map((addOn) => addOn.planId) ?? [];
  const [main, ...listed] = await Promise.all([planId ?? null, ...ids].map((id) => id && plans.find(id)));
  // A subscription keeps a plan that was archived since, or that is not an add-on.
  const has = new Set([subscription.planId, ...subscription.addOns.map((addOn) => addOn.planId)]);
  return {
    subscription,
    wanted: planId === undefined ? null : mainPlan(main || undefined, subscription, has),
    addOns:
      addOns?.map(({ planId: id, quantity }, index) => {
        const plan = listed[index] || undefined;
        return { plan: has.has(id) ? requireFound('plan', plan) : requireAddOn(plan), quantity };
      }) ?? null,
  };
}

function mainPlan(found: Plan | undefined, { planId }: Subscription, has: ReadonlySet<string>): Plan {
  const plan = requireFound('plan', found);
  if (plan.id === planId) return plan;
  if (!plan.active && !has.has(plan.id)) throw planArchived();
  return requireMainPlan(plan);
}

function mainPlanListed(planId: string): Failure {
  return invalidRequest('body.addOns', `must not contain the main plan, ${planId}`);
}

/** The plans that a request names. */
export function planIdsOf({ planId, addOns = [] }: WantedTerms): readonly string[] {
  return [...(planId === undefined ? [] : [planId]), ...addOns.map((addOn) => addOn.planId)];
}

/** What the change does to the processor's subscription. Fails if its state forbids the change. */
export async function readTarget(
  { database, mirror }: Pick<SubscriptionContext, 'database' | 'mirror'>,
  found: ChangeableSubscription,
  change: WantedTerms,
  plans: ChangePlans,
): Promise<ChangeTarget> {
  refuseChangeIn(found.subscription.status);
  return targetOf(found, change, plans, await mirror.findPlans(database, found.subscription));
}

function targetOf(
  found: ChangeableSubscription,
  change: WantedTerms,
  plans: ChangePlans,
  planOf: (processorPriceId: string) => Plan | undefined,
): ChangeTarget {
  const { subscription, wanted } = plans;
  const listing = { items: found.items, mainMark: found.subscription.mainMark };
  const item = followedItem(listing, subscription, planOf);
  const currentMain = isOther(item, subscription, planOf) ? undefined : item;
  const ofTill = found.items.filter(
    (one) => one === currentMain || planOf(one.processorPriceId) !== undefined,
  );
  const processorPriceId = wanted?.processorPriceId ?? currentMain?.processorPriceId;
  if (processorPriceId === undefined) throw mainPlanMissing();
  const main = { processorPriceId, quantity: change.quantity ?? currentMain?.quantity ?? 1 };
  const addOns = wantedAddOns(ofTill, item, main, plans);
  refuseItems(found, ofTill, item, addOns, plans);
  const wantedItems = { main, addOns };
  const items = itemChanges(ofTill, currentMain, wantedItems);
  const isOtherInterval = wanted !== null && intervalOf(wanted) !== item.interval;
  const mainCost = {
    ...main,
    ...(wanted === null ? item : { interval: intervalOf(wanted), unitAmount: wanted.amount }),
    quantity: main.quantity,
  };
  const { isFreeNow, isPaidAfter, isCheaper } = amountsOf(found.items, ofTill, [mainCost, ...addOns]);
  const changesPeriod = isOtherInterval || (isFreeNow && isPaidAfter);
  const planAfter = (price: string) =>
    [wanted, ...(plans.addOns ?? []).map(({ plan }) => plan)].find(
      (plan) => plan?.processorPriceId === price,
    ) ?? planOf(price);
  const needsMark = (planned: boolean) =>
    needsMainMark(listing, item, {
      ...{ wanted: wantedItems, changes: items.changes, planned, planOf: planAfter },
    });
  return {
    ...items,
    item,
    currentPlan: planOf(item.processorPriceId),
    mainMark: needsMark(false) ? (items.processorMainItemId ?? main.processorPriceId) : null,
    plannedMainMark: needsMark(true) ? main.processorPriceId : null,
    isUnchanged: items.changes.length === 0 && items.processorMainItemId === item.processorItemId,
    isOtherInterval,
    changesPeriod,
    // In a trial, the new plan is billed from the end of the trial, so no period starts. No period starts in a pause
    // either.
    startsPeriod: changesPeriod && found.subscription.status !== 'trialing' && !found.isPaused,
    isCheaper,
  };
}

/**
 * Whether the item does not belong to Till: it is not a plan, and it is not the item of the main plan whose price was
 * changed elsewhere.
 */
function isOther(
  { processorItemId, processorPriceId }: ChangeableItem,
  { processorMainItemId }: Subscription,
  planOf: (processorPriceId: string) => Plan | undefined,
): boolean {
  return processorItemId !== processorMainItemId && planOf(processorPriceId) === undefined;
}

function mainPlanMissing(): Failure {
  return invalidRequest(
    'body.planId',
    'is needed: the processor no longer bills a plan in this subscription',
  );
}

/** An add-on that becomes the main plan is no longer an add-on. */
function wantedAddOns(
  ofTill: readonly ChangeableItem[],
  item: ChangeableItem,
  main: WantedItem,
  { addOns }: ChangePlans,
): readonly (WantedItem & Pick<ChangeableItem, 'interval' | 'unitAmount'>)[] {
  if (addOns !== null)
    return addOns.map(({ plan, quantity }) => ({
      ...{ processorPriceId: plan.processorPriceId, quantity, interval: intervalOf(plan) },
      unitAmount: plan.amount,
    }));
  return ofTill
    .filter((one) => one !== item && one.processorPriceId !== main.processorPriceId)
    .map((one) => ({ ...one, quantity: one.quantity ?? 1 }));
}

/** A plan that the subscription already has may stay, unless the main plan gets another interval. */
function refuseItems(
  { items, currency }: ChangeableSubscription,
  ofTill: readonly ChangeableItem[],
  item: ChangeableItem,
  wantedItems: readonly (WantedItem & Pick<ChangeableItem, 'interval'>)[],
  { wanted, addOns }: ChangePlans,
): void {
  const interval = wanted === null ? item.interval : intervalOf(wanted);
  const isNew = ({ processorPriceId }: { readonly processorPriceId: string }) =>
    !ofTill.some((one) => one.processorPriceId === processorPriceId);
  for (const plan of [wanted, ...(addOns ?? []).map((addOn) => addOn.plan)])
    if (plan !== null && isNew(plan)) requireSameCurrency(plan, { currency });
  const isOtherInterval = interval !== item.interval;
  const others = items.filter((one) => !ofTill.includes(one));
  const checked = isOtherInterval ? [...wantedItems, ...others] : wantedItems.filter(isNew);
  const other = checked.find((one) => one.interval !== interval);
  if (other !== undefined) throw intervalMismatch(other.processorPriceId, other.interval, interval);
}

/** A price with what a unit costs. Null if that is not one whole amount. */
interface Cost {
  readonly processorPriceId: string;
  readonly quantity: number | null;
  readonly interval: string;
  readonly unitAmount: number | null;
}

/** What a period costs before and after the change. Usage is billed afterwards, and does not count. */
function amountsOf(found: readonly Cost[], before: readonly Cost[], after: readonly Cost[]) {
  const costOf = ({ unitAmount, quantity }: Cost) => (unitAmount ?? 0) * (quantity ?? 0);
  const sumOf = (costs: readonly Cost[]) => costs.reduce((sum, cost) => sum + costOf(cost), 0);
  // Amounts of different periods cannot be compared, so such a change counts as cheaper.
  const isComparable =
    before.every(({ unitAmount }) => unitAmount !== null) &&
    new Set([...before, ...after].map(({ interval }) => interval)).size === 1;
  return {
    isFreeNow: found.every(({ unitAmount, quantity }) => unitAmount === 0 || quantity === null),
    isPaidAfter: sumOf(after) > 0,
    isCheaper: !isComparable || sumOf(after) < sumOf(before),
  };
}

/** The change of the items, for the change itself or its preview. */
export function itemsChange(
  change: TermsChange,
  { changes, mainMark, startsPeriod, isOtherInterval }: ChangeTarget,
  { processorSubscriptionId }: Pick<Subscription, 'processorSubscriptionId'>,
): ItemsChange {
  const isNow = change.kind === 'now';
  const prorationDate = isNow ? change.prorationDate : undefined;
  return {
    processorSubscriptionId,
    items: changes,
    ...(mainMark === null ? {} : { mainMark }),
    proration: isNow ? change.proration : 'none',
    ...(prorationDate === undefined ? {} : { prorationDate: new Date(prorationDate) }),
    // At the end of a period a new one starts anyway.
    startsPeriod: startsPeriod && (isNow || isOtherInterval),
  };
}

/** Fails if only the metadata of a subscription in this status can change. */
export function refuseChangeIn(status: Subscription['status']): void {
  if (hasEnded(status)) throw subscriptionEnded();
  if (status === 'incomplete')
    throw new Failure(
      'subscription_incomplete',
      'The first payment of the subscription is not complete. Complete it, or cancel the subscription and create a ' +
        'new one.',
    );
}

function subscriptionEnded(): Failure {
  return new Failure('subscription_ended', 'The subscription has ended. Create a new one.');
}

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

interface ItemChanges {
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
