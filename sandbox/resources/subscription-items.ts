import type { Subscription, SubscriptionItem } from '../wire/objects.ts';
import type { Call } from '../wire/operation.ts';
import * as p from '../wire/params.ts';
import { missing, refusal } from '../wire/wire-error.ts';
import { pageOf, pageParams } from './listing.ts';
import { Resource } from './resource.ts';
import { prorationBehavior } from './subscription-params.ts';
import { type changeFields, itemFields, updateBehavior, updateFrom } from './subscription-update.ts';

const changeParams = {
  payment_behavior: updateBehavior,
  proration_behavior: prorationBehavior,
  proration_date: p.integer(),
};

type ItemChange = Partial<
  p.Parsed<typeof changeFields & typeof changeParams & { off_session: typeof p.bool }>
>;

const items = new Resource('subscription_items', (store) => store.subscriptions);

/** Items are part of their subscription: to change an item is to change its subscription. */
export const subscriptionItemOperations = [
  items.create(
    { ...itemFields, ...changeParams, subscription: p.required(p.text()) },
    (call, { subscription: id, ...params }) => {
      const before = call.store.subscriptions.existing(id, 'subscription');
      if (before.ended_at !== null) throw missing('subscription', id, 'subscription');
      const after = change(call, before, params);
      const all = [...after.items.data, ...(after.pending_update?.subscription_items ?? [])];
      const item = all.find((one) => itemOf(before, one.id) === undefined);
      if (item === undefined) throw new Error(`${id} has no new item`);
      return item;
    },
  ),
  items.operation('retrieve', 'GET *', {}, (call) => found(call).item),
  items.operation(
    'update',
    'POST *',
    { ...itemFields, ...changeParams, off_session: p.bool },
    (call, params) => {
      change(call, found(call).subscription, { ...params, id: call.id });
      return found(call).item;
    },
  ),
  items.operation('delete', 'DELETE *', { ...changeParams, clear_usage: p.bool }, (call, params) => {
    const { id } = call;
    change(call, found(call).subscription, { ...params, id, deleted: true });
    return { id, object: 'subscription_item', deleted: true };
  }),
  items.operation(
    'list',
    'GET',
    { ...pageParams, subscription: p.required(p.text()) },
    ({ store }, params) => {
      const { items: list } = store.subscriptions.existing(params.subscription, 'subscription');
      return { ...list, ...pageOf(list.data, params) };
    },
  ),
];

/** Changes one item. The other parameters are those of a change of the subscription. */
function change(
  call: Call,
  before: Subscription,
  { payment_behavior, proration_behavior, proration_date, off_session, ...item }: ItemChange,
): Subscription {
  const options = p.present({ payment_behavior, proration_behavior, proration_date, off_session });
  return updateFrom(call, before, { ...options, items: [item] }, null);
}

function found({ store, id }: Call): {
  readonly subscription: Subscription;
  readonly item: SubscriptionItem;
} {
  const [subscription] = store.subscriptions.allWithin('item', id);
  const item = subscription === undefined ? undefined : itemOf(subscription, id);
  // Unlike for other objects, the processor names no parameter and no code.
  if (subscription === undefined || item === undefined)
    throw refusal(404, `Invalid subscription_item id: ${id}`);
  return { subscription, item };
}

function itemOf(subscription: Subscription, id: string): SubscriptionItem | undefined {
  return subscription.items.data.find((item) => item.id === id);
}
