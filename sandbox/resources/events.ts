import { eventLifetimeSeconds, type StoredEvent } from '../state/changes.ts';
import type { Store } from '../state/store.ts';
import { renderEvent } from '../webhooks/render-event.ts';
import type { Operation } from '../wire/operation.ts';
import { array, bool, type Parsed, text } from '../wire/params.ts';
import { badParam } from '../wire/wire-error.ts';
import { Resource } from './resource.ts';

const events = new Resource('events', (store) => store.events, {
  show: renderEvent,
  shownSince: (store) => store.now() - eventLifetimeSeconds,
});

/** The processor's own limit. */
const typesMax = 20;
const filterParams = { type: text(), types: array(text(), typesMax), delivery_success: bool };

export const eventOperations: readonly Operation[] = [
  events.retrieve(),
  events.list(filterParams, {
    check: (_store, params) => {
      if (params.type !== undefined && params.types !== undefined)
        throw badParam('Only one of type and types may be given.', 'types', 'parameters_exclusive');
    },
    where: matcher,
  }),
];

function matcher(store: Store, params: Parsed<typeof filterParams>): (event: StoredEvent) => boolean {
  const { type, types, delivery_success: delivered } = params;
  const wanted = types === undefined ? null : new Set<string>(types);
  const prefix = type?.endsWith('.*') ? type.slice(0, -1) : null;
  return (event) =>
    (wanted === null || wanted.has(event.type)) &&
    (type === undefined || (prefix === null ? event.type === type : event.type.startsWith(prefix))) &&
    (delivered === undefined || (store.deliveries.countOf(event.id) === 0) === delivered);
}
