import { columnOf } from '#core/platform/table.ts';
import type { List } from './list.ts';

/** The order of a list. Rows with equal values are ordered by `created_at` and `id`, in the same direction. */
export interface Sort {
  /** As in a request: `-createdAt`. */
  readonly name: string;
  /** The field of an amount. Undefined for `createdAt`. */
  readonly field: string | undefined;
  /** The column of that field. */
  readonly column: string | undefined;
  readonly direction: 'desc' | 'asc';
}

export const newestFirst: Sort = {
  name: '-createdAt',
  field: undefined,
  column: undefined,
  direction: 'desc',
};

/** The schema of the route has checked the name. */
export function sortOf<Row extends object>({ amounts = [] }: List<Row>, name: string | undefined): Sort {
  if (name === undefined || name === newestFirst.name) return newestFirst;
  const direction = name.startsWith('-') ? 'desc' : 'asc';
  const field = amounts.find((amount) => amount === name.replace('-', ''));
  return { name, field, column: field === undefined ? undefined : columnOf(field), direction };
}
