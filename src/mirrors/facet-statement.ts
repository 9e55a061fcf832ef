import { instantText } from '../platform/instant.ts';
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

/** A bound of the time, or of the time and the id, of the rows of each facet. */
interface Edge {
  readonly operator: string;
  readonly columns: string;
  readonly values: string;
}

type Add = (value: unknown) => string;

/**
 * The index to walk for each of its facets. Undefined if another filter selects fewer rows, or none is about the facets. In
 * a list that is sorted by an amount, facets are conditions.
 */
export function facetsOf<Row extends object>(
  { facets = [] }: List<Row>,
  { used }: Selection,
  { column }: Sort,
): Facets | undefined {
  if (used.length === 0 || column !== undefined) return undefined;
  if (!used.every(({ filter }) => 'isFacet' in filter || 'bound' in filter)) return undefined;
  const names = used.map(({ name }) => name);
  return facets.find((one) => one.for === undefined || one.for.some((name) => names.includes(name)));
}

/**
 * A page of the rows of some facets. The facets that exist are found by a loose scan, which reads one entry of the index
 * for each. The rows of each selected facet are in the order of the list, so the page is among the first rows of each.
 * The cost depends on the number of facets, and not on the number of rows.
 */
export function facetParts(
  facets: Facets,
  selection: Selection,
  place: RowWindow,
  { direction }: Sort,
  add: Add,
): FacetParts {
  const conditions = [facets.only ?? 'true', ...conditionsOf(selection.used, add)].join(' and ');
  const bounds = boundsOf(selection.used, add);
  const times = timesOf(selection, add);
  const edges = [...times, ...afterPosition(place, direction, add)];
  const offset = `${add(place.offset ?? place.skip ?? 0)}::bigint`;
  // The index of the amount does not have the columns of the other facets.
  const mayBeFew = bounds.length > 0 && facets.for === undefined;
  const rows = (what: string, where: readonly Edge[], limit: string) =>
    `${walk(facets, { what, where, bounds, direction, limit })}${mayBeFew ? fewRows(what, where) : ''}`;
  const matches = rows('', times, `${totalMax + 1}`);
  const nearest = rows('created_at, id', edges, `$1::bigint + ${offset}`);
  return {
    tables: [
      looseScan(facets, leadOf(facets, selection.used, add)),
      ...(mayBeFew ? [boundedRows(facets, bounds, conditions)] : []),
      selectedFacets(facets, conditions, mayBeFew),
      '',
    ].join(', '),
    total:
      place.skip === undefined
        ? `select count(*) as total from (select from (${matches}) as found limit ${totalMax + 1}) as matches`
        : 'select 0::bigint as total',
    page: `page as (select created_at as place, id from (${nearest}) as nearest
      order by created_at ${direction}, id ${direction} limit $1::bigint offset ${offset})`,
  };
}

/** The names of the columns in a facet: they differ from those of the rows, so that statements can compare the two. */
const namesInFacet = ({ columns }: Facets) => columns.map((_, index) => `f${index + 1}`).join(', ');
const namesInRow = ({ columns }: Facets) => columns.join(', ');

/** All facets. */
function looseScan(facets: Facets, lead: (operator: '>=' | '<=') => string): string {
  const { from, where = 'true' } = facets;
  const [inRow, inFacet] = [namesInRow(facets), namesInFacet(facets)];
  return `
    facets (${inFacet}) as (
      (select ${inRow} from ${from} where ${where}${lead('>=')}${lead('<=')} order by ${inRow} limit 1)
      union all
      select following.* from facets cross join lateral (
        select ${inRow} from ${from} where ${where} and (${inRow}) > (${inFacet})${lead('<=')}
        order by ${inRow} limit 1) as following
    )`;
}

/**
 * Bounds the scan by the first columns of the index whose values are known. A condition on another column would read all
 * entries that it drops. So would an equality: PostgreSQL would begin each step at its first entry.
 */
function leadOf(
  { columns }: Facets,
  used: readonly UsedFilter[],
  add: Add,
): (operator: '>=' | '<=') => string {
  const known: { column: string; value: string }[] = [];
  for (const column of columns) {
    const one = used.find(({ filter }) => 'isFacet' in filter && filter.equality?.column === column);
    if (one === undefined || !('isFacet' in one.filter) || one.filter.equality === undefined) break;
    known.push({ column, value: one.filter.equality.toSql(add(one.value)) });
  }
  if (known.length === 0) return () => '';
  const names = known.map(({ column }) => column).join(', ');
  const values = known.map(({ value }) => value).join(', ');
  return (operator) => ` and (${names}) ${operator} (${values})`;
}

