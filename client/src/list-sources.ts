import { type Page, TillList } from './list.ts';

/** The largest page of Till's lists: a walk needs the fewest requests with it. */
const limitMax = 100;

interface CursorPage<Item> extends Page<Item> {
  readonly nextCursor: string | null;
}

interface CursorQuery {
  readonly cursor?: string | undefined;
  readonly page?: number | undefined;
  readonly limit?: number | undefined;
}

/** A list that is read by cursor: a walk shows each object that existed when it began exactly once. */
export function cursorList<Item, P extends CursorPage<Item>, Query extends CursorQuery>(
  query: Query,
  read: (query: Query) => Promise<P>,
): TillList<Item, P> {
  return TillList.of({
    query,
    read,
    walk: withLargestPages,
    next: ({ nextCursor }, { page: _page, ...filters }) =>
      // The caller's query with another position.
      nextCursor === null ? undefined : ({ ...filters, cursor: nextCursor } as unknown as Query),
  });
}

/** A list that has only page numbers: an object that is added meanwhile moves another one to the next page. */
export function numberedList<Item, P extends Page<Item>, Query extends Omit<CursorQuery, 'cursor'>>(
  query: Query,
  read: (query: Query) => Promise<P>,
): TillList<Item, P> {
  return TillList.of({
    query,
    read,
    walk: withLargestPages,
    next: ({ data }, current) =>
      data.length < (current.limit ?? limitMax) ? undefined : { ...current, page: (current.page ?? 1) + 1 },
  });
}

function withLargestPages<Query extends Pick<CursorQuery, 'limit'>>(query: Query): Query {
  return query.limit === undefined ? { ...query, limit: limitMax } : query;
}
