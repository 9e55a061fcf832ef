import type { EventSeries } from './events.ts';

/** The messages to and from the load generator. */
export interface Job {
  readonly targets: readonly LoadTarget[];
  /** The only statuses that count as success. */
  readonly expected: readonly number[];
}

export interface LoadTarget {
  readonly url: string;
  readonly connections: number;
  readonly requests: Requests;
  /**
   * How many are sent a second, as by callers who know nothing of each other. What is late because all connections wait
   * counts from when it was due. Without it, each connection sends the next one at once.
   */
  readonly perSecond?: number;
}

export type Requests =
  | { readonly kind: 'events'; readonly series: EventSeries; readonly take?: EventShare }
  | {
      readonly kind: 'reads';
      readonly path: string;
      /** The end of the path, after the id. */
      readonly suffix?: string;
      readonly count: number;
      readonly ids: IdRange;
    }
  | { readonly kind: 'same'; readonly path: string; readonly count: number }
  | { readonly kind: 'creates'; readonly customerId: string; readonly count: number }
  | UsageRequests;

/** Usage of customers in turn: `size` events in each request, or without it, one consumption. */
export interface UsageRequests {
  readonly kind: 'usage';
  readonly count: number;
  readonly size?: number;
  /** The number of the first event: each has an id of its own. */
  readonly first: number;
  readonly customers: number;
}

/** Ids to choose from at random: `count` ids, whose numbers are multiples of `step`. */
export interface IdRange {
  readonly count: number;
  readonly step: number;
}

/**
 * The events of a series that a target gets, when each event goes to two of several targets. With `of` 1, each goes
 * twice to the same target.
 */
export interface EventShare {
  readonly part: number;
  readonly of: number;
}

export interface JobResult {
  readonly requests: number;
  readonly elapsedMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The number of responses by status. */
  readonly statuses: Readonly<Record<string, number>>;
}

export type ToGenerator = { readonly prepare: Job } | { readonly run: true };
export type FromGenerator =
  | { readonly prepared: number }
  | { readonly result: JobResult }
  | { readonly error: string };
