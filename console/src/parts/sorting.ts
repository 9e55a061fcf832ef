/** A column by which a list can be sorted. */
interface Sortable {
  /** The field of the API: `amount`. */
  readonly sort?: string;
}

/** The order in an address, if a column has it. Undefined for the default, the newest first. */
export function sortIn(columns: readonly Sortable[], sort: string | undefined): string | undefined {
  const field = sort?.replace(/^-/, '');
  return sort !== '-createdAt' && columns.some((column) => column.sort !== undefined && column.sort === field)
    ? sort
    : undefined;
}

/** How a list is sorted by a field now, and the order that its heading leads to: first the largest or the newest. */
export function sortOf(
  field: string,
  current = '-createdAt',
): { readonly direction: 'ascending' | 'descending' | undefined; readonly next: string } {
  if (current === `-${field}`) return { direction: 'descending', next: field };
  return { direction: current === field ? 'ascending' : undefined, next: `-${field}` };
}
