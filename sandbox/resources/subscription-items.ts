import { existing } from '../wire/existing.ts';
import type { Subscription, SubscriptionItem } from '../wire/objects.ts';
import { type Call, type Operation, operation } from '../wire/operation.ts';
import { bool, integer, required, text } from '../wire/params.ts';
import { missing, WireError } from '../wire/wire-error.ts';
import { pageOf, pageParams } from './listing.ts';
import { itemFields } from './subscription-item-changes.ts';
import { prorationBehavior } from './subscription-params.ts';
import { updateBehavior, updateFrom } from './subscription-update.ts';

const changeParams = {
  payment_behavior: updateBehavior,
  proration_behavior: prorationBehavior,
  proration_date: integer(),
};

/** Items are part of their subscription: to change an item is to change its subscription. */
export const subscriptionItemOperations: readonly Operation[] = [
  operation(
    { name: 'subscription_items.create', method: 'POST', path: 'subscription_items' },
    { ...itemFields, ...changeParams, subscription: required(text()) },
    (call, { subscription: id, plan, price, price_data, tax_rates, quantity, metadata, ...change }) => {
      const before = existing(call.store.subscriptions, id, 'subscription');
      if (before.ended_at !== null) throw missing('subscription', id, 'subscription');
      const added = { plan, price, price_data, tax_rates, quantity, metadata };
      const after = updateFrom(call, before, { ...change, items: [added] }, null);
      const items = [...after.items.data, ...(after.pending_update?.subscription_items ?? [])];
      const item = items.find((one) => itemOf(before, one.id) === undefined);
      if (item === undefined) throw new Error(`${id} has no new item`);
      return item;
    },
  ),
  operation(
    { name: 'subscription_items.retrieve', method: 'GET', path: 'subscription_items/*' },
    {},
    (call) => found(call).item,
  ),
  operation(
    { name: 'subscription_items.update', method: 'POST', path: 'subscription_items/*' },
    { ...itemFields, ...changeParams, off_session: bool },
    (call, { plan, price, price_data, tax_rates, quantity, metadata, ...change }) => {
      const changed = { id: call.id, plan, price, price_data, tax_rates, quantity, metadata };
      updateFrom(call, found(call).subscription, { ...change, items: [changed] }, null);
      return found(call).item;
    },
  ),
  operation(
    { name: 'subscription_items.delete', method: 'DELETE', path: 'subscription_items/*' },
    { ...changeParams, clear_usage: bool },
    (call, { clear_usage, ...change }) => {
      const { id } = call;
      updateFrom(
        call,
        found(call).subscription,
        { ...change, items: [{ id, deleted: true, clear_usage }] },
        null,
      );
      return { id, object: 'subscription_item', deleted: true };
    },
  ),
  operation(
    { name: 'subscription_items.list', method: 'GET', path: 'subscription_items' },
    { ...pageParams, subscription: required(text()) },
    ({ store }, params) => {
      const { items } = existing(store.subscriptions, params.subscription, 'subscription');
      return { ...items, ...pageOf(items.data, params) };
    },
  ),
];

function found({ store, id }: Call): {
  readonly subscription: Subscription;
  readonly item: SubscriptionItem;
} {
  const [subscription] = store.subscriptions.allWithin('item', id);
  const item = subscription === undefined ? undefined : itemOf(subscription, id);
  if (subscription === undefined || item === undefined) throw missingItem(id);
  return { subscription, item };
}

/** Unlike for other objects, the processor names no parameter and no code. */
function missingItem(id: string): WireError {
  return new WireError(404, {
    type: 'invalid_request_error',
    message: `Invalid subscription_item id: ${id}`,
  });
}

function itemOf(subscription: Subscription, id: string): SubscriptionItem | undefined {
  return subscription.items.data.find((item) => item.id === id);
}
