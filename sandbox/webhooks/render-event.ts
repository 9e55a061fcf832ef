import type { StoredEvent } from '../state/changes.ts';
import type { Store } from '../state/store.ts';

/** The version that the `stripe` package of this release pins, and that all shapes here are built to. */
export const apiVersion = '2026-10-28.endive';

/** The event as the API shows it. */
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
