import type { EventSelection } from './event.ts';
import { type EventPlace, eventId } from './event-id.ts';
import type { StoredEvent } from './event-store.ts';

/** An event of the feed. Its text is made once, also if hundreds of readers get it. */
export class FeedEvent implements EventPlace {
  readonly position: number;
  readonly createdAtMs: number;
  /** When it was read, by the clock of this process. */
  readonly readAtMs = performance.now();
  /** The body of the event, in JSON. */
  readonly json: string;
  readonly #stored: StoredEvent;
  #message: string | undefined;

  constructor(stored: StoredEvent) {
    this.position = stored.position;
    this.createdAtMs = stored.createdAtMs;
    this.json = toJson(stored);
    this.#stored = stored;
  }

  /** The event as a message of a stream. */
  get message(): string {
    // JSON may contain line breaks between its values. In a stream they would end the field.
    this.#message ??= `id: ${eventId(this)}\nevent: ${this.#stored.type}\ndata: ${this.json.replaceAll(/[\r\n]+/g, ' ')}\n\n`;
    return this.#message;
  }

  isSelectedBy({ types, objectId, customerId }: EventSelection): boolean {
    const stored = this.#stored;
    return (
      (types === undefined || types.has(stored.type)) &&
      (objectId === undefined || objectId === stored.objectId) &&
      (customerId === undefined || customerId === stored.customerId)
    );
  }
}

/** Puts the stored JSON into the body without parsing it. */
function toJson(event: StoredEvent): string {
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
