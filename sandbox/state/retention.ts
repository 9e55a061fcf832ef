/** How many obsolete entries a world keeps of each kind. The processor has no such limits. */
export interface Retention {
  /** Delivered events. A test suite reads far fewer, and they take about 130 MB. */
  readonly eventsMax: number;
  /** Responses to requests with an idempotency key. Clients retry within seconds. */
  readonly memosMax: number;
  /**
   * Deleted customers, tokens, portal sessions, expired checkout sessions, and payment methods without a customer or a
   * payment. They take about 10 MB.
   */
  readonly spentMax: number;
}

export const defaultRetention: Retention = { eventsMax: 100_000, memosMax: 100_000, spentMax: 10_000 };
