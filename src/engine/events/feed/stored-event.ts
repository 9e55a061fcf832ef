import { type EventPlace, eventId } from './event-id.ts';

/** An event as it is stored. The three JSON values remain text: the feed passes them on unchanged. */
export interface StoredEvent extends EventPlace {
  readonly type: string;
  readonly objectType: string;
  readonly objectId: string;
  readonly customerId: string | null;
  readonly data: string;
  readonly previous: string;
  readonly cause: string;
  /** The span that wrote the event, if it was traced. The body does not contain it. */
  readonly traceparent: string | null;
}

/**
 * The event as the API shows it. The stored JSON goes into the body without being parsed. The other values are ids,
 * times and names of types, which need no escapes.
 */
export function bodyOf(event: StoredEvent): string {
  const { type, objectType, objectId, customerId, data, previous, cause } = event;
  const customer = customerId === null ? 'null' : `"${customerId}"`;
  return (
    `{"id":"${eventId(event)}","type":"${type}","createdAt":"${new Date(event.createdAtMs).toISOString()}",` +
    `"objectType":"${objectType}","objectId":"${objectId}","customerId":${customer},` +
    `"data":${data},"previous":${previous},"cause":${cause}}`
  );
}

/** What a delivery sends: the event, and the id by which a receiver recognizes a repetition. */
export function messageOf(event: StoredEvent): { readonly id: string; readonly body: string } {
  return { id: eventId(event), body: bodyOf(event) };
}
