import type { EventType } from '../event.ts';
import { type EventPlace, eventId } from './event-id.ts';

/** An event as it is stored. The three JSON values remain text: the feed passes them on unchanged. */
export interface StoredEvent extends EventPlace {
  readonly type: EventType;
  readonly objectType: string;
  readonly objectId: string;
  readonly customerId: string | null;
  readonly data: string;
  readonly previous: string;
  readonly cause: string;
}

/** The event as the API shows it. The stored JSON goes into the body without being parsed. */
export function bodyOf(event: StoredEvent): string {
  const { type, objectType, objectId, customerId, data, previous, cause } = event;
  const head = JSON.stringify({
    id: eventId(event),
    type,
    createdAt: new Date(event.createdAtMs).toISOString(),
    objectType,
    objectId,
    customerId,
  });
  return `${head.slice(0, -1)},"data":${data},"previous":${previous},"cause":${cause}}`;
}

/** What a delivery sends: the event, and the id by which a receiver recognizes a repetition. */
export function messageOf(event: StoredEvent): { readonly id: string; readonly body: string } {
  return { id: eventId(event), body: bodyOf(event) };
}
