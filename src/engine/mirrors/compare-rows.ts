import { instantText } from '#core/platform/instant.ts';
import type { Parameters } from '#core/platform/parameters.ts';
import type { ListPosition } from './list-cursor.ts';

/** A column and the SQL of the value that it is compared with. */
export interface Term {
  readonly column: string;
  readonly value: string;
}

/** Adds a value to a statement, and returns the SQL of its parameter. */
export type Add = Parameters['add'];

/** A comparison of two SQL rows: the columns with the values. */
export function compareRows(operator: string, terms: readonly Term[]): string {
  if (terms.length === 0) return 'true';
  const row = (items: readonly string[]) => `(${items.join(', ')})`;
  return `${row(terms.map(({ column }) => column))} ${operator} ${row(terms.map(({ value }) => value))}`;
}

/** A position in a list. `column` is that of the amount by which the list is sorted, if there is one. */
export function positionTerms(
  { amount, createdAt, id }: ListPosition,
  column: string | undefined,
  add: Add,
): readonly Term[] {
  return [
    ...(column === undefined ? [] : [{ column, value: `${add(String(amount))}::bigint` }]),
    { column: 'created_at', value: `${add(instantText(createdAt))}::timestamptz` },
    { column: 'id', value: `${add(id)}::uuid` },
  ];
}
