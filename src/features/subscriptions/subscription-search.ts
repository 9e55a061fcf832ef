import type { Subscription } from '#core/model/subscription.ts';
import { type Found, nothing } from '#engine/search/search.ts';
import { byIds, type SearchSource } from '#engine/search/search-source.ts';
import type { SubscriptionStore } from './subscription-store.ts';

export function subscriptionSources(store: SubscriptionStore): readonly SearchSource[] {
  return [byIds(store, showSubscription)];
}

function showSubscription(row: Subscription): Found {
  const { id, customerId, planId, status, createdAt } = row;
  const label = row.processorSubscriptionId;
  const shown = { objectType: 'subscription', objectId: id, customerId, planId, label };
  return { ...nothing, ...shown, status, createdAt };
}
