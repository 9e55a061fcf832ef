import type { Origin, Verdict } from './transition.ts';

/** What became of facts that were applied to a mirror, by the processor's ids of the objects. */
export interface Applied {
  /** Their mirror is another than before. */
  readonly changed: readonly string[];
  /** They concern nothing of ours. */
  readonly ignored: readonly string[];
  /**
   * Only the processor itself can settle them: the times of two different values overlap, the row moved meanwhile, or the
   * row was lost.
   */
  readonly unsettled: readonly string[];
  /** A refresh found that the processor does not know the object. */
  readonly isUnknown?: true;
}

/** The revisions that rows had when their refresh began, by the processor's ids of the objects. */
export type Revisions = ReadonlyMap<string, number>;

/** Where facts come from: events, or a refresh that began when the rows had these revisions. */
export type Source = 'events' | Revisions;

export interface MirrorRow {
  /** Rises with every change. */
  readonly revision: number;
  readonly updatedAt: Date;
}

export interface Folding<Row extends MirrorRow, Facts> {
  readonly rows: readonly Row[];
  readonly groups: ReadonlyMap<string, readonly Facts[]>;
  readonly source: Source;
  readonly keyOf: (row: Row) => string;
  readonly take: (row: Row, facts: Facts, origin: Origin) => { readonly verdict: Verdict; readonly row: Row };
}

/** Takes each object's facts into its row, one after the other, and tells which rows must be written. */
export function foldFacts<Row extends MirrorRow, Facts>(
  folding: Folding<Row, Facts>,
): { readonly written: readonly { readonly before: Row; readonly after: Row }[]; readonly applied: Applied } {
  const { rows, groups, source, keyOf, take } = folding;
  const written: { before: Row; after: Row }[] = [];
  const unsettled: string[] = [];
  for (const before of rows) {
    const key = keyOf(before);
    const origin = originOf(source, key, before.revision);
    let after = before;
    let needsRefresh = false;
    for (const facts of groups.get(key) ?? []) {
      const taken = take(after, facts, origin);
      // What is newer settles an earlier tie.
      if (taken.verdict !== 'keep') needsRefresh = taken.verdict === 'refresh';
      if (taken.verdict === 'take') after = taken.row;
    }
    if (after !== before) written.push({ before, after });
    if (needsRefresh) unsettled.push(key);
  }
  const known = new Set(rows.map(keyOf));
  const changed = written.filter(({ before, after }) => before.updatedAt !== after.updatedAt);
  return {
    written,
    applied: {
      changed: changed.map(({ after }) => keyOf(after)),
      ignored: [...groups.keys()].filter((key) => !known.has(key)),
      unsettled,
    },
  };
}

function originOf(source: Source, key: string, revision: number): Origin {
  if (source === 'events') return 'event';
  return source.get(key) === revision ? 'present' : 'moved';
}

/**
 * Adds to what folding tells: rows that were made, and objects without a row that carry a Till id. The latter are not
 * somebody else's: their row was lost, or depends on a row that was, and has to be refreshed.
 */
export function withRecovery(
  applied: Applied,
  { made = [], lost = [] }: { readonly made?: readonly string[]; readonly lost?: readonly string[] },
): Applied {
  return {
    changed: [...new Set([...applied.changed, ...made])],
    ignored: applied.ignored.filter((key) => !lost.includes(key)),
    unsettled: [...new Set([...applied.unsettled, ...lost])],
  };
}

/** Facts by the object that they are about, each object's in the order given. */
export function groupFacts<Facts>(
  facts: readonly Facts[],
  keyOf: (facts: Facts) => string,
): ReadonlyMap<string, readonly [Facts, ...Facts[]]> {
  const groups = new Map<string, [Facts, ...Facts[]]>();
  for (const item of facts) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** The first facts of each object that has no row among these. */
export function withoutRow<Row, Facts>(
  groups: ReadonlyMap<string, readonly [Facts, ...Facts[]]>,
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): readonly Facts[] {
  const known = new Set(rows.map(keyOf));
  return [...groups].filter(([key]) => !known.has(key)).map(([, [first]]) => first);
}
