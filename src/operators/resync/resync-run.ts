import type { ResyncProgress, Skipped } from './resync.ts';

export const resyncStatuses = ['running', 'finished', 'failed', 'stopped'] as const;

/** One comparison with the processor, started through the API. */
export interface ResyncRun {
  readonly id: string;
  /** Null: of all customers. */
  readonly customerId: string | null;
  readonly status: (typeof resyncStatuses)[number];
  /** One entry for each kind of object that it has reached. */
  readonly progress: readonly ResyncProgress[];
  /** The first objects that could not be compared. */
  readonly skipped: readonly Skipped[];
  readonly skippedCount: number;
  readonly error: string | null;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
}
