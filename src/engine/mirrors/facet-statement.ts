import { type Add, compareRows, positionTerms, type Term } from './compare-rows.ts';
import type { Facets, List } from './list.ts';
import type { Selection, UsedFilter } from './list-filter.ts';
import type { Sort } from './list-sort.ts';
import { type RowWindow, totalMax } from './row-window.ts';

/** The parts of the statement of a page. */
interface FacetParts {
  /** Other tables that the parts need. They are recursive. */
  readonly tables: string;
  readonly total: string;
  /** The definition of the table `page`. */
  readonly page: string;
}

/** A bound of the first columns of an order. */
interface Edge {
  readonly operator: string;
  readonly terms: readonly Term[];
}

/**
 * An order of the rows within a facet: the columns of the index after those of the facet, and the request's bounds on
 * them.
 */
interface Order {
  readonly columns: readonly string[];
  readonly edges: readonly Edge[];
}

/** The SQL that reads the rows of the selected facets in one of the orders. */
interface Ordered {
  readonly tables: readonly string[];
  /** The SQL that selects the columns `what` of the first `limit` rows of each facet, after the position `after`. */
  readonly rows: (what: string, after: readonly Edge[], limit: string) => string;
  readonly total: string;
}

/**
 * The facet index that serves this request. Undefined if another filter selects fewer rows, or if neither a filter nor
 * the sort needs facets.
 */
export function facetsOf<Row extends object>(
  { facets = [] }: List<Row>,
  { used }: Selection,
  { column }: Sort,
): Facets | undefined {
  if (used.length === 0 && column === undefined) return undefined;
  if (!used.every(({ filter }) => 'isFacet' in filter || 'bound' in filter)) return undefined;
  const names = used.map(({ name }) => name);
  const found = facets.find((one) => one.for === undefined || one.for.some((name) => names.includes(name)));
  return column === undefined || found?.amount === column ? found : undefined;
}

/**
 * A page of the rows of some facets. A loose scan finds the facets that exist, and reads one entry of the index for
 * each. The rows of each selected facet are in the order of the list, so the page is among the first rows of each. The
 * cost depends on the number of facets, and not on the number of rows.
 */
export function facetParts(
  facets: Facets,
  selection: Selection,
  place: RowWindow,
  { column, direction }: Sort,
  add: Add,
): FacetParts {
  const bounds = boundsOf(selection.used, add);
  const byTime: Order = { columns: ['created_at', 'id'], edges: timesOf(selection, add) };
  const byAmount: Order = {
    columns: facets.amount === undefined ? [] : [facets.amount, ...byTime.columns],
    edges: bounds,
  };
  const newest = inOrder('times', facets, { order: byTime, other: byAmount, direction });
  const ordered =
    column === undefined ? newest : inOrder('amounts', facets, { order: byAmount, other: byTime, direction });
  // The rows are counted in the order of time if the request bounds the amount: those bounds then limit the count.
  const counted = bounds.length > 0 ? newest : ordered;
  const offset = `${add(place.offset ?? place.skip ?? 0)}::bigint`;
  const columns = column === undefined ? byTime.columns : byAmount.columns;
  const nearest = ordered.rows(
    columns.join(', '),
    afterPosition(place, column, direction, add),
    `$1::bigint + ${offset}`,
  );
  const conditions = [facets.only ?? 'true', ...conditionsOf(selection.used, add)].join(' and ');
  return {
    tables: [
      looseScan(facets, leadOf(facets, selection.used, add)),
      selectedFacets(facets, conditions),
      ...new Set([...counted.tables, ...ordered.tables]),
      '',
    ].join(', '),
    total: place.skip === undefined ? counted.total : 'select 0::bigint as total',
    page: `page as (select created_at as place, id from (${nearest}) as nearest
      order by ${columns.map((name) => `${name} ${direction}`).join(', ')} limit $1::bigint offset ${offset})`,
  };
}

/**
 * A page reads about four pages of the index for each amount. With this many amounts, that is about as much as counting
 * a total up to its cap.
 */
const amountsMax = 100;

/**
 * Walks the index of an order. If the request also bounds the other order, that may select few rows. So the index of
 * the other order is read first, up to the cap of a total, and if it has no more rows, they are sorted. Otherwise the
 * rows may still have few amounts, such as the prices of some plans: then the newest rows of each amount are read.
 * Otherwise each row of the walk is compared with the bounds.
 */
