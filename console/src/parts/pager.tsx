import type { Page } from '@till/client';
import { useLocation } from 'preact-iso';
import { plural } from '../format/words.ts';

export const rowsPerPage = 25;

/**
 * In the session of the tab: addresses of pages, each with that of the page before it. A reload of the tab keeps them.
 */
const storageName = 'till-pages-before';
/** More pages than a person walks through. The oldest are forgotten first. */
const pagesMax = 100;

type Entries = readonly (readonly [address: string, before: string])[];

/** One page of a list, by cursor or by number. */
export interface RowPage<Row> extends Page<Row> {
  /** Undefined for a list that has page numbers instead. */
  readonly nextCursor?: string | null;
  /** The number of this page. Undefined for a list that has none. */
  readonly page?: number;
  readonly total?: number;
  readonly totalCapped?: boolean;
}

/**
 * Links to the other pages of a list, in the page's own address. The next page is found by cursor, so that none of its
 * rows is skipped. A cursor leads only forward, so the page before is found by its number, or else it is remembered.
 */
export function Pager({ of, noun }: { readonly of: RowPage<unknown>; readonly noun: string }) {
  const { path, query, url } = useLocation();
  const { cursor, page, ...filters } = query;
  const at = (place: Readonly<Record<string, string>>) => {
    const text = new URLSearchParams({ ...filters, ...place }).toString();
    return text === '' ? path : `${path}?${text}`;
  };
  const number = of.page ?? Number(page ?? 1);
  const next = nextPlace(of, number);
  const isLater = (cursor ?? page) !== undefined;
  const before = isLater ? placeBefore(url, of.page, at) : undefined;
  return (
    <nav class="paging" aria-label="Pages">
      {of.total !== undefined && (
        <span class="quiet">
          {of.totalCapped === true ? 'More than ' : ''}
          {plural(of.total, noun)}
        </span>
      )}
      {isLater && (number > 2 || of.page === undefined) && <a href={at({})}>First page</a>}
      {before !== undefined && (
        <a rel="prev" href={before}>
          Previous page
        </a>
      )}
      {next !== undefined && (
        <a rel="next" href={at(next)} onClick={() => rememberBefore(at(next), url)}>
          Next page
        </a>
      )}
    </nav>
  );
}

/** The address of the page before. Undefined if it is not known, as after a link of another person. */
function placeBefore(
  url: string,
  number: number | undefined,
  at: (place: Readonly<Record<string, string>>) => string,
): string | undefined {
  if (number === undefined) return addressBefore(url);
  return number > 1 ? at(number === 2 ? {} : { page: String(number - 1) }) : undefined;
}

function nextPlace({ nextCursor, total = 0, totalCapped }: RowPage<unknown>, page: number) {
  if (typeof nextCursor === 'string') return { cursor: nextCursor };
  const hasMore = nextCursor === undefined && (totalCapped === true || page * rowsPerPage < total);
  return hasMore ? { page: String(page + 1) } : undefined;
}

/** Remembers from which page of a list another one was opened. */
function rememberBefore(address: string, before: string): void {
  const others = read().filter(([known]) => known !== address);
  sessionStorage.setItem(storageName, JSON.stringify([...others, [address, before]].slice(-pagesMax)));
}

function addressBefore(address: string): string | undefined {
  return read().find(([known]) => known === address)?.[1];
}

function read(): Entries {
  // Only `rememberBefore` writes it.
  return JSON.parse(sessionStorage.getItem(storageName) ?? '[]') as Entries;
}
