import type { EventType, WireObject } from '../wire/objects.ts';
import type { Memo } from './memos.ts';

/** The processor lists events for 30 days. */
export const eventLifetimeSeconds = 30 * 24 * 60 * 60;

/** An event, with its object as it was at the time. */
export interface StoredEvent extends WireObject {
  readonly object: 'event';
  readonly type: EventType;
  readonly created: number;
  readonly subject: WireObject;
  readonly previous: object | null;
  readonly request: { readonly id: string | null; readonly idempotency_key: string | null } | null;
}

/** The request that causes a change. Null if the clock causes it. */
export type Cause = { readonly requestId: string; readonly idempotencyKey: string | null } | null;

/** The changes of one transaction, in order. Collections are given by name. */
export interface Changes {
  readonly puts: { readonly collection: string; readonly value: WireObject }[];
  readonly removals: { readonly collection: string; readonly id: string }[];
  readonly events: StoredEvent[];
  memo: { readonly key: string; readonly memo: Memo } | null;
}
