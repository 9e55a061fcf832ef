import { Failure } from '#core/errors.ts';

/** The pages of a list, newest objects first. Each page is a call with its own deadline. */
export type Pages<T> = AsyncIterable<ProcessorPage<T>>;

export interface ProcessorPage<T> {
  readonly items: readonly T[];
  /** Objects that cannot be mapped. They are also logged. */
  readonly leftOut: readonly LeftOut[];
  /** Where a later listing with the same filter continues. Null on the last page. */
  readonly next: string | null;
}

export interface LeftOut {
  /** Null if not even the id can be read. */
  readonly id: string | null;
  readonly reason: string;
}

/**
 * Where a listing starts: after the page with this `next`, or at the beginning if it is null or absent. New objects
 * come before it, so the pages after it do not change.
 */
export interface ListingStart {
  readonly after?: string | null;
}

/** The object after which a listing continues was deleted at the processor. */
export function isLostPlace(after: string | null, error: unknown): boolean {
  return (
    after !== null &&
    error instanceof Failure &&
    error.code === 'processor_rejected' &&
    error.extras.processorParam === 'starting_after'
  );
}
