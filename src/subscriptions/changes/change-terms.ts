import { Failure } from '../../errors.ts';
import type { Plan } from '../../model/plan.ts';
import { hasEnded, type Subscription } from '../../model/subscription.ts';
import type { PlanService } from '../../plans/plan-service.ts';
import type {
  ChangeableItem,
  ChangeableSubscription,
  ItemChange,
} from '../../processor/port/subscription-changes.ts';
import type { TermsChange, WantedTerms } from './subscription-patch.ts';

/** What a change of plan or quantity depends on. */
export interface ChangePlans {
  readonly subscription: Subscription;
  /** The plan that the row has. */
  readonly currentPlan: Plan;
  /** The requested plan. Null if the plan does not change. */
  readonly wanted: Plan | null;
}

/** The item to change, and its values after the change. */
export interface ChangeTarget {
  readonly item: ChangeableItem;
  readonly processorPriceId: string;
  readonly quantity: number;
  /** The subscription has this plan and quantity already. */
  readonly isUnchanged: boolean;
  /** The wanted plan bills in another interval. */
  readonly isOtherInterval: boolean;
  /** Another interval, or from free to paid. */
  readonly changesPeriod: boolean;
  /** A new period starts with the change. In some billing modes the processor does not start one by itself. */
  readonly startsPeriod: boolean;
  /** A period costs less than before, or the processor does not show what it costs now. */
  readonly isCheaper: boolean;
}

/** Reads the plans of a change. Fails if the subscription has ended, or cannot get the plan. */
export async function plansOfChange(
  plans: PlanService,
  subscription: Subscription,
  { planId }: WantedTerms,
): Promise<ChangePlans> {
  if (hasEnded(subscription.status)) throw subscriptionEnded();
  const currentPlan = await plans.read(subscription.planId);
  if (planId === undefined) return { subscription, currentPlan, wanted: null };
  // A subscription keeps a plan that was archived since.
  const wanted = planId === currentPlan.id ? currentPlan : await plans.requireActive(planId);
  return { subscription, currentPlan, wanted };
}

/** What the change does to the processor's subscription. Fails if its state forbids the change. */
export function targetOf(
  found: ChangeableSubscription,
  { quantity: wantedQuantity }: WantedTerms,
  { currentPlan, wanted }: ChangePlans,
): ChangeTarget {
  const { status } = found.subscription;
  refuseChangeIn(status);
  if (wanted !== null && wanted.currency !== found.currency)
    throw new Failure(
      'currency_mismatch',
      `The subscription is billed in ${found.currency}, and the plan in ${wanted.currency}. Choose a plan in the ` +
        'same currency.',
    );
  const item = itemOf(found, currentPlan);
  const quantity = wantedQuantity ?? item.quantity;
  const processorPriceId = wanted?.processorPriceId ?? item.processorPriceId;
  const { unitAmount } = item;
  const isFreeNow = unitAmount === 0;
  const isOtherInterval = wanted !== null && `${wanted.intervalCount} ${wanted.interval}` !== item.interval;
  const changesPeriod = isOtherInterval || (isFreeNow && wanted !== null && wanted.amount > 0);
  return {
    item,
    processorPriceId,
    quantity,
    isUnchanged: processorPriceId === item.processorPriceId && quantity === item.quantity,
    isOtherInterval,
    changesPeriod,
    // In a trial, the new plan is billed from the end of the trial, so no period starts. None starts in a pause either.
    startsPeriod: changesPeriod && status !== 'trialing' && !found.isPaused,
    isCheaper: unitAmount === null || (wanted?.amount ?? unitAmount) * quantity < unitAmount * item.quantity,
  };
}

/** The change of the item, for the change itself or its preview. */
export function itemChange(
  change: TermsChange,
  { item, processorPriceId, quantity, startsPeriod, isOtherInterval }: ChangeTarget,
  { processorSubscriptionId }: Pick<Subscription, 'processorSubscriptionId'>,
): ItemChange {
  const isNow = change.kind === 'now';
  const prorationDate = isNow ? change.prorationDate : undefined;
  return {
    processorSubscriptionId,
    processorItemId: item.processorItemId,
    ...(change.planId === undefined ? {} : { processorPriceId }),
    // The processor sets the quantity to 1 if a change of price names none.
    quantity,
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

/** The item of the plan that the row has, unless the plan was changed elsewhere: then the oldest item of a Till plan. */
function itemOf({ items, subscription }: ChangeableSubscription, { processorPriceId }: Plan): ChangeableItem {
  const ofTill = subscription.items.find(({ planLocalId }) => planLocalId !== null);
  const withPrice = (price: string | undefined) => items.find((item) => item.processorPriceId === price);
  return withPrice(processorPriceId) ?? withPrice(ofTill?.processorPriceId) ?? items[0];
}