function inOrder(
  name: string,
  facets: Facets,
  {
    order,
    other,
    direction,
  }: {
    readonly order: Order;
    readonly other: Order;
    readonly direction: string;
  },
): Ordered {
  const steps = { facets, direction };
  const cap = `${totalMax + 1}`;
  const count = (rows: string) =>
    `select count(*) as total from (select from (${rows}) as found limit ${cap}) as matches`;
  if (other.edges.length === 0) {
    const rows: Ordered['rows'] = (what, after, limit) =>
      walk({ ...steps, what, order, edges: [...order.edges, ...after], limit });
    return { tables: [], rows, total: count(rows('', [], cap)) };
  }
  const within = walk({
    ...steps,
    what: 'found.*',
    order: other,
    edges: other.edges,
    limit: cap,
  });
  const isFew = `(select count(*) from within_${name}) <= ${totalMax}`;
  const amount = other.columns[0] === facets.amount ? facets.amount : undefined;
  const rows: Ordered['rows'] = (what, after, limit) => {
    const edges = [...order.edges, ...after];
    const ofAmounts =
      amount === undefined
        ? ''
        : `union all ${walk({
            // Only payments can be filtered by a range of amounts. Of their indexes with these columns, this is the
            // only one with the default order of nulls.
            facets: { ...facets, columns: [...facets.columns, amount], isOnlyOrder: true },
            what,
            order,
            edges,
            direction,
            limit,
            from: 'few_amounts',
          })}`;
    return `${walk({ ...steps, what, order, edges, others: other.edges, limit, from: `many_${name}` })} ${ofAmounts}
      union all (select ${what} from within_${name} where ${[isFew, ...edges.map(plainEdge)].join(' and ')})`;
  };
  const isMany =
    amount === undefined ? `not ${isFew}` : `(select count(*) from some_amounts) > ${amountsMax}`;
  return {
    tables: [
      `within_${name} as materialized (${within} limit ${cap})`,
      ...(amount === undefined ? [] : amountTables(facets, amount, other.edges, `not ${isFew}`)),
      `many_${name} as materialized (select * from selected where ${isMany})`,
    ],
    rows,
    total:
      order.edges.length === 0 ? `select count(*) as total from within_${name}` : count(rows('', [], cap)),
  };
}

/**
 * The amounts within the bounds, for each selected facet. `some_amounts` stops at `amountsMax` + 1 amounts.
 * `few_amounts` has all amounts, or none if there are more than `amountsMax`. Like the scan of the facets, it is a
 * loose scan, which jumps from one amount to the next.
 */
function amountTables(
  facets: Facets,
  amount: string,
  bounds: readonly Edge[],
  condition: string,
): readonly string[] {
  const inFacet = namesInFacet(facets);
  const last = `f${facets.columns.length + 1}`;
  const bound = (operator: string) => {
    const edge = bounds.find((one) => one.operator === operator);
    return edge === undefined ? 'true' : plainEdge(edge);
  };
  const next = (start: string) => `lateral (select ${amount} from ${facets.from}
    where ${isOfFacet(facets)} and ${start} and ${bound('<=')} order by ${amount} nulls first limit 1) as following`;
  return [
    `amounts (${inFacet}, ${last}) as (
      (select ${inFacet}, following.${amount} from selected cross join ${next(bound('>='))} where ${condition})
      union all
      select ${inFacet}, following.${amount} from amounts
        cross join ${next(`${amount} > ${last}`)}
    )`,
    `some_amounts as materialized (select * from amounts limit ${amountsMax + 1})`,
    `few_amounts as materialized (
      select * from some_amounts where (select count(*) from some_amounts) <= ${amountsMax})`,
  ];
}

/** The names of the columns in a facet: they differ from those of the rows, so that statements can compare the two. */
const namesInFacet = ({ columns }: Facets) => columns.map((_, index) => `f${index + 1}`).join(', ');
const namesInRow = ({ columns }: Facets) => columns.join(', ');
const isOfFacet = ({ columns }: Facets) =>
  columns.map((column, index) => `${column} = f${index + 1}`).join(' and ');

/**
 * All facets. Each step jumps to one entry of the index, and starts the next step there. The entry that was found
 * decides whether the scan ends: before PostgreSQL 18, a row comparison ends a scan only where its first column
 * differs.
 */
export function looseScan(facets: Facets, lead: (operator: '>=' | '<=') => string = () => 'true'): string {
  const { from, where = 'true' } = facets;
  const [inRow, inFacet] = [namesInRow(facets), namesInFacet(facets)];
  const nextFrom = (start: string) =>
    `(select ${inRow} from ${from} where ${where} and ${start} order by ${inRow} limit 1) as following`;
  return `
    facets (${inFacet}) as (
      select * from ${nextFrom(lead('>='))} where ${lead('<=')}
      union all
      select following.* from facets cross join lateral ${nextFrom(`(${inRow}) > (${inFacet})`)}
      where ${lead('<=')}
    )`;
}

