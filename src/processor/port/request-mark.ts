/**
 * What an object carries in its metadata of the request that created it. Both are digests: they reveal neither the
 * caller's idempotency key nor the request.
 */
export interface RequestMark {
  /** The same for every request with the same idempotency key, whatever Till has lost. */
  readonly key: string;
  /** The same for every request with the same values. */
  readonly request: string;
}

/** What a lookup found, and the request that it belongs to. */
export interface Marked<T> {
  readonly value: T;
  /** The digest of the request. Null if the object does not carry one. */
  readonly request: string | null;
}
