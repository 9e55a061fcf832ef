import { idTime } from '#core/platform/id.ts';
import { encodeCursor } from './list-cursor.ts';
import { readCursor } from './list-page.ts';

/** One page of a list that has cursors, but no page numbers. */
export interface IdCursorPage<Row> {
  readonly data: readonly Row[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/** A page of such a list: the first one, or the one after a cursor. */
export interface WalkRequest {
  readonly cursor?: string | undefined;
  readonly limit: number;
}

const microsPerMs = 1_000n;

/**
 * Reads one page of a list that is ordered by Till's own ids, which contain their time, newest first. `read` returns
 * the rows that are older than `before`, or the newest rows if it is null. `list` names the list, so that a cursor is
 * accepted only for its own list.
 */
export async function pageById<Row extends { readonly id: string }>(
  list: string,
  { cursor, limit }: WalkRequest,
  read: (before: string | null, count: number) => Promise<readonly Row[]>,
): Promise<IdCursorPage<Row>> {
  const position = cursor === undefined ? undefined : readCursor(cursor, list);
  // One row more than the page has shows whether there is a next page.
  const rows = await read(position?.id ?? null, limit + 1);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  const data = rows.slice(0, limit);
  if (last === undefined) return { data, nextCursor: null };
  const createdAt = BigInt(idTime(last.id).getTime()) * microsPerMs;
  return {
    data,
    nextCursor: encodeCursor({ createdAt, id: last.id, page: (position?.page ?? 1) + 1 }, list),
  };
}
