import type { WebhookEvent } from '#core/model/webhook-event.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import { type EventPlace, eventId, parseEventId } from '#engine/events/feed/event-id.ts';
import type { StoredEvent } from '#engine/events/feed/stored-event.ts';
import { type Found, nothing } from '#engine/search/search.ts';
import { byKey, type SearchSource, toMatches } from '#engine/search/search-source.ts';

interface FoundById<Id, Row> {
  find(db: Queryable, id: Id): Promise<Row | undefined>;
}

export function webhookEventSource(store: FoundById<string, WebhookEvent>): SearchSource {
  return byKey(async (db, text) => present(await store.find(db, text)), showWebhookEvent);
}

export function eventSource(store: FoundById<EventPlace, StoredEvent>): SearchSource {
  return async ({ db, text }) => {
    const place = parseEventId(text);
    return place === undefined ? [] : toMatches('id', present(await store.find(db, place)), showEvent);
  };
}

function present<Row>(row: Row | undefined): readonly Row[] {
  return row === undefined ? [] : [row];
}

function showWebhookEvent({ id, type, objectId, state, createdAt }: WebhookEvent): Found {
  const shown = { objectType: 'webhook_event', objectId: id, label: type, description: objectId };
  return { ...nothing, ...shown, status: state, createdAt };
}

function showEvent(event: StoredEvent): Found {
  const { type, customerId, objectId, createdAtMs } = event;
  const shown = { objectType: 'event', objectId: eventId(event), customerId, label: type };
  return { ...nothing, ...shown, description: objectId, createdAt: new Date(createdAtMs) };
}
