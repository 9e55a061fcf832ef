import { eventLifetimeSeconds, type StoredEvent } from '../state/changes.ts';
import type { Store } from '../state/store.ts';
import { renderEvent } from '../webhooks/render-event.ts';
import * as p from '../wire/params.ts';
import { exclusiveParams } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

const events = new Resource('events', (store) => store.events, {
  show: renderEvent,
  shownSince: (store) => store.now() - eventLifetimeSeconds,
});

/** The processor's own limit. */
const typesMax = 20;
const filterParams = { type: p.text(), types: p.array(p.text(), typesMax), delivery_success: p.bool };

export const eventOperations = [
  events.retrieve(),
  events.list(filterParams, {
    handled: ['delivery_success', 'type', 'types'],
    check: (_store, { type, types }) => {
      if (type !== undefined && types !== undefined) throw exclusiveParams('types', 'type');
    },
    where: matches,
  }),
];

function matches(event: StoredEvent, params: p.Parsed<typeof filterParams>, store: Store): boolean {
  const { type, types, delivery_success: delivered } = params;
  return (
    (types === undefined || types.includes(event.type)) &&
    (type === undefined ||
      event.type === type ||
      (type.endsWith('.*') && event.type.startsWith(type.slice(0, -1)))) &&
    (delivered === undefined || (store.deliveries.countOf(event.id) === 0) === delivered)
  );
}
