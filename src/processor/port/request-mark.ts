/**
 * The mark of a request, which the object that it created carries in its metadata. Both values are digests: they reveal
 * neither the idempotency key nor the request.
 */
export interface RequestMark {
  /** The same for every request with the same idempotency key, even if Till has lost its claim. */
  readonly key: string;
  /** The same for every request with the same values. */
  readonly request: string;
}

/**
 * A write under a processor key. The same processor key with the same values is the same write, even if it is sent
 * several times. The processor remembers processor keys, and refusals under them, for 24 hours. If a later attempt is a
 * new request (an update, a cancel, an archive), it needs a new processor key.
 */
export interface KeyedWrite {
  readonly idempotencyKey: string;
}

/** A write that creates an object. The object carries Till's id and the mark of the request. */
export interface Creation extends KeyedWrite {
  readonly id: string;
  readonly mark: RequestMark;
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
  /** The earliest possible creation time, by the local clock. The lookup allows for clock skew. */
  readonly since: Date;
}

/** A lookup among the objects of one customer. */
export interface CustomerLookUp extends LookUp {
  readonly processorCustomerId: string;
}
