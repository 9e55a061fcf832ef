import type { Table } from '../platform/table.ts';
import type { Filters } from './list-filter.ts';

/** A list of a whole table. A counter keeps its total. */
export interface CountedList<Row extends object> {
  readonly table: Table<Row>;
  /** A condition for the rows to list. The triggers that keep the counter use the same condition. */
  readonly only?: string;
}

/** What counting the rows of a list needs. */
export type CountedRows = Pick<CountedList<object>, 'only'> & { readonly table: { readonly name: string } };

/** A list with its filters. Every list can also be filtered by time. */
export interface List<Row extends object> extends CountedList<Row> {
  readonly filters: Filters;
  /** Names a list that shows other rows of the table than the one whose total the counter keeps. */
  readonly variant?: string;
  /** The filter that names the owner of the rows. An owner has few rows, so they are all counted. */
  readonly owner?: string;
  /** Two filters, neither of them selective, that share an index in this order. */
  readonly combined?: readonly [string, string];
  /** The fields by which the list can be sorted besides `createdAt`. Each has an index on it, `created_at` and `id`. */
  readonly amounts?: readonly string[];
}
