import type { CustomerFacts } from '#core/model/customer.ts';
import type { EventContent } from './event-facts.ts';

export interface EventCalls {
  /**
   * Events of these types created at or after `since`, in no particular order. The processor keeps 30 days. With the
   * cursor of an earlier page, a listing with the same values continues after that page.
   */
  listSince(since: Date, types: readonly string[], cursor?: string | null): AsyncIterable<EventPage>;
  /**
   * A deleted customer from its deletion event, by either id. It has no personal data, but it has Till's id, which a
   * read of a deleted customer does not return. Null if the processor no longer has the event (after 30 days).
   */
  findDeletedCustomer(wanted: {
    readonly processorCustomerId?: string;
    readonly localId?: string;
  }): Promise<CustomerFacts | null>;
  /** The number of events of this time span, up to 100, that an endpoint has not accepted yet. */
  countUndelivered(time: { readonly since: Date; readonly until: Date }): Promise<number>;
}

interface EventPage {
  readonly events: readonly ProcessorEvent[];
  /** Null on the last page. */
  readonly cursor: string | null;
}

/** An event as the inbox stores it: the fields needed to queue it, and the part of its payload that may be kept. */
export interface ProcessorEvent {
  readonly id: string;
  readonly type: string;
  readonly createdAt: Date;
  readonly livemode: boolean;
  /** The API version of the payload. Null if the processor does not show it. */
  readonly apiVersion: string | null;
  /** Null for an object without an id (a preview, a balance), which no mirror holds. */
  readonly objectId: string | null;
  /** JSON without secrets, and without personal data that no mirror stores. A text, because it is stored unchanged. */
  readonly payload: string;
  /**
   * The payload that is kept after the customer is erased: an event about a customer has no content, and other events
   * have no metadata. Null if `payload` has no personal data.
   */
  readonly erasedPayload: string | null;
  /**
   * The processor's id of the customer that the object belongs to, if `payload` contains its metadata. Null if the
   * object is the customer.
   */
  readonly customerKey: string | null;
}

/** `not_an_event`: the signature is valid, but the body is not an event that Till can use. */
export type VerifiedWebhook =
  | {
      readonly outcome: 'event';
      readonly event: ProcessorEvent;
      /** The same content as `readEvent` would read from the payload, without parsing it again. */
      readonly read: () => EventContent;
    }
  | { readonly outcome: 'bad_signature'; readonly reason: string }
  | { readonly outcome: 'not_an_event'; readonly reason: string };
