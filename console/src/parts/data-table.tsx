import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { sortOf } from './sorting.ts';
import { Empty } from './states.tsx';

export interface Column<Row> {
  readonly header: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers are aligned at their end. */
  readonly isNumber?: boolean;
  /** Left out on narrow screens. */
  readonly isMinor?: boolean;
  /** The field of the API by which the list can be sorted: `amount`. */
  readonly sort?: string;
}

interface DataTableProps<Row> {
  /** What the rows are, for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Shown instead of a table without rows. */
  readonly empty?: string;
  /** Whether the headings of columns sort the list, in the address of the page. */
  readonly isSortable?: boolean;
}

/**
 * A table that scrolls in its own region if the screen is too narrow, and is therefore reachable by keyboard. Its first
 * column names the row.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, columns, rows, keyOf, empty, isSortable = false } = props;
  const id = useId();
  if (empty !== undefined && rows.length === 0) return <Empty>{empty}</Empty>;
  return (
    <section class="table" aria-labelledby={id} tabIndex={0}>
      <table>
        <caption id={id} class="visually-hidden">
          {caption}
        </caption>
        <thead>
          <tr>
            {columns.map((column) =>
              isSortable && column.sort !== undefined ? (
                <SortHeader key={column.header} column={column} field={column.sort} />
              ) : (
                <th key={column.header} scope="col" class={classOf(column)}>
                  {column.header}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column, index) => {
                const Cell = index === 0 ? 'th' : 'td';
                return (
                  <Cell
                    key={column.header}
                    class={classOf(column)}
                    {...(index === 0 ? { scope: 'row' as const } : {})}
                  >
                    {column.cell(row)}
                  </Cell>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** A heading that leads to the list in another order, from its first page on. */
function SortHeader({ column, field }: { readonly column: Column<never>; readonly field: string }) {
  const { path, query } = useLocation();
  const { cursor: _cursor, page: _page, sort, ...filters } = query;
  const { direction, next } = sortOf(field, sort);
  return (
    <th scope="col" class={classOf(column)} {...(direction === undefined ? {} : { 'aria-sort': direction })}>
      <a href={`${path}?${new URLSearchParams({ ...filters, sort: next })}`}>{column.header}</a>
    </th>
  );
}

function classOf({ isNumber = false, isMinor = false }: Column<never>): string {
  return `${isNumber ? 'number' : ''} ${isMinor ? 'minor' : ''}`.trim();
}
