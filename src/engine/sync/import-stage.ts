import type { Applied } from '#core/model/facts.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import type { Pages } from '#processor/port/pages.ts';
import type { Mirror } from '../mirrors/mirror.ts';
import type { MirroredList } from '../mirrors/mirrored-list.ts';
import { noRevisions } from '../mirrors/refresh.ts';

/** A list that an import adopts. Its `Context` has mirrors and a processor that show every object with a Till id. */
export interface ImportList<Context> {
  /** The lists of the objects on which these depend. They come first. */
  readonly after?: readonly string[];
  readonly open: (context: Context, run: ImportFacts) => Stage<unknown>;
}

/** What an import knows when it begins a list. */
export interface ImportFacts {
  /** Prices and customers that a dry run does not adopt. */
  readonly refused: ReadonlySet<string>;
  /** See `chargesKnownUntil` in the operators' import. */
  readonly chargesKnownUntil: Date | null;
}

/** How the objects of one list are adopted. */
export interface Stage<Item> {
  /** Refreshes objects by the processor's ids. */
  readonly mirror: Pick<Mirror<never>, 'resource' | 'refresh'>;
  list(after: string | null): Pages<Item>;
  /** The processor's id that people see. */
  idOf(item: Item): string;
  /** The processor's id that identifies the object in its mirror. */
  keyOf(item: Item): string;
  /** The ids among these that have a row. */
  findRows(db: Queryable, keys: readonly string[]): Promise<ReadonlySet<string>>;
  /** Looks up what the list does not show about an object without a row. */
  complete?(item: Item): Promise<Item>;
  /** Why an object without a row cannot get one. */
  refuse(item: Item): string | undefined;
  /** Applies the facts to the rows, and creates rows. */
  apply(tx: Transaction, items: readonly Item[]): Promise<Applied>;
  /** Whether a new row lacks values that only a read of the object shows. */
  isPartial?(item: Item): boolean;
  /** Another list counts and compares these objects. This one only adopts them earlier. */
  readonly isAhead?: boolean;
}

/** The stage of a list as a resync compares it. It adopts every object, unless `refuse` is replaced. */
export function stageOf<Facts>(
  { mirror, list }: MirroredList<Facts>,
  findRows: Stage<Facts>['findRows'],
): Stage<Facts> {
  const keyOf = (facts: Facts) => mirror.keyOf(facts);
  return {
    mirror,
    list: (after) => list({ after }),
    idOf: keyOf,
    keyOf,
    findRows,
    refuse: () => undefined,
    apply: (tx, facts) => mirror.apply(tx, facts, noRevisions),
  };
}

/** The ids that have a row, by the field that contains the processor's id. */
export function rowsOf<Field extends string>(
  mirror: {
    findByKeys(
      db: Queryable,
      keys: readonly string[],
    ): Promise<readonly { readonly [F in Field]: string | null }[]>;
  },
  field: Field,
): Stage<never>['findRows'] {
  return async (db, keys) => {
    const rows = keys.length === 0 ? [] : await mirror.findByKeys(db, keys);
    return new Set(rows.flatMap((row) => row[field] ?? []));
  };
}

export const noCustomer = 'It has no customer.';
