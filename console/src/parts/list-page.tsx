import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { toApiError } from '../api/api-error.ts';
import { downloadCsv } from '../api/download-csv.ts';
import type { Page as ListPageOf, TillEvent } from '../api/types.ts';
import { useResource } from '../api/use-resource.ts';
import { plural } from '../format/words.ts';
import { type Column, DataTable } from './data-table.tsx';
import { type Filter, Filters, filterValues } from './filters.tsx';
import { notify } from './notices.tsx';
import { Page } from './page.tsx';
import { Empty, Show } from './states.tsx';

const rowsPerPage = 25;

interface ListPageProps<Row> {
  /** The heading. */
  readonly title: string;
  /** What the rows are called: `payment`. */
  readonly noun: string;
  /** The list in the API: `/payments`. */
  readonly path: string;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly filters?: readonly Filter[];
  /** Sent with every request, and not shown as a filter. */
  readonly fixed?: Readonly<Record<string, string>>;
  readonly actions?: ComponentChildren;
  readonly reloadOn?: (event: TillEvent) => boolean;
}

/** A list with filters and cursor in the address, and the export of the filtered rows. */
export function ListPage<Row>(props: ListPageProps<Row>) {
  const { title, noun, path, columns, keyOf, filters = [], fixed = {} } = props;
  const location = useLocation();
  const { cursor } = location.query;
  const values = { ...fixed, ...filterValues(filters, location.query) };
  const resource = useResource<ListPageOf<Row>>(path, {
    query: { ...values, cursor, limit: rowsPerPage },
    ...(props.reloadOn === undefined ? {} : { reloadOn: props.reloadOn }),
  });
  const at = (next: string | null) => {
    const query = new URLSearchParams(filterValues(filters, location.query));
    if (next !== null) query.set('cursor', next);
    return `${location.path}?${query}`;
  };
  return (
    <Page
      // Another page of the list is a navigation: the focus moves to its heading.
      key={cursor}
      title={title}
      actions={
        <>
          {props.actions}
          <ExportButton path={path} query={values} />
        </>
      }
    >
      {filters.length > 0 && <Filters filters={filters} />}
      <Show resource={resource}>
        {({ data, nextCursor, total, totalCapped }) =>
          data.length === 0 ? (
            <Empty>{Object.keys(values).length > 0 ? `No ${noun} matches.` : `No ${noun} yet.`}</Empty>
          ) : (
            <>
              <DataTable caption={title} columns={columns} rows={data} keyOf={keyOf} />
              <nav class="paging" aria-label="Pages">
                {total !== undefined && (
                  <span class="quiet">
                    {totalCapped === true ? 'More than ' : ''}
                    {plural(total, noun)}
                  </span>
                )}
                {cursor !== undefined && <a href={at(null)}>First page</a>}
                {nextCursor !== null && <a href={at(nextCursor)}>Next page</a>}
              </nav>
            </>
          )
        }
      </Show>
    </Page>
  );
}

function ExportButton({
  path,
  query,
}: {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}) {
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    if (isBusy) return;
    setBusy(true);
    try {
      await downloadCsv(path, query);
    } catch (error) {
      notify(`The export failed: ${toApiError(error).detail}`);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" onClick={run} aria-busy={isBusy}>
      {isBusy ? 'Exporting…' : 'Export CSV'}
    </button>
  );
}
