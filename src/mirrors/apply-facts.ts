import { type Applied, type Folding, foldFacts, groupFacts, type MirrorRow, type Source } from './fold.ts';

/** How one mirror applies facts to its rows. */
interface Application<Row extends MirrorRow, Facts> {
  readonly facts: readonly Facts[];
  readonly source: Source;
  readonly keyOf: (item: Row | Facts) => string;
  readonly lock: (keys: readonly string[]) => Promise<readonly Row[]>;
  /** The rows, if they are already locked. */
  readonly locked?: readonly Row[];
  /**
   * Creates rows for objects that have none, from the first facts of each. Undefined if no object belongs to Till. An
   * object is lost if it has a Till id but its row cannot be created yet.
   */
  readonly insert: (unknown: readonly Facts[]) => Promise<Inserted<Row> | undefined>;
  readonly take: Folding<Row, Facts>['take'];
  readonly update: (rows: readonly Row[]) => void;
}

interface Inserted<Row> {
  readonly made: readonly Row[];
  /** The keys of lost objects. */
  readonly lost: readonly string[];
}

interface Applying<Row> {
  readonly applied: Applied;
  readonly made: readonly Row[];
  readonly written: readonly { readonly before: Row; readonly after: Row }[];
}

/** Locks the rows, creates missing rows, folds the facts into the rows and writes the changed ones. */
export async function applyFacts<Row extends MirrorRow, Facts>(
  application: Application<Row, Facts>,
): Promise<Applying<Row>> {
  const { facts, source, keyOf, lock, insert, take, update } = application;
  const groups = groupFacts(facts, keyOf);
  const keys = [...groups.keys()];
  const known = application.locked ?? (await lock(keys));
  const knownKeys = new Set(known.map(keyOf));
  const unknown = [...groups].filter(([key]) => !knownKeys.has(key)).map(([, [first]]) => first);
  const inserted = unknown.length === 0 ? undefined : await insert(unknown);
  const rows = inserted === undefined ? known : await lock(keys);
  const { written, applied } = foldFacts({ rows, groups, source, keyOf, take });
  update(written.map(({ after }) => after));
  const made = inserted?.made ?? [];
  return {
    applied: withRecovery(applied, { made: made.map(keyOf), lost: inserted?.lost ?? [] }),
    made,
    written,
  };
}

/**
 * Adds created rows and lost objects to the outcome of a fold. A lost object is not ignored: it needs a refresh,
 * because its row or a row that it depends on is missing.
 */
export function withRecovery(
  applied: Applied,
  { made = [], lost = [] }: { readonly made?: readonly string[]; readonly lost?: readonly string[] },
): Applied {
  return {
    ...applied,
    changed: [...new Set([...applied.changed, ...made])],
    ignored: applied.ignored.filter((key) => !lost.includes(key)),
    unsettled: [...new Set([...applied.unsettled, ...lost])],
  };
}
