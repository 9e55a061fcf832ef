import type { EventSelection } from '../event.ts';
import { type EventPlace, eventId } from './event-id.ts';
import { bodyOf, type StoredEvent } from './stored-event.ts';

/** An event of the feed. Its text is built once, even if hundreds of readers get it. */
export class FeedEvent implements EventPlace {
  readonly position: number;
  readonly createdAtMs: number;
  readonly checksum: number;
  /** When it was read, by the clock of this process. */
  readonly readAtMs = performance.now();
  /** The body of the event, in JSON. */
  readonly json: string;
  readonly #stored: StoredEvent;
  #message: string | undefined;

  constructor(stored: StoredEvent) {
    this.position = stored.position;
    this.createdAtMs = stored.createdAtMs;
    this.checksum = stored.checksum;
    this.json = bodyOf(stored);
    this.#stored = stored;
  }

  get customerId(): string | null {
    return this.#stored.customerId;
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
