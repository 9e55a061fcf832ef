import type { AsOf } from '../../../model/facts.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { nullIfMissing } from '../wire/attempt.ts';
import { WireObject } from '../wire/wire-object.ts';
import { hasMoreItems } from './map-subscription.ts';

/** The processor's largest page. A subscription has at most 20 items, and shows the first ten. */
const pageMax = 100;

/** Reads a subscription with all its items. Null if the processor does not know it. */
export async function readSubscription<T>(
  { stripe, call }: AdapterContext,
  id: string,
  { expand, map }: { readonly expand: readonly string[]; readonly map: (value: unknown, asOf: AsOf) => T },
): Promise<T | null> {
  const read = await call.read('subscriptions.read', {
    send: (options) => stripe.subscriptions.retrieve(id, { expand: [...expand] }, options),
    take: (response, asOf) => ({ response, asOf, mapped: map(response, asOf) }),
    refused: nullIfMissing,
  });
  if (read === null) return null;
  const { response, asOf, mapped } = read;
  if (!hasMoreItems(WireObject.parse(response, 'subscription'))) return mapped;
  return call.read('subscriptions.list_items', {
    send: (options) => stripe.subscriptionItems.list({ subscription: id, limit: pageMax }, options),
    take: (items) => map(Object.assign({}, response, { items }), asOf),
  });
}
