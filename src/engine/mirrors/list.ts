import type { Table } from '#core/platform/table.ts';
import type { Filters } from './list-filter.ts';

/** What counting the rows of a list needs. */
export type CountedRows = Pick<List<object>, 'only'> & { readonly table: { readonly name: string } };

/** A list with its filters. Every list can also be filtered by time. A counter keeps the total of the whole table. */
export interface List<Row extends object> {
  readonly table: Table<Row>;
  /** A condition for the rows to list. The triggers that keep the counter use the same condition. */
  readonly only?: string;
  readonly filters: Filters;
  /** Names a list that shows other rows of the table than the one whose total the counter keeps. */
  readonly variant?: string;
  /**
   * Each row meets exactly one of these conditions. Without filters, the list merges the rows of each condition,
   * because only these have an index by time.
   */
  readonly parts?: readonly string[];
  /** The filter that names the owner of the rows. An owner has few rows, so they are all counted. */
  readonly owner?: string;
  /** The indexes that serve the filters on facets. The first one that is for a filter of the request is walked. */
  readonly facets?: readonly Facets[];
  /** The fields by which the list can be sorted besides `createdAt`. Each is an amount of the facets. */
  readonly amounts?: readonly string[];
}

/**
 * An index whose first columns have few different values together, such as a currency and a status. Each of these
 * values is a facet. The index ends in `created_at nulls first` and `id`; see `walk`.
 */
export interface Facets {
  /** The table, or a subquery of a table of links, with the columns, `created_at` and `id`. */
  readonly from: string;
  readonly columns: readonly string[];
  /** The condition of a partial index. */
  readonly where?: string;
  /** A condition on the columns: the facets of the rows to list. */
  readonly only?: string;
  /**
   * The column of an amount that the index includes. A second index has it between the facets and `created_at`, with
   * `nulls first` at the amount.
   */
  readonly amount?: string;
  /**
   * Whether this is the only index with the order of the rows within a facet. Then its columns have the default order
   * of nulls.
   */
  readonly isOnlyOrder?: true;
  /** The filters that need this index. Undefined for the index of all other requests. */
  readonly for?: readonly string[];
}
