import type { Verdict } from './transition.ts';

/** What became of facts that were applied to a mirror, by the processor's ids of the objects. */
export interface Applied {
  /** Their mirror is now, or was already, right. */
  readonly settled: readonly string[];
  /** They concern nothing of ours. */
  readonly ignored: readonly string[];
  /** Only the processor itself can settle them: two different values carry the same second. */
  readonly unsettled: readonly string[];
}

export interface Folding<Row, Facts> {
  readonly rows: readonly Row[];
  readonly groups: ReadonlyMap<string, readonly Facts[]>;
  readonly keyOf: (row: Row) => string;
  readonly take: (row: Row, facts: Facts) => { readonly verdict: Verdict; readonly row: Row };
}

/** Takes each object's facts into its row, one after the other, and tells which rows must be written. */
export function foldFacts<Row, Facts>({
  rows,
  groups,
  keyOf,
  take,
}: Folding<Row, Facts>): {
  readonly changed: readonly { readonly before: Row; readonly after: Row }[];
  readonly applied: Applied;
} {
  const changed: { before: Row; after: Row }[] = [];
  const settled: string[] = [];
  const unsettled: string[] = [];
  for (const before of rows) {
    const key = keyOf(before);
    let after = before;
    let asks = false;
    for (const facts of groups.get(key) ?? []) {
      const taken = take(after, facts);
      // What is newer settles an earlier tie.
      if (taken.verdict !== 'keep') asks = taken.verdict === 'ask';
      if (taken.verdict === 'take') after = taken.row;
    }
    if (after !== before) changed.push({ before, after });
    (asks ? unsettled : settled).push(key);
  }
  const known = new Set([...settled, ...unsettled]);
  return {
    changed,
    applied: { settled, unsettled, ignored: [...groups.keys()].filter((key) => !known.has(key)) },
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
