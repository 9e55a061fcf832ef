import type { EventSeries } from './events.ts';

/** The messages to and from the load generator. */
export interface Job {
  readonly targets: readonly Target[];
  /** The only statuses that count as success. */
  readonly expected: readonly number[];
}

export interface Target {
  readonly url: string;
  readonly connections: number;
  readonly requests: Requests;
}

export type Requests =
  | { readonly kind: 'events'; readonly series: EventSeries; readonly take?: EventShare }
  | {
      readonly kind: 'reads';
      readonly path: string;
      /** What follows the id. */
      readonly suffix?: string;
      readonly count: number;
      readonly ids: IdRange;
    }
  | { readonly kind: 'same'; readonly path: string; readonly count: number }
  | { readonly kind: 'creates'; readonly customerId: string; readonly count: number };

/** Ids to choose from at random: `count` ids, whose numbers are multiples of `step`. */
export interface IdRange {
  readonly count: number;
  readonly step: number;
}

/**
 * The events of a series that a target gets, when each goes to two of several; `of` 1 sends it twice to the same
 * target.
 */
export interface EventShare {
  readonly part: number;
  readonly of: number;
}

export interface JobResult {
  readonly requests: number;
  readonly elapsedMs: number;
  readonly p50Ms: number;
  /** The number of responses by status. */
  readonly statuses: Readonly<Record<string, number>>;
}

export type ToGenerator = { readonly prepare: Job } | { readonly run: true };
export type FromGenerator =
  | { readonly prepared: number }
  | { readonly result: JobResult }
  | { readonly error: string };
