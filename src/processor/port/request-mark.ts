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

/**
 * Looks up, by the mark in the metadata, what an earlier call may have created. Listings show a new object at once. The
 * processor's search lags, so what it does not show yet is listed. Null means that the object does not exist. A listing
 * that is too long fails.
 */
export interface LookUp {
  readonly mark: RequestMark;
  /** The earliest time at which it can have been created, by the local clock. The lookup allows for clock skew. */
  readonly since: Date;
}

/** The same among the objects of one customer. */
export interface CustomerLookUp extends LookUp {
  readonly processorCustomerId: string;
}
