import type { SubscriptionService } from '../../subscriptions/subscription-service.ts';
import { defineFamily } from './event-family.ts';

/** customer.subscription.created, updated, deleted, paused, resumed */
export function subscriptionEvents(subscriptions: SubscriptionService) {
  return defineFamily({
    pick: (event) => (event.resource === 'subscription' ? [event.subscription] : undefined),
    keyOf: ({ processorSubscriptionId }) => processorSubscriptionId,
    apply: (tx, facts) => subscriptions.apply(tx, facts, 'events'),
    refresh: (key) => subscriptions.refresh(key),
  });
}
