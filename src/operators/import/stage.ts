import type { Queryable } from '#core/platform/postgres.ts';
import type { Pages, ProcessorPage } from '#processor/port/pages.ts';
import type { Counts, Skip } from './import-progress.ts';

/** Concurrent calls to the processor: enough to use the rate limit of an import, although each call takes a while. */
export const callsAtOnce = 4;

/** The outcome of one page. */
export interface PageOutcome {
  readonly counts: Counts;
  readonly skips: readonly Skip[];
}

/** Stores the outcome. If the rows need no further work, this happens in their transaction. */
export type SavePage = (db: Queryable, outcome: PageOutcome) => Promise<void>;

/** A list, and what an import does with its pages. */
export interface PagedWork<Item> {
  readonly name: string;
  list(after: string | null): Pages<Item>;
  adopt(page: ProcessorPage<Item>, save: SavePage): Promise<PageOutcome>;
}
