import type { AsOf } from '#core/model/facts.ts';
import type { AdapterContext } from '../wire/adapter-context.ts';
import { fetchAll, fetchFrom } from '../wire/listing.ts';
import { nullIfMissing } from '../wire/responses.ts';
import { WireObject } from '../wire/wire-object.ts';
import { hasMoreItems } from './map-subscription.ts';

/** Reads a subscription with all its items. It shows the first ten. Null if the processor does not know it. */
export async function readSubscription<T>(
  context: AdapterContext,
  id: string,
  { expand, map }: { readonly expand: readonly string[]; readonly map: (value: unknown, asOf: AsOf) => T },
): Promise<T | null> {
  const { stripe, call } = context;
  const read = await call.read('subscriptions.read', {
    send: (options) => stripe.subscriptions.retrieve(id, { expand: [...expand] }, options),
    take: (response, asOf) => ({ response, asOf, mapped: map(response, asOf) }),
    refused: nullIfMissing,
  });
  if (read === null) return null;
  const { response, asOf, mapped } = read;
  if (!hasMoreItems(WireObject.parse(response, 'subscription'))) return mapped;
  const fetch = fetchFrom(stripe.subscriptionItems, { subscription: id });
  const data = await fetchAll(context, 'subscriptions.list_items', fetch, (item) => item);
  return map(Object.assign({}, response, { items: { object: 'list', data, has_more: false } }), asOf);
}
