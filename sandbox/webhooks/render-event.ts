import { createHmac } from 'node:crypto';
import type { StoredEvent } from '../state/changes.ts';
import type { Store } from '../state/store.ts';
import type { Shape } from '../versions/older-objects.ts';
import { apiVersion } from '../wire/api-version.ts';
import type { Subscription } from '../wire/objects.ts';

/** The event in the shape of the wire API. */
export function renderEvent(store: Store, event: StoredEvent): object {
  return {
    id: event.id,
    object: 'event',
    api_version: apiVersion,
    created: event.created,
    data:
      event.previous === null
        ? { object: event.subject }
        : { object: event.subject, previous_attributes: event.previous },
    livemode: false,
    pending_webhooks: store.deliveries.countOf(event.id),
    request: event.request,
    type: event.type,
  };
}

/** The event for an endpoint with an older version. Translates only the fields that moved. */
export function olderEvent(store: Store, event: StoredEvent, version: string, shape: Shape): object {
  const data = {
    object: shape(event.subject),
    ...(event.previous !== null && { previous_attributes: olderPrevious(event) }),
  };
  return { ...renderEvent(store, event), api_version: version, data };
}

/** In the older shape, a new period is a change of the subscription itself. */
function olderPrevious(event: StoredEvent): object {
  if (event.subject.object !== 'subscription' || event.previous === null || !('items' in event.previous))
    return event.previous ?? {};
  const { items, ...rest } = event.previous;
  // Previous attributes contain arrays in full, so `items` has the complete list.
  const [item] = (items as Subscription['items']).data ?? [];
  return {
    ...rest,
    ...(item !== undefined && {
      current_period_start: item.current_period_start,
      current_period_end: item.current_period_end,
    }),
  };
}

/** The signature header for the exact bytes of the payload. Uses real time, because receivers check the age. */
export function signatureHeader(payload: string, secret: string, realNowMs: number): string {
  const timestamp = Math.floor(realNowMs / 1_000);
  const signature = createHmac('sha256', secret).update(`${timestamp}.${payload}`).digest('hex');
  return `t=${timestamp},v1=${signature}`;
}
