/** One page after another, newest objects first, each page a call with its own deadline. */
export type Pages<T> = AsyncIterable<Page<T>>;

export interface Page<T> {
  readonly items: readonly T[];
  /** Objects that cannot be mapped. They are also logged. */
  readonly leftOut: readonly LeftOut[];
  /** Where another listing with the same filter continues. Null on the last page. */
  readonly next: string | null;
}

export interface LeftOut {
  /** Null if not even the id can be read. */
  readonly id: string | null;
  readonly reason: string;
}

/**
 * Where a listing starts: after the page that had this `next`; null or absent for the beginning. An object that is created
 * meanwhile comes before it, so the pages after it stay the same.
 */
export interface Place {
  readonly after?: string | null;
}
