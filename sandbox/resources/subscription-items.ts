import { existing } from '../wire/existing.ts';
import type { Subscription, SubscriptionItem } from '../wire/objects.ts';
import { type Operation, operation } from '../wire/operation.ts';
import { required, text } from '../wire/params.ts';
import { badParam, missing } from '../wire/wire-error.ts';
import { pageParams, pageSizeDefault } from './listing.ts';

/** Items are part of their subscription, and change with it. */
export const subscriptionItemOperations: readonly Operation[] = [
  operation(
    { name: 'subscription_items.retrieve', method: 'GET', path: 'subscription_items/*' },
    {},
    ({ store, id }) => {
      const [subscription] = store.subscriptions.allWithin('item', id);
      const item = subscription === undefined ? undefined : itemOf(subscription, id);
      if (item === undefined) throw missing('subscription_item', id);
      return item;
    },
  ),
  operation(
    { name: 'subscription_items.list', method: 'GET', path: 'subscription_items' },
    { ...pageParams, subscription: required(text()) },
    ({ store }, params) => {
      const subscription = existing(store.subscriptions, params.subscription, 'subscription');
      const { items } = subscription;
      const cursor = params.starting_after;
      if (cursor !== undefined && itemOf(subscription, cursor) === undefined)
        throw badParam(`No such object: '${cursor}'`, 'starting_after', 'resource_missing');
      const from = items.data.findIndex(({ id }) => id === cursor) + 1;
      const data = items.data.slice(from, from + (params.limit ?? pageSizeDefault));
      return { ...items, data, has_more: from + data.length < items.data.length };
    },
  ),
];

function itemOf(subscription: Subscription, id: string): SubscriptionItem | undefined {
  return subscription.items.data.find((item) => item.id === id);
}
