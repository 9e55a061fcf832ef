/**
 * The idempotency key of a request. It belongs to an application: the same text from another application is another
 * idempotency key.
 */
export interface IdempotencyKey {
  /** The name of the API key. Empty for API keys without a name of their own, which count as one application. */
  readonly keyName: string;
  readonly key: string;
}