/** The facets to walk. With bounds of an amount, there are none if few rows are within them. */
function selectedFacets(facets: Facets, conditions: string, mayBeFew: boolean): string {
  const renamed = facets.columns.map((name, index) => `f${index + 1} as ${name}`).join(', ');
  return `
    walked as materialized (
      select ${namesInFacet(facets)} from (select facets.*, ${renamed} from facets) as facet
      where ${conditions}${mayBeFew ? ` and (select count(*) from bounded) > ${totalMax}` : ''}
    )`;
}

/**
 * The first rows of each facet. The index is forced as in `listStatement`. There is one bound of its first columns in each
 * direction, because of several PostgreSQL would begin at any.
 */
function walk(
  facets: Facets,
  walked: {
    readonly what: string;
    readonly where: readonly Edge[];
    readonly bounds: readonly string[];
    readonly direction: string;
    readonly limit: string;
  },
): string {
  const { what, where, bounds, direction, limit } = walked;
  const [inRow, inFacet] = [namesInRow(facets), namesInFacet(facets)];
  // The last edge is the narrowest.
  const bound = (operators: readonly string[]) => {
    const edge = where.findLast(({ operator }) => operators.includes(operator));
    return edge === undefined
      ? `(${inRow}) ${operators[1]} (${inFacet})`
      : `(${inRow}, ${edge.columns}) ${edge.operator} (${inFacet}, ${edge.values})`;
  };
  const conditions = [
    facets.where ?? 'true',
    bound(['>', '>=']),
    bound(['<', '<=']),
    ...where.map(plainEdge),
    ...bounds,
  ];
  const order = [...facets.columns, 'created_at', 'id'].map((column) => `${column} ${direction}`);
  return `(select ${what} from walked cross join lateral (
    select created_at, id from ${facets.from} where ${conditions.join(' and ')}
    order by ${order.join(', ')} limit ${limit}) as found)`;
}

/**
 * The rows within the bounds of an amount, by the index of the amount. If there are few, they are sorted. Otherwise the rows
 * of the facets are compared one by one.
 */
function boundedRows(facets: Facets, bounds: readonly string[], conditions: string): string {
  const where = [facets.where ?? 'true', ...bounds].join(' and ');
  return `
    bounded as materialized (select created_at, id, ${namesInRow(facets)} from ${facets.from}
      where ${where} order by amount limit ${totalMax + 1}),
    few as (select created_at, id from bounded
      where ${conditions} and (select count(*) from bounded) <= ${totalMax})`;
}

function fewRows(what: string, where: readonly Edge[]): string {
  return ` union all (select ${what} from few where ${['true', ...where.map(plainEdge)].join(' and ')})`;
}

const plainEdge = ({ operator, columns, values }: Edge) => `(${columns}) ${operator} (${values})`;

function conditionsOf(used: readonly UsedFilter[], add: Add): readonly string[] {
  return used.flatMap(({ filter, value }) =>
    'isFacet' in filter ? [`(${filter.toCondition(() => add(value), value)})`] : [],
  );
}

function boundsOf(used: readonly UsedFilter[], add: Add): readonly string[] {
  return used.flatMap(({ filter, value }) =>
    'bound' in filter ? [`${filter.bound} ${filter.operator} ${add(value)}::bigint`] : [],
  );
}

function timesOf({ createdAfter, createdBefore }: Selection, add: Add): readonly Edge[] {
  const edge = (operator: string, time: string | undefined) =>
    time === undefined ? [] : [{ operator, columns: 'created_at', values: `${add(time)}::timestamptz` }];
  return [...edge('>=', createdAfter), ...edge('<', createdBefore)];
}

function afterPosition({ position }: RowWindow, direction: string, add: Add): readonly Edge[] {
  if (position === undefined) return [];
  const values = `${add(instantText(position.createdAt))}::timestamptz, ${add(position.id)}::uuid`;
  return [{ operator: direction === 'desc' ? '<' : '>', columns: 'created_at, id', values }];
}
