import type { Logger } from '../platform/logger.ts';
import type { Transaction } from '../platform/postgres.ts';

/** How what was made under a claim is found and written down: all that is needed to settle one that was left behind. */
export interface Adoption<Made, Result> {
  /** Looks up what an earlier call may have made. */
  readonly find: (id: string, since: Date) => Promise<Made | null>;
  /** Writes the row, in a transaction that also completes the claim; a webhook may have written it already. */
  readonly record: (tx: Transaction, id: string, made: Made) => Promise<Result>;
  /**
   * Brings the row up to date with the processor. For what was made some time before it could be recorded: events about
   * it may have met no row, and were ignored.
   */
  readonly refresh?: (result: Result) => Promise<unknown>;
  /** Undoes what was reserved for it, once it is sure that nothing was made. */
  readonly release: (tx: Transaction, id: string) => Promise<void>;
}

/** The creation itself has succeeded: that the row may be behind is no reason to say otherwise. */
export async function refreshQuietly<Made, Result>(
  { refresh }: Pick<Adoption<Made, Result>, 'refresh'>,
  result: Result,
  logger: Logger,
): Promise<void> {
  try {
    await refresh?.(result);
  } catch (error) {
    logger.warn({ err: error }, 'refresh of a late-recorded object failed');
  }
}
