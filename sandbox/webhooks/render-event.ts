import type { StoredEvent } from '../state/changes.ts';
import type { Store } from '../state/store.ts';
import { apiVersion } from '../wire/api-version.ts';

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