/**
 * Bounds the scan by the first columns of the index whose values are known. A condition on another column would read
 * all entries that it drops. So would an equality: PostgreSQL would begin each step at its first entry.
 */
function leadOf(
  { columns }: Facets,
  used: readonly UsedFilter[],
  add: Add,
): (operator: '>=' | '<=') => string {
  const known: Term[] = [];
  for (const column of columns) {
    const one = used.find(({ filter }) => 'isFacet' in filter && filter.equality?.column === column);
    if (one === undefined || !('isFacet' in one.filter) || one.filter.equality === undefined) break;
    known.push({ column, value: one.filter.equality.toSql(add(one.value)) });
  }
  return (operator) => compareRows(operator, known);
}

function selectedFacets(facets: Facets, conditions: string): string {
  const renamed = facets.columns.map((name, index) => `f${index + 1} as ${name}`).join(', ');
  return `
    selected as materialized (
      select ${namesInFacet(facets)} from (select facets.*, ${renamed} from facets) as facet where ${conditions}
    )`;
}

/**
 * The first rows of each facet, from the index of the order. PostgreSQL may assume that a facet has most rows, and
 * choose an index of all rows by time. So the index of the facets has an unusual place of nulls, although there are
 * none, and the statement asks for that order, which no other index has. There is one bound in each direction, because
 * with two PostgreSQL may start at the wider one. The bounds have a form that only this index can serve.
 */
export function walk({
  facets,
  what,
  order,
  edges,
  others = [],
  direction,
  limit,
  from = 'selected',
}: {
  readonly facets: Facets;
  readonly what: string;
  readonly order: Pick<Order, 'columns'>;
  readonly edges: readonly Edge[];
  /** Conditions that do not bound the walk. */
  readonly others?: readonly Edge[];
  readonly direction: string;
  readonly limit: string;
  readonly from?: string;
}): string {
  // The last edge is the narrowest.
  const boundBy = (operators: readonly string[]) =>
    edges.findLast(({ operator }) => operators.includes(operator));
  const bounds = [boundBy(['>', '>=']), boundBy(['<', '<='])];
  const conditions = [
    facets.where ?? 'true',
    isOfFacet(facets),
    ...edges.map((edge) => (bounds.includes(edge) ? plainEdge(edge) : comparedEdge(edge))),
    ...others.map(comparedEdge),
  ];
  const nulls = direction === 'desc' ? 'nulls last' : 'nulls first';
  const sorted = order.columns.map((column, index) =>
    index === 0 && !facets.isOnlyOrder ? `${column} ${direction} ${nulls}` : `${column} ${direction}`,
  );
  const amount = facets.amount === undefined ? '' : `${facets.amount}, `;
  return `(select ${what} from ${from} cross join lateral (
    select ${amount}created_at, id from ${facets.from} where ${conditions.join(' and ')}
    order by ${sorted.join(', ')} limit ${limit}) as found)`;
}

const plainEdge = ({ operator, terms }: Edge) => compareRows(operator, terms);
/** In this form, a condition cannot use an index. */
const comparedEdge = (edge: Edge) => `(${plainEdge(edge)}) is true`;

function conditionsOf(used: readonly UsedFilter[], add: Add): readonly string[] {
  return used.flatMap(({ filter, value }) =>
    'isFacet' in filter ? [`(${filter.toCondition(() => add(value), value)})`] : [],
  );
}

function boundsOf(used: readonly UsedFilter[], add: Add): readonly Edge[] {
  return used.flatMap(({ filter, value }) =>
    'bound' in filter
      ? [{ operator: filter.operator, terms: [{ column: filter.bound, value: `${add(value)}::bigint` }] }]
      : [],
  );
}

function timesOf({ createdAfter, createdBefore }: Selection, add: Add): readonly Edge[] {
  const edge = (operator: string, time: string | undefined) =>
    time === undefined
      ? []
      : [{ operator, terms: [{ column: 'created_at', value: `${add(time)}::timestamptz` }] }];
  return [...edge('>=', createdAfter), ...edge('<', createdBefore)];
}

function afterPosition(
  { position }: RowWindow,
  column: string | undefined,
  direction: string,
  add: Add,
): readonly Edge[] {
  if (position === undefined) return [];
  return [{ operator: direction === 'desc' ? '<' : '>', terms: positionTerms(position, column, add) }];
}
