import { priceObstacles } from '#core/model/price-obstacle.ts';
import type { SubscriptionFacts } from '#core/model/subscription.ts';
import type { SubscriptionItemFacts } from '#core/model/subscription-items.ts';
import { derivedId } from '#core/platform/id.ts';
import { mirroredList } from '#engine/mirrors/mirrored-list.ts';
import { ifFound, mapItems, withLocalId } from '#engine/sync/adopted-facts.ts';
import { noCustomer, rowsOf, type Stage, stageOf } from '#engine/sync/import-stage.ts';
import type { Processor } from '#processor/port/processor.ts';
import type { SubscriptionMirror } from './subscription-mirror.ts';

export interface ImportContext {
  readonly processor: Processor;
  readonly mirrors: { readonly subscriptions: SubscriptionMirror };
}

/**
 * A subscription with at least one plan is adopted. Other prices, such as metered usage, are shown beside its plans.
 * `refused` has prices and customers that are known to have no row: a dry run cannot look for their rows.
 */
export function subscriptionStage(
  { processor, mirrors }: ImportContext,
  refused: ReadonlySet<string> = new Set(),
): Stage<SubscriptionFacts> {
  return {
    ...stageOf(
      mirroredList(mirrors.subscriptions, processor.subscriptions),
      rowsOf(mirrors.subscriptions, 'processorSubscriptionId'),
    ),
    complete: (facts) => withAllItems(processor, facts),
    refuse: (facts) => {
      const { processorCustomerId, items } = facts;
      if (processorCustomerId === null) return noCustomer;
      if (refused.has(processorCustomerId)) return `Its customer is left out (${processorCustomerId}).`;
      // Till created this subscription and lost its row. It is recovered, whatever was changed at the processor since.
      if (!isForeignSubscription(facts)) return undefined;
      const isPlan = (item: SubscriptionItemFacts) =>
        isPlanPrice(item) && !refused.has(item.processorPriceId);
      if (items.some(isPlan)) return undefined;
      return items
        .map(({ obstacle, processorPriceId }) => {
          const reason = obstacle === undefined ? 'Its price is left out.' : priceObstacles[obstacle];
          return `${reason} (${processorPriceId})`;
        })
        .join(' ');
    },
  };
}

/** A list shows the first ten items of a subscription. The plan may be another one. */
export async function withAllItems(
  { subscriptions }: Pick<Processor, 'subscriptions'>,
  listed: SubscriptionFacts,
): Promise<SubscriptionFacts> {
  const read = listed.hasMoreItems ? await subscriptions.read(listed.processorSubscriptionId) : null;
  return read?.subscription ?? listed;
}

export function adoptingSubscriptions({ subscriptions }: Processor): Pick<Processor, 'subscriptions'> {
  return {
    subscriptions: {
      ...subscriptions,
      read: async (id) =>
        ifFound(await subscriptions.read(id), (found) => ({
          ...found,
          subscription: adoptSubscription(found.subscription),
        })),
      list: (filter) => mapItems(subscriptions.list(filter), adoptSubscription),
    },
  };
}

/** Whether Till did not create the subscription: it has no Till id, or only the one that was added here. */
function isForeignSubscription(facts: SubscriptionFacts): boolean {
  const { localId, processorSubscriptionId, createdAt } = facts;
  return localId === null || localId === derivedId('subscription', processorSubscriptionId, createdAt);
}

/** A subscription without a price that can be a plan may belong to other applications. */
function adoptSubscription(facts: SubscriptionFacts): SubscriptionFacts {
  const { processorSubscriptionId, createdAt } = facts;
  const [first, ...others] = facts.items;
  const adopt = (item: SubscriptionItemFacts) => adoptItem(item, createdAt);
  const whole: SubscriptionFacts = { ...facts, items: [adopt(first), ...others.map(adopt)] };
  return facts.items.some(isPlanPrice) ? withLocalId(whole, 'subscription', processorSubscriptionId) : whole;
}

/** Whether the price of an item is a Till plan or can become one. */
function isPlanPrice({ obstacle }: SubscriptionItemFacts): boolean {
  return obstacle === undefined;
}

/** A price with a Till id makes the mirror recover its plan. The plan itself has another id. */
function adoptItem(item: SubscriptionItemFacts, createdAt: Date): SubscriptionItemFacts {
  const { planLocalId, processorPriceId, obstacle } = item;
  if (obstacle !== undefined) return item;
  return { ...item, planLocalId: planLocalId ?? derivedId('plan', processorPriceId, createdAt) };
}
