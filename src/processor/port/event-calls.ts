import type { CustomerFacts } from '../../model/customer.ts';

export interface EventCalls {
  /**
   * Events of these types created at or after `since`, in no particular order. The processor keeps 30 days. With the
   * cursor of an earlier page, a listing with the same values continues after that page.
   */
  listSince(since: Date, types: readonly string[], cursor?: string | null): AsyncIterable<EventPage>;
  /**
   * A deleted customer from its deletion event, by either id: without personal data, but with Till's id, which a read
   * of a deleted customer lacks. Null if the processor no longer has the event (after 30 days).
   */
  findDeletedCustomer(wanted: {
    readonly processorCustomerId?: string;
    readonly localId?: string;
  }): Promise<CustomerFacts | null>;
  /** How many events of this time, up to 100, an endpoint has not accepted yet. */
  countUndelivered(time: { readonly since: Date; readonly until: Date }): Promise<number>;
}

export interface EventPage {
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
  /** The API version of the payload; null if the processor does not say. */
  readonly apiVersion: string | null;
  /** Null for an object without an id (a preview, a balance), which no mirror holds. */
  readonly objectId: string | null;
  /** JSON without secrets, and without personal data that no mirror stores. Text, because it is stored as it is. */
  readonly payload: string;
  /**
   * What is kept once the person is erased: an event about a customer is read as one without content, and any other says
   * nothing about metadata. Null if `payload` has no personal data.
   */
  readonly erasedPayload: string | null;
  /** The processor's id of the customer to whom the object belongs, if `payload` contains its metadata; null if the object is the customer. */
  readonly customerKey: string | null;
}

/** `not_an_event`: the signature is valid, but the body is not an event that Till can use. */
export type VerifiedWebhook =
  | { readonly outcome: 'event'; readonly event: ProcessorEvent }
  | { readonly outcome: 'bad_signature'; readonly reason: string }
  | { readonly outcome: 'not_an_event'; readonly reason: string };
