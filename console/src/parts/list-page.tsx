import { isTillError, type RequestOptions, type TillEvent, type TillList } from '@till/client';
import type { ComponentChildren } from 'preact';
import { useLocation } from 'preact-iso';
import { useListPlace } from '../api/use-list-place.ts';
import { useResource } from '../api/use-resource.ts';
import { ExportButton } from '../exports/export-button.tsx';
import { type Column, DataTable } from './data-table.tsx';
import { type Filter, Filters, filterValues } from './filters.tsx';
import { Page } from './page.tsx';
import { Pager, type RowPage, rowsPerPage } from './pager.tsx';
import { sortIn } from './sorting.ts';
import { Empty, Show } from './states.tsx';

type Values = Readonly<Record<string, string>>;

/** What to ask the API for, and what a person has to do before a filter can be used. */
export interface ListQuery {
  readonly query: Values;
  readonly hint?: string;
}

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
  /** Turns the values of the filters, as people choose them, into parameters of the API. */
  readonly toQuery?: (values: Values) => ListQuery;
  /** Sent with every request, and not shown as a filter. */
  readonly fixed?: Values;
  readonly actions?: ComponentChildren;
  readonly reloadOn?: (event: TillEvent) => boolean;
}

/** A list with filters, order and place in the address, and the export of the filtered rows. */
export function ListPage<Row, Query>(props: ListPageProps<Row, Query>) {
  const { title, noun, list, exportPath, columns, keyOf, filters = [], fixed = {} } = props;
  const location = useLocation();
  const { cursor, page } = location.query;
  const values = filterValues(filters, location.query);
  const { query: asked, hint } = props.toQuery?.(values) ?? { query: values };
  const sort = sortIn(columns, location.query['sort']);
  const selected = { ...fixed, ...asked, ...(sort === undefined ? {} : { sort }) };
  const query = { ...selected, cursor, page, limit: rowsPerPage };
  const loaded = useResource(
    // An address can have any text. The API refuses what is not valid.
    (options) => list(query as Query, options).page(),
    [query],
    props.reloadOn,
  );
  const before = useListPlace(location.url, loaded.value);
  const resource = { ...loaded, value: loaded.value ?? before };
  const isRefused = isTillError(loaded.failure?.error, 'invalid_request');
  return (
    <Page
      // Another page of the list is a navigation: the focus moves to its heading.
      key={cursor ?? page}
      title={title}
      actions={
        <>
          {props.actions}
          {exportPath !== undefined && <ExportButton path={exportPath} query={selected} />}
        </>
      }
    >
      {filters.length > 0 && <Filters filters={filters} {...(hint === undefined ? {} : { hint })} />}
      {isRefused ? (
        <Refused filters={filters} values={values} error={loaded.failure?.error} />
      ) : (
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
                  <DataTable caption={title} columns={columns} rows={rows.data} keyOf={keyOf} isSortable />
                )}
                <Pager of={rows} noun={noun} />
              </>
            );
          }}
        </Show>
      )}
    </Page>
  );
}

/** The API refused a value of the address. Its message is for programs, so only the names of the filters are shown. */
function Refused({
  filters,
  values,
  error,
}: {
  readonly filters: readonly Filter[];
  readonly values: Values;
  readonly error: unknown;
}) {
  const { path } = useLocation();
  const paths = isTillError(error, 'invalid_request') ? (error.errors ?? []).map((one) => one.path) : [];
  const refused = filters.filter(({ name }) => paths.includes(`query.${name}`));
  const wrong = refused.map(({ label }) => label);
  const missing = refused.filter(({ name }) => values[name] === undefined);
  if (missing.length > 0)
    return <Empty>{`Choose a value for ${missing.map(({ label }) => label).join(' and ')}.`}</Empty>;
  return (
    <div class="state" role="alert">
      <p>
        {wrong.length > 0
          ? `Nothing can match what is in the filter ${wrong.join(' and ')}.`
          : 'This address does not lead to a part of the list.'}
      </p>
      <p>
        <a href={path}>Show the whole list</a>
      </p>
    </div>
  );
}
