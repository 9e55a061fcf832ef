import { Parameters, type Statement } from '#core/platform/parameters.ts';
import { type Add, compareRows, positionTerms, type Term } from './compare-rows.ts';
import { facetParts, facetsOf } from './facet-statement.ts';
import type { List } from './list.ts';
import type { Filter, Selection, UsedFilter } from './list-filter.ts';
import { newestFirst, type Sort } from './list-sort.ts';
import { type RowWindow, totalMax } from './row-window.ts';

type Direction = 'desc' | 'asc';

/** The SQL of a selection. */
interface Selected {
  /**
   * What is walked: the table of the list, or the rows that a filter has found. It has the columns `created_at` and
   * `id`.
   */
  readonly from: (direction: Direction) => string;
  readonly where: string;
  /** The same, for rows after a position, at which the walk begins. */
  readonly whereAfter: string;
  /** The columns of the walked index before `created_at` and `id`, with their values. */
  readonly lead: readonly Term[];
  readonly sort: Sort;
}

/**
 * The statement of a page. It walks one index: that of the most selective filter, whose rows are ordered like the list.
 * To leave PostgreSQL no other choice, the order names the column of that filter, and its value is a bound instead of
 * an equality. Otherwise PostgreSQL may walk all rows by time, because it assumes that matching rows are evenly spread.
 * That takes seconds for a plan that was sold long ago. Filters that are not selective, and the order of an amount,
 * walk an index for each facet: see `facetParts`. What a selective filter selects is sorted by the amount.
 */
export function listStatement<Row extends object>(
  list: List<Row>,
  selection: Selection,
  place: RowWindow,
  sort: Sort = newestFirst,
): Statement {
  const parameters = new Parameters([place.limit]);
  const { add } = parameters;
  const facets = facetsOf(list, selection, sort);
  if (facets !== undefined) {
    const { tables, total, page } = facetParts(facets, selection, place, sort, add);
    const isCounted = place.skip === undefined && !isCapped(list, selection);
    const counted = isCounted ? counterOf(list) : total;
    return parameters.statement(pageStatement(list, `recursive ${tables}`, counted, page, sort));
  }
  const found = rowsOf(selection, add);
  const selected = found === undefined ? select(list, selection, add, sort) : ofFound(selection, add, sort);
  const page =
    place.offset === undefined
      ? pageAfter(selected, place, add)
      : numberedPage(selected, `${add(place.offset)}::bigint`, isCapped(list, selection));
  const counted = sort.column === undefined ? selected : select(list, selection, add, newestFirst);
  const total = place.skip === undefined ? countRows(list, selection, counted) : 'select 0::bigint as total';
  const tables = found === undefined ? '' : `found as materialized (${found}),`;
  return parameters.statement(pageStatement(list, tables, total, page, sort));
}

/** The query of a filter that finds its rows by itself. */
function rowsOf({ used }: Selection, add: Add): string | undefined {
  for (const { filter, value } of used) if ('toRows' in filter) return filter.toRows(add, value);
  return undefined;
}

/** The rows that a filter has found, within the times of the request. */
function ofFound(selection: Selection, add: Add, sort: Sort): Selected {
  const { where, whereAfter } = bound(selection, add, sort, [], []);
  return { from: () => 'found', where, whereAfter, lead: [], sort };
}

function pageStatement<Row extends object>(
  list: List<Row>,
  tables: string,
  total: string,
  page: string,
  { field, direction }: Sort,
): string {
  const amount = field === undefined ? '' : `item."${field}" ${direction}, `;
  return `
    with ${tables} totals as materialized (${total}),
    ${page}
    select totals.total as list_total, item.*
    from totals left join (
      select ${list.table.columns}, (extract(epoch from place) * 1000000)::bigint::text as list_micros
      from page join till.${list.table.name} using (id)
    ) item on true
    order by ${amount}item."createdAt" ${direction}, item.id ${direction}`;
}

/** Whether the total is counted only up to `totalMax`. The rows of one owner are all counted. */
export function isCapped<Row extends object>({ owner, variant }: List<Row>, selection: Selection): boolean {
  return variant !== undefined || hasTimes(selection) || selection.used.some(({ name }) => name !== owner);
}

function hasTimes({ createdAfter, createdBefore }: Selection): boolean {
  return createdAfter !== undefined || createdBefore !== undefined;
}

function select<Row extends object>(list: List<Row>, selection: Selection, add: Add, sort: Sort): Selected {
  const { used } = selection;
  const walked = sort.column === undefined ? used.slice(0, 1) : [];
  const lead = walked.flatMap(({ filter, value }) => {
    const column = columnOf(filter);
    return column === undefined || !('toSql' in filter) ? [] : [{ column, value: filter.toSql(add(value)) }];
  });
  const others = used
    .filter((one) => !walked.includes(one) || columnOf(one.filter) === undefined)
    .map((one) => conditionOf(one, list.table.name, () => add(one.value)));
  const rows = [...(list.only === undefined ? [] : [list.only]), ...others];
  return { from: sourceOf(list, used.length > 0), ...bound(selection, add, sort, lead, rows), lead, sort };
}

/**
 * The conditions of a walk: the values of its first columns, the times of the request, and the conditions that its rows
 * are compared with.
 */
