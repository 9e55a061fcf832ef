import type { ListPosition } from './list-cursor.ts';

/**
 * Filtered totals are capped here, and `totalCapped` is set. Counting this many index entries takes a few
 * milliseconds.
 */
export const totalMax = 10_000;

/**
 * The rows to read: `limit` rows after an offset, or after a position. `skip` skips further rows before them. Then the
 * total is not counted.
 */
export type RowWindow = { readonly limit: number } & (
  | { readonly offset: number; readonly position?: never; readonly skip?: never }
  | { readonly position: ListPosition; readonly skip?: never; readonly offset?: never }
  | { readonly position: ListPosition | undefined; readonly skip: number; readonly offset?: never }
);
