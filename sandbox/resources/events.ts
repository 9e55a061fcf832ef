import { eventLifetimeSeconds, type StoredEvent } from '../state/changes.ts';
import type { Store } from '../state/store.ts';
import { renderEvent } from '../webhooks/render-event.ts';
import { createdParam, cursorOf, listOf, listParams, type Operation, operation } from '../wire/operation.ts';
import { array, bool, text } from '../wire/params.ts';
import { badParam, missing } from '../wire/wire-error.ts';

/** The processor's own limit on the names in one listing. */
const typesMax = 20;

export const eventOperations: readonly Operation[] = [
  operation({ name: 'events.retrieve', method: 'GET', path: 'events/*' }, {}, ({ store, ids: [id = ''] }) => {
    const event = store.events.get(id);
    if (event === undefined || event.created < oldestShown(store)) throw missing('event', id);
    return renderEvent(store, event);
  }),
  operation(
    { name: 'events.list', method: 'GET', path: 'events' },
    { ...listParams, ...createdParam, type: text(), types: array(text(), typesMax), delivery_success: bool },
    ({ store }, params) => {
      if (params.type !== undefined && params.types !== undefined)
        throw badParam('Only one of type and types may be given.', 'types', 'parameters_exclusive');
      const gte = Math.max(params.created?.gte ?? 0, oldestShown(store));
      const page = store.events.list({
        ...cursorOf(params, (id) => store.events.get(id) !== undefined),
        created: { gt: params.created?.gt, lt: params.created?.lt, lte: params.created?.lte, gte },
        where: filterOf(store, params),
      });
      return listOf('/v1/events', { ...page, data: page.data.map((event) => renderEvent(store, event)) });
    },
  ),
];

function oldestShown(store: Store): number {
  return store.now() - eventLifetimeSeconds;
}

function filterOf(
  store: Store,
  params: {
    readonly type: string | undefined;
    readonly types: readonly string[] | undefined;
    readonly delivery_success: boolean | undefined;
  },
): (event: StoredEvent) => boolean {
  const { type, types, delivery_success: delivered } = params;
  const wanted = types === undefined ? null : new Set<string>(types);
  const prefix = type?.endsWith('.*') ? type.slice(0, -1) : null;
  return (event) =>
    (wanted === null || wanted.has(event.type)) &&
    (type === undefined || (prefix === null ? event.type === type : event.type.startsWith(prefix))) &&
    (delivered === undefined || (store.deliveries.countOf(event.id) === 0) === delivered);
}
