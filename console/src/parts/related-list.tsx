import type { RequestOptions, TillEvent, TillList } from '@till/client';
import { useResource } from '../api/use-resource.ts';
import { type Column, DataTable } from './data-table.tsx';
import { Section } from './page.tsx';
import type { RowPage } from './pager.tsx';
import { Show } from './states.tsx';

/** Enough for an overview. The list has the others. */
const rowsMax = 10;

interface RelatedListProps<Row> {
  readonly title: string;
  /** The list in the API, with this many rows. */
  readonly list: (limit: number, options: RequestOptions) => TillList<Row, RowPage<Row>>;
  /** The page with all rows. */
  readonly all: string;
  /** Said if there is no row: `No invoices.` */
  readonly empty: string;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly reloadOn: (event: TillEvent) => boolean;
}

/** The newest objects that belong to the object of a page, with a link to all of them. */
export function RelatedList<Row>(props: RelatedListProps<Row>) {
  const { title, list, all, empty, columns, keyOf, reloadOn } = props;
  const resource = useResource((options) => list(rowsMax, options).page(), [all], reloadOn);
  const hasMore = (resource.value?.nextCursor ?? null) !== null;
  return (
    <Section title={title} {...(hasMore ? { aside: <a href={all}>All {title.toLowerCase()}</a> } : {})}>
      <Show resource={resource}>
        {({ data }) => (
          <DataTable caption={title} empty={empty} columns={columns} rows={data} keyOf={keyOf} />
        )}
      </Show>
    </Section>
  );
}
