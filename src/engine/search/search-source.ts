import type { Queryable } from '#core/platform/postgres.ts';
import type { CurrencyAmounts } from '../mirrors/find-by-amounts.ts';
import {
  type Found,
  idRange,
  isLast4,
  isVisible,
  type Match,
  type MatchedField,
  resultsMax,
} from './search.ts';
import { amountsOf } from './searched-amounts.ts';
import type { Comparison } from './searched-words.ts';

interface Search {
  readonly db: Queryable;
  readonly text: string;
}

/**
 * Finds what matches a text in one way. All statements of a search are sent together. Each uses an index, and returns
 * at most as many rows as a search shows.
 */
export type SearchSource = (search: Search) => Promise<readonly Match[]>;

/** Finds the rows of a table by their ids, and by the processor's. */
interface RowFinder<Row> {
  findBetween(db: Queryable, from: string, to: string, limit: number): Promise<readonly Row[]>;
  findByKeys(db: Queryable, keys: readonly string[]): Promise<readonly Row[]>;
}

type FindByText<Row> = (db: Queryable, text: string, limit: number) => Promise<readonly Row[]>;
type FindByAmounts<Row> = (db: Queryable, amounts: CurrencyAmounts, limit: number) => Promise<readonly Row[]>;
/** Undefined for a row that the API does not show. */
type Show<Row> = (row: Row) => Found | undefined;

export function byIds<Row>(rows: RowFinder<Row>, show: Show<Row>): SearchSource {
  return async ({ db, text }) => {
    const range = idRange(text);
    const [byId, byKey] = await Promise.all([
      range === undefined ? [] : rows.findBetween(db, range.from, range.to, resultsMax),
      isVisible(text) ? rows.findByKeys(db, [text]) : [],
    ]);
    return [...toMatches('id', byId, show, range?.exact), ...toMatches('processorId', byKey, show)];
  };
}

/** By another id of the processor. */
export function byKey<Row>(find: FindByText<Row>, show: Show<Row>): SearchSource {
  return visible(async ({ db, text }) => toMatches('processorId', await find(db, text, resultsMax), show));
}

export function byLast4<Row>(find: FindByText<Row>, show: Show<Row>): SearchSource {
  return async ({ db, text }) =>
    isLast4(text) ? toMatches('last4', await find(db, text, resultsMax), show) : [];
}

export function byAmounts<Row>(find: FindByAmounts<Row>, show: Show<Row>): SearchSource {
  return async ({ db, text }) => {
    const amounts = amountsOf(text);
    return amounts.length > 0 ? toMatches('amount', await find(db, amounts, resultsMax), show) : [];
  };
}

/** By the fields that contain the text, as `comparing` compares them with it. */
export function byFields<
  Field extends MatchedField,
  Row extends Readonly<Partial<Record<Field, string | null>>>,
>(
  find: FindByText<Row>,
  show: (row: Row) => Found,
  fields: readonly [Field, ...Field[]],
  comparing: (text: string) => (value: string, field: Field) => Comparison | undefined,
): SearchSource {
  return async ({ db, text }) => matchesOf(await find(db, text, resultsMax), show, fields, comparing(text));
}

/** Only for a text that can be an id of the processor or an external id. */
export function visible(source: SearchSource): SearchSource {
  return async (search) => (isVisible(search.text) ? source(search) : []);
}

export function toMatches<Row>(
  matched: MatchedField,
  rows: readonly Row[],
  show: Show<Row>,
  exact = true,
): readonly Match[] {
  return rows.flatMap((row) => {
    const shown = show(row);
    return shown === undefined ? [] : [{ ...shown, matched, exact, begins: true }];
  });
}

/**
 * Matches for the fields that contain the text. PostgreSQL has found the text in the row, but its words may be in
 * several fields, and the lower case of a few letters depends on the database. Such a row matches by its first field,
 * and comes after the others.
 */
function matchesOf<Field extends MatchedField, Row extends Readonly<Partial<Record<Field, string | null>>>>(
  rows: readonly Row[],
  show: (row: Row) => Found,
  fields: readonly [Field, ...Field[]],
  compare: (value: string, field: Field) => Comparison | undefined,
): readonly Match[] {
  return rows.flatMap((row) => {
    const found = fields.flatMap((matched) => {
      const comparison = compare(row[matched] ?? '', matched);
      return comparison === undefined ? [] : [{ ...show(row), matched, ...comparison }];
    });
    return found.length > 0 ? found : [{ ...show(row), matched: fields[0], exact: false, begins: false }];
  });
}

/** Compares values with a text, ignoring case. External ids were compared exactly. */
export function caseless(text: string): (value: string) => Comparison | undefined {
  const part = text.toLowerCase();
  return (value) => {
    const whole = value.toLowerCase();
    return whole.includes(part) ? { exact: whole === part, begins: whole.startsWith(part) } : undefined;
  };
}
