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

/** A list of a whole table, whose total is kept in a counter. */
export interface CountedList<Row extends object> {
  readonly table: Table<Row>;
  /** Leaves rows out of every list. The triggers that keep the counter use the same condition. */
  readonly only?: string;
}

/** What counting the rows of a list needs. */
export type CountedRows = Pick<CountedList<object>, 'only'> & { readonly table: { readonly name: string } };

/** A list: the rows of one table, or of one parent in it, newest first. */
interface ListSource<Row extends object> extends CountedList<Row> {
  readonly parent?: { readonly column: string; readonly id: string };
}

/**
 * The one list query. The total of a whole table comes from its counter, that of one parent from counting its rows. A
 * page in the far half is read from the other end, so that the last page is as cheap as the first; the rows that are
 * skipped are skipped in the index alone. It is a single statement, hence a single snapshot: the total and the page
 * always agree.
 */
export async function listPage<Row extends { readonly id: string }>(
  db: Queryable,
  source: ListSource<Row>,
  request: PageRequest,
): Promise<Page<Row>> {
  const { page, limit } = request;
  // A malformed id matches no rows, and PostgreSQL would refuse to compare it.
  if (source.parent !== undefined && !isUuid(source.parent.id)) return { data: [], total: 0, page, limit };
  const values: unknown[] = [limit, (page - 1) * limit];
  const conditions = [source.only ?? 'true'];
  if (source.parent !== undefined) {
    values.push(source.parent.id);
    conditions.push(`${source.parent.column} = $3`);
  }
  const rows = await db.query<Row & { list_total: number }>(listSql(source, conditions), values);
  return {
    // On an empty page one row is left, which holds nothing but the total.
    data: rows.filter(({ id }) => id !== null).map(({ list_total: _, ...row }) => row as unknown as Row),
    total: rows[0]?.list_total ?? 0,
    page,
    limit,
  };
}

/** The rows of one customer, or all. */
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
    -- The outer limit tells the planner how few rows there are, which it cannot see in limits that are worked out.
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
