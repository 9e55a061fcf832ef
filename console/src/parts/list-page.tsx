import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import type { RequestOptions, TillEvent, TillList } from '../../../client/src/index.ts';
import { useResource } from '../api/use-resource.ts';
import { type Column, DataTable } from './data-table.tsx';
import { ExportButton } from './export-button.tsx';
import { type Filter, Filters, filterValues } from './filters.tsx';
import { Page } from './page.tsx';
import { Pager, type RowPage, rowsPerPage } from './pager.tsx';
import { Empty, Show } from './states.tsx';

interface ListPageProps<Row, Query> {
  /** The heading. */
  readonly title: string;
  /** What the rows are called: `payment`. */
  readonly noun: string;
  /** The list in the API. */
  readonly list: (query: Query, options: RequestOptions) => TillList<Row, RowPage<Row>>;
  /** Its path, if it can be exported: `/api/v1/payments`. */
  readonly exportPath?: string;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly filters?: readonly Filter[];
  /** Sent with every request, and not shown as a filter. */
  readonly fixed?: Readonly<Record<string, string>>;
  readonly actions?: ComponentChildren;
  readonly reloadOn?: (event: TillEvent) => boolean;
}

/** A list with filters and place in the address, and the export of the filtered rows. */
export function ListPage<Row, Query>(props: ListPageProps<Row, Query>) {
  const { title, noun, list, exportPath, columns, keyOf, filters = [], fixed = {} } = props;
  const location = useLocation();
  const { cursor, page } = location.query;
  const values = { ...fixed, ...filterValues(filters, location.query) };
  const query = { ...values, cursor, page, limit: rowsPerPage };
  const resource = useResource(
    // An address can have any text. The API refuses what is not valid.
    (options) => list(query as Query, options).page(),
    [query],
    props.reloadOn,
  );
  return (
    <Page
      // Another page of the list is a navigation: the focus moves to its heading.
      key={cursor}
      title={title}
      actions={
        <>
          {props.actions}
          {exportPath !== undefined && <ExportButton path={exportPath} query={values} />}
        </>
      }
    >
      {filters.length > 0 && <Filters filters={filters} />}
      <Show resource={resource}>
        {(rows) => {
          const isLater = (cursor ?? page) !== undefined;
          if (rows.data.length === 0 && !isLater)
            return (
              <Empty>{Object.keys(values).length > 0 ? `No ${noun} matches.` : `No ${noun} yet.`}</Empty>
            );
          return (
            <>
              {rows.data.length === 0 ? (
                <Empty>{`No ${noun} is on this page.`}</Empty>
              ) : (
                <DataTable caption={title} columns={columns} rows={rows.data} keyOf={keyOf} />
              )}
              <Pager of={rows} noun={noun} />
            </>
          );
        }}
      </Show>
    </Page>
  );
}
