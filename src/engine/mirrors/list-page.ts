import { type Failure, invalidRequest } from '#core/errors.ts';
import type { ListPage, ListRequest } from '#core/model/list-request.ts';
import type { Queryable } from '#core/platform/postgres.ts';
import type { List } from './list.ts';
import { decodeCursor, encodeCursor, type ListPosition } from './list-cursor.ts';
import { type Selection, selectionOf } from './list-filter.ts';
import { type Sort, sortOf } from './list-sort.ts';
import { isCapped, listStatement } from './list-statement.ts';
import { totalMax } from './row-window.ts';

/**
 * Lists one page. A cursor names the last row of the page before: `created_at` and `id` never change, so a caller that
 * follows cursors sees a row at most once, unless the list is sorted by an amount. One statement has one snapshot, so
 * the total and the page always agree.
 */
export async function listPage<Row extends { readonly id: string }>(
  db: Queryable,
  list: List<Row>,
  request: ListRequest,
): Promise<ListPage<Row>> {
  const { limit } = request;
  const selection = selectionOf(list.filters, request.filters);
  const sort = sortOf(list, request.sort);
  const query = describeQuery(list, selection, sort);
  const position = request.cursor === undefined ? undefined : readCursor(request.cursor, query);
  // Anyone can compute the checksum of a cursor.
  if (position !== undefined && (position.amount === undefined) !== (sort.field === undefined))
    throw unknownCursor();
  const page = position?.page ?? request.page ?? 1;
  if (selection === undefined)
    return { data: [], total: 0, totalCapped: false, page, limit, nextCursor: null };
  // One row more than the page has shows whether there is a next page.
  const place = { limit: limit + 1, ...placeOf(request, position, (page - 1) * limit) };
  const { text, values } = listStatement(list, selection, place, sort);
  const rows = await db.query<Row & ListColumns>(text, values);
  const upTo = request.upTo === undefined ? undefined : readCursor(request.upTo, query);
  // An empty page has one row, which contains only the total.
  const found = rows.filter((row) => row.id !== null && !(upTo && isAfter(placeAt(row, sort), upTo, sort)));
  const last = found.length > limit ? found[limit - 1] : undefined;
  const total = rows[0]?.list_total ?? 0;
  const totalCapped = isCapped(list, selection) && total > totalMax;
  return {
    data: found.slice(0, limit).map(({ list_total: _, list_micros: __, ...row }) => row as unknown as Row),
    total: totalCapped ? totalMax : total,
    totalCapped,
    page,
    limit,
    nextCursor: last === undefined ? null : encodeCursor({ ...placeAt(last, sort), page: page + 1 }, query),
  };
}

/** Whether a row comes after a position, in the order of the list. */
function isAfter(place: Place, position: Place, { direction }: Sort): boolean {
  const [low, high] = direction === 'desc' ? [place, position] : [position, place];
  if (low.amount !== high.amount) return (low.amount ?? 0n) < (high.amount ?? 0n);
  if (low.createdAt !== high.createdAt) return low.createdAt < high.createdAt;
  return low.id < high.id;
}

type Place = Omit<ListPosition, 'page'>;

function placeAt<Row extends { readonly id: string }>(row: Row & ListColumns, { field }: Sort): Place {
  const place = { createdAt: BigInt(row.list_micros), id: row.id };
  // The fields to sort by are amounts, which are integers.
  return field === undefined ? place : { ...place, amount: BigInt(Number(row[field as keyof Row])) };
}

function placeOf({ skip }: ListRequest, position: ListPosition | undefined, offset: number) {
  if (skip !== undefined) return { position, skip };
  return position === undefined ? { offset } : { position };
}

/** What the statement adds to the columns of the row. */
interface ListColumns {
  readonly list_total: number;
  /** The row's creation in microseconds: `createdAt` has only milliseconds. */
  readonly list_micros: string;
}

/** The list, its order and its filters, to which a cursor belongs. */
function describeQuery<Row extends object>(
  { table, variant }: List<Row>,
  selection: Selection | undefined,
  sort: Sort,
): string {
  const name = [table.name, ...(variant === undefined ? [] : [variant]), sort.name].join(' ');
  if (selection === undefined) return JSON.stringify([name, null]);
  const { used, createdAfter, createdBefore } = selection;
  const filters = used.map(({ name, value }) => [name, value]);
  return JSON.stringify([name, filters, createdAfter ?? null, createdBefore ?? null]);
}

/** Reads the cursor of a request. `query` is the list and its filters. */
export function readCursor(cursor: string, query: string): ListPosition {
  const position = decodeCursor(cursor, query);
  if (position === undefined) throw unknownCursor();
  return position;
}

export function unknownCursor(): Failure {
  return invalidRequest(
    'query.cursor',
    'is not a cursor of this list with these filters',
    '. Send nextCursor unchanged, with the same filters and the same sort.',
  );
}
