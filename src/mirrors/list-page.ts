import { isUuid } from '../platform/id.ts';
import type { Queryable } from '../platform/postgres.ts';
import type { Table } from '../platform/table.ts';

export interface PageRequest {
  readonly page: number;
  readonly limit: number;
}

export interface Page<Item> extends PageRequest {
  readonly data: readonly Item[];
  readonly total: number;
}

/** A list of a whole table. A counter keeps its total. */
export interface CountedList<Row extends object> {
  readonly table: Table<Row>;
  /** A condition for the rows to list. The triggers that keep the counter use the same condition. */
  readonly only?: string;
}

/** What counting the rows of a list needs. */
export type CountedRows = Pick<CountedList<object>, 'only'> & { readonly table: { readonly name: string } };

/** The rows of a table, or those of one parent, newest first. */
interface ListSource<Row extends object> extends CountedList<Row> {
  readonly parent?: { readonly column: string; readonly id: string };
}

/**
 * Lists one page. The total of a whole table comes from its counter. The total of one parent comes from counting its
 * rows. A page in the second half of the list is read from the end, so that the last page is as cheap as the first, and
 * only the index is read to skip rows. One statement has one snapshot, so the total and the page always agree.
 */
export async function listPage<Row extends { readonly id: string }>(
  db: Queryable,
  source: ListSource<Row>,
  request: PageRequest,
): Promise<Page<Row>> {
  const { page, limit } = request;
  // A malformed id matches no rows, and PostgreSQL would reject the comparison.
  if (source.parent !== undefined && !isUuid(source.parent.id)) return { data: [], total: 0, page, limit };
  const values: unknown[] = [limit, (page - 1) * limit];
  const conditions = [source.only ?? 'true'];
  if (source.parent !== undefined) {
    values.push(source.parent.id);
    conditions.push(`${source.parent.column} = $3`);
  }
  const rows = await db.query<Row & { list_total: number }>(listSql(source, conditions), values);
  return {
    // An empty page has one row, which contains only the total.
    data: rows.filter(({ id }) => id !== null).map(({ list_total: _, ...row }) => row as unknown as Row),
    total: rows[0]?.list_total ?? 0,
    page,
    limit,
  };
}

/** The rows of one customer, or all rows. */
export function ofCustomer(customerId: string | undefined): Pick<ListSource<never>, 'parent'> {
  return customerId === undefined ? {} : { parent: { column: 'customer_id', id: customerId } };
}

function listSql<Row extends object>(
  { table, parent }: ListSource<Row>,
  conditions: readonly string[],
): string {
  const from = `till.${table.name}`;
  const where = conditions.join(' and ');
  const total =
    parent === undefined
      ? `select coalesce(sum(count), 0)::bigint as total from till.list_counts where resource = '${table.name}'`
      : `select count(*) as total from ${from} where ${where}`;
  return `
    with totals as materialized (${total}),
    bounds as materialized (
      select total, $2::bigint <= total / 2 as is_near, greatest(total - $2::bigint - $1::bigint, 0) as far_offset,
        least($1::bigint, greatest(total - $2::bigint, 0)) as far_limit
      from totals
    ),
    -- The outer limit tells the planner the number of rows, which it cannot derive from computed limits.
    page as (select id from (
      (select id from ${from} where ${where} and (select is_near from bounds)
        order by created_at desc, id desc limit $1::bigint offset $2::bigint)
      union all
      (select id from ${from} where ${where} and not (select is_near from bounds)
        order by created_at, id limit (select far_limit from bounds) offset (select far_offset from bounds))
    ) either limit $1::bigint)
    select bounds.total as list_total, item.*
    from bounds left join (select ${table.columns} from page join ${from} using (id)) item on true
    order by item."createdAt" desc, item.id desc`;
}