function bound(
  { createdAfter, createdBefore }: Selection,
  add: Add,
  sort: Sort,
  lead: readonly Term[],
  rows: readonly string[],
): Pick<Selected, 'where' | 'whereAfter'> {
  const time = (value: string) => ({ column: 'created_at', value: `${add(value)}::timestamptz` });
  const lower = compareRows('>=', createdAfter === undefined ? lead : [...lead, time(createdAfter)]);
  const upper =
    createdBefore === undefined ? compareRows('<=', lead) : compareRows('<', [...lead, time(createdBefore)]);
  const [first, last] = sort.direction === 'desc' ? [upper, lower] : [lower, upper];
  const isWithin = (start: string) => [start, last, ...rows].join(' and ');
  // Of two bounds in the same direction, PostgreSQL may begin at the wider one, and read all rows between them.
  return { where: isWithin(first), whereAfter: isWithin(`(${first}) is true`) };
}

/**
 * The table, or all its parts. Each part is in the order of its own index, because PostgreSQL merges only what is in
 * order. It would sort all rows otherwise.
 */
function sourceOf<Row extends object>(
  { table, parts }: List<Row>,
  isFiltered: boolean,
): (direction: Direction) => string {
  if (parts === undefined || isFiltered) return () => `till.${table.name}`;
  return (direction) => {
    const rows = parts.map(
      (part) => `(select created_at, id from till.${table.name} where ${part}
        order by created_at ${direction}, id ${direction})`,
    );
    return `(${rows.join(' union all ')}) as ${table.name}`;
  };
}

/** The column that leads the index of a filter. A condition has none. */
function columnOf(filter: Filter): string | undefined {
  return 'toSql' in filter ? filter.column : undefined;
}

/** The condition of a filter whose index is not walked. */
function conditionOf({ filter, value }: UsedFilter, table: string, add: () => string): string {
  if ('toSql' in filter) return `${filter.column} = ${filter.toSql(add())}`;
  if ('bound' in filter) return `${filter.bound} ${filter.operator} ${add()}::bigint`;
  if ('toRows' in filter) throw new Error('a filter that finds its rows is not compared with rows');
  if ('toRowCondition' in filter) return `(${filter.toRowCondition(table, add())})`;
  const condition = `(${filter.toCondition(add, value)})`;
  // In this form, a condition cannot use an index. PostgreSQL must not read all rows of a facet to compare them with
  // those of an owner.
  return 'isFacet' in filter ? `${condition} is true` : condition;
}

function orderBy({ lead, sort }: Selected, direction: Direction): string {
  const amount = sort.column === undefined ? [] : [sort.column];
  const columns = [...lead.map(({ column }) => column), ...amount, 'created_at', 'id'];
  return `order by ${columns.map((column) => `${column} ${direction}`).join(', ')}`;
}

/** The total of a whole table. */
function counterOf<Row extends object>({ table }: List<Row>): string {
  return `select coalesce(sum(count), 0)::bigint as total from till.list_counts where resource = '${table.name}'`;
}

function countRows<Row extends object>(list: List<Row>, selection: Selection, selected: Selected): string {
  const { where, sort } = selected;
  const from = selected.from(sort.direction);
  if (selection.used.length === 0 && !isCapped(list, selection)) return counterOf(list);
  if (!isCapped(list, selection)) return `select count(*) as total from ${from} where ${where}`;
  return `select count(*) as total from (
    select from ${from} where ${where} ${orderBy(selected, sort.direction)} limit ${totalMax + 1}) as matches`;
}

function pageAfter(
  selected: Selected,
  { position, skip = 0 }: Pick<RowWindow, 'position' | 'skip'>,
  add: Add,
): string {
  const { from, where, whereAfter, lead, sort } = selected;
  const operator = sort.direction === 'desc' ? '<' : '>';
  const isAfter = position && compareRows(operator, [...lead, ...positionTerms(position, sort.column, add)]);
  const condition = isAfter === undefined ? where : `${whereAfter} and ${isAfter}`;
  return `page as (select created_at as place, id from ${from(sort.direction)} where ${condition}
    ${orderBy(selected, sort.direction)} limit $1::bigint offset ${add(skip)}::bigint)`;
}

/**
 * A page by its number. In the second half of the list it is read from the end, so that the last page is as cheap as
 * the first. If the total is capped, the end is unknown. Only the index is read to skip rows. It skips fastest if it
 * returns its own columns in its own order, directly to the limit: a limit of zero turns the other half off.
 */
function numberedPage(selected: Selected, offset: string, mayBeCapped: boolean): string {
  const { from, where, sort } = selected;
  const backwards = sort.direction === 'desc' ? 'asc' : 'desc';
  const isCut = mayBeCapped ? ` or total > ${totalMax}` : '';
  return `
    bounds as materialized (
      select case when ${offset} <= total / 2${isCut} then $1::bigint else 0 end as near_limit,
        case when ${offset} <= total / 2${isCut} then 0
          else least($1::bigint, greatest(total - ${offset}, 0)) end as far_limit,
        greatest(total - ${offset} - $1::bigint, 0) as far_offset
      from totals
    ),
    -- The outer limit tells the planner the number of rows, which it cannot derive from computed limits.
    page as (select place, id from (
      (select created_at as place, id from ${from(sort.direction)} where ${where}
        ${orderBy(selected, sort.direction)} limit (select near_limit from bounds) offset ${offset})
      union all
      (select created_at as place, id from ${from(backwards)} where ${where}
        ${orderBy(selected, backwards)} limit (select far_limit from bounds) offset (select far_offset from bounds))
    ) either limit $1::bigint)`;
}
