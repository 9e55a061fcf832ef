import type { RequestMark } from './request-mark.ts';

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
