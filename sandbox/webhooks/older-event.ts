import type { StoredEvent } from '../state/changes.ts';
import type { Store } from '../state/store.ts';
import type { Shape } from '../versions/older-objects.ts';
import type { Subscription } from '../wire/objects.ts';
import { renderEvent } from './render-event.ts';

/** The event for an endpoint with an older version. Translates only the fields that moved. */
export function olderEvent(store: Store, event: StoredEvent, version: string, shape: Shape): object {
  const data = {
    object: shape(event.subject),
    ...(event.previous === null ? {} : { previous_attributes: olderPrevious(event) }),
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
    ...(item === undefined
      ? {}
      : { current_period_start: item.current_period_start, current_period_end: item.current_period_end }),
  };
}
