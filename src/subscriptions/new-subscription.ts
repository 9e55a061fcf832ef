import { rowTime } from '../mirrors/facts.ts';
import { derivedId, idTime, isOurId } from '../platform/id.ts';
import type { Subscription, SubscriptionFacts, SubscriptionItemFacts } from './subscription.ts';

/** The row of a subscription, from what the processor says about it, wherever it was made. */
export function toSubscription(
  facts: SubscriptionFacts,
  {
    customerId,
    planId,
    item: { currentPeriodStart, currentPeriodEnd },
    now,
  }: {
    readonly customerId: string;
    readonly planId: string;
    readonly item: SubscriptionItemFacts;
    readonly now: Date;
  },
): Subscription {
  const { localId, processorSubscriptionId, createdAt } = facts;
  return {
    id: isOurId(localId) ? localId : derivedId('subscription', processorSubscriptionId, createdAt),
    processorSubscriptionId,
    customerId,
    planId,
    status: facts.status,
    currentPeriodStart,
    currentPeriodEnd,
    trialEnd: facts.trialEnd,
    ...rowTime(facts.asOf),
    createdAt: isOurId(localId) ? idTime(localId) : createdAt,
    updatedAt: now,
    revision: 0,
  };
}
