import type { EventSeries } from './events.ts';

/** What the load generator is told, and what it answers. */
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
  | { readonly kind: 'reads'; readonly path: string; readonly count: number; readonly ids: IdRange }
  | { readonly kind: 'same'; readonly path: string; readonly count: number }
  | { readonly kind: 'creates'; readonly customerId: string; readonly count: number };

/** Ids to pick from at random: so many, of which every `step`th number exists. */
export interface IdRange {
  readonly count: number;
  readonly step: number;
}

/** Which events of a series a target gets, where each goes to two of several; `of` 1 sends it twice to the one. */
export interface EventShare {
  readonly part: number;
  readonly of: number;
}

export interface JobResult {
  readonly requests: number;
  readonly elapsedMs: number;
  readonly p50Ms: number;
  /** How many answers had each status. */
  readonly statuses: Readonly<Record<string, number>>;
}

export type ToGenerator = { readonly prepare: Job } | { readonly run: true };
export type FromGenerator =
  | { readonly prepared: number }
  | { readonly result: JobResult }
  | { readonly error: string };
