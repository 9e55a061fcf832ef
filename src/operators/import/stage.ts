import type { Applied } from '#core/model/fold.ts';
import type { Queryable, Transaction } from '#core/platform/postgres.ts';
import type { Mirror } from '#engine/mirrors/mirror.ts';
import type { Pages, ProcessorPage } from '#processor/port/pages.ts';
import type { Counts, Skip, StageName } from './import-progress.ts';

/** Concurrent calls to the processor: enough to use the rate limit of an import, although each call takes a while. */
export const callsAtOnce = 4;

/** How the objects of one list are adopted. */
export interface Stage<Item> {
  readonly name: StageName;
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

/** The outcome of one page. */
export interface PageOutcome {
  readonly counts: Counts;
  readonly skips: readonly Skip[];
}

/** Stores the outcome. If the rows need no further work, this happens in their transaction. */
export type SavePage = (db: Queryable, outcome: PageOutcome) => Promise<void>;

/** A list, and what an import does with its pages. */
export interface PagedWork<Item> {
  readonly name: StageName;
  list(after: string | null): Pages<Item>;
  adopt(page: ProcessorPage<Item>, save: SavePage): Promise<PageOutcome>;
}
