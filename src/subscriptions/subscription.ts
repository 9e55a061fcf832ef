import { Failure } from '../errors.ts';
import { asOfRow, laterOf, type OwnFacts, rowTime } from '../mirrors/facts.ts';
import { judge, type Origin, type TransitionTable, type Verdict } from '../mirrors/transition.ts';

/** `active` and `trialing` both mean that the customer is entitled. */
export const subscriptionStatuses = [
  'incomplete',
  'incomplete_expired',
  'trialing',
  'active',
  'past_due',
  'unpaid',
  'canceled',
] as const;

export type SubscriptionStatus = (typeof subscriptionStatuses)[number];

export interface Subscription {
  readonly id: string;
  readonly processorSubscriptionId: string;
  readonly customerId: string;
  readonly planId: string;
  readonly status: SubscriptionStatus;
  readonly currentPeriodStart: Date | null;
  readonly currentPeriodEnd: Date | null;
  readonly trialEnd: Date | null;
  readonly processorAsOf: Date;
  readonly processorAsOfLatest: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Rises with every change of the row. */
  readonly revision: number;
}

export interface SubscriptionFacts extends OwnFacts {
  readonly processorSubscriptionId: string;
  /** Null in a response that leaves it out. */
  readonly processorCustomerId: string | null;
  /**
   * Oldest first: Till makes subscriptions with one item, and others may add more on the processor's dashboard. Items
   * beyond the first page of the processor's list are not read.
   */
  readonly items: readonly [SubscriptionItemFacts, ...SubscriptionItemFacts[]];
  readonly status: SubscriptionStatus;
  readonly trialEnd: Date | null;
}

/** A price that a subscription bills, and the period that it bills now. */
export interface SubscriptionItemFacts {
  readonly processorPriceId: string;
  /** Our id of the plan, from the metadata of the price; null if it is no Till plan. */
  readonly planLocalId: string | null;
  readonly currentPeriodStart: Date;
  readonly currentPeriodEnd: Date;
}

const open = {
  incomplete: 'if newer',
  trialing: 'if newer',
  active: 'if newer',
  past_due: 'if newer',
  unpaid: 'if newer',
  incomplete_expired: 'always',
  canceled: 'always',
} as const;

const final = {
  incomplete: 'never',
  trialing: 'never',
  active: 'never',
  past_due: 'never',
  unpaid: 'never',
  incomplete_expired: 'never',
  canceled: 'never',
} as const;

/** From what stands (rows) to what arrives (columns). */
export const subscriptionTransitions: TransitionTable<SubscriptionStatus> = {
  incomplete: open,
  trialing: open,
  active: open,
  past_due: open,
  unpaid: open,
  incomplete_expired: { ...final, incomplete_expired: 'if newer' },
  canceled: { ...final, canceled: 'if newer' },
};

/** The id of the Till plan that has this price at the processor, if there is one. */
export type PlanIdOf = (processorPriceId: string) => string | undefined;

/**
 * The item whose plan and period a subscription shows: the oldest whose price is a Till plan, else the oldest. It follows
 * from the facts alone and not from the row, so that it is the same in whatever order events arrive.
 */
export function followedItem(
  { items }: Pick<SubscriptionFacts, 'items'>,
  planIdOf: PlanIdOf,
): SubscriptionItemFacts {
  return items.find(({ processorPriceId }) => planIdOf(processorPriceId) !== undefined) ?? items[0];
}

/** What a subscription becomes when the processor says this of it. */
export function takeSubscriptionFacts(
  subscription: Subscription,
  facts: SubscriptionFacts,
  planIdOf: PlanIdOf,
  origin: Origin,
  now: Date,
): { readonly verdict: Verdict; readonly row: Subscription } {
  const { processorPriceId, currentPeriodStart, currentPeriodEnd } = followedItem(facts, planIdOf);
  const values = {
    // A price that is no Till plan leaves the plan as it was.
    planId: planIdOf(processorPriceId) ?? subscription.planId,
    status: facts.status,
    currentPeriodStart,
    currentPeriodEnd,
    trialEnd: facts.trialEnd,
  };
  const isSame =
    subscription.planId === values.planId &&
    subscription.status === values.status &&
    isSameTime(subscription.currentPeriodStart, values.currentPeriodStart) &&
    isSameTime(subscription.currentPeriodEnd, values.currentPeriodEnd) &&
    isSameTime(subscription.trialEnd, values.trialEnd);
  const verdict = judge({
    rule: subscriptionTransitions[subscription.status][facts.status],
    origin,
    isSame,
    rowAsOf: asOfRow(subscription),
    factsAsOf: facts.asOf,
  });
  return {
    verdict,
    row: {
      ...subscription,
      ...values,
      ...rowTime(laterOf(asOfRow(subscription), facts.asOf)),
      updatedAt: isSame ? subscription.updatedAt : now,
    },
  };
}

/** Whether it has ended for good, so that there is nothing left to cancel. */
export function hasEnded(status: SubscriptionStatus): boolean {
  return status === 'canceled' || status === 'incomplete_expired';
}

export function foundSubscription(subscription: Subscription | undefined): Subscription {
  if (subscription === undefined)
    throw new Failure('not_found', 'No subscription has this id. Check the id.');
  return subscription;
}

function isSameTime(a: Date | null, b: Date | null): boolean {
  return a?.getTime() === b?.getTime();
}
