import {
  type Applied,
  type FactGroups,
  type Folded,
  foldFacts,
  type MirrorRow,
  type RowChange,
  type Source,
  type Take,
  type View,
} from '#core/model/facts.ts';
import type { Transaction } from '#core/platform/postgres.ts';

/** The statements that applying facts needs. A `MirrorStore` has them. */
export interface RowStore<Row> {
  lockByKeys(tx: Transaction, keys: readonly string[]): Promise<readonly Row[]>;
  update(tx: Transaction, changes: readonly RowChange<Row>[]): void;
}

/** The locked rows that facts are about. */
export interface LockedRows<Row, Facts> {
  readonly groups: FactGroups<Facts>;
  readonly known: readonly Row[];
  /** The first facts of each object that has no row. */
  readonly unknown: readonly Facts[];
}

export async function lockRows<Row, Facts>(
  tx: Transaction,
  store: RowStore<Row>,
  facts: readonly Facts[],
  keyOf: (item: Row | Facts) => string,
): Promise<LockedRows<Row, Facts>> {
  const groups = Map.groupBy(facts, keyOf);
  const known = await store.lockByKeys(tx, [...groups.keys()]);
  const knownKeys = new Set(known.map(keyOf));
  const unknown = [...groups].flatMap(([key, group]) => (knownKeys.has(key) ? [] : group.slice(0, 1)));
  return { groups, known, unknown };
}

/** The outcome for objects without a row. */
export interface Inserted<Row> {
  readonly created: readonly Row[];
  /** The keys of objects that carry a Till id and need a refresh, usually because their row cannot be created yet. */
  readonly lost: readonly string[];
}

interface Applying<Row, Facts> {
  readonly rows: LockedRows<Row, Facts>;
  /** Undefined if none of the objects without a row belongs to Till. */
  readonly inserted: Inserted<Row> | undefined;
  readonly source: Source;
  readonly keyOf: (item: Row | Facts) => string;
  readonly take: Take<Row, Facts>;
  readonly view: View<Row>;
  readonly now: Date;
  /** Called before the rows are written. */
  readonly beforeWrite?: (written: Folded<Row>['written']) => void;
}

/** Folds facts into their rows, including rows that were just inserted, and writes what changed. */
export async function applyToRows<Row extends MirrorRow, Facts>(
  tx: Transaction,
  store: RowStore<Row>,
  { rows: { groups, known }, inserted, source, keyOf, take, view, now, beforeWrite }: Applying<Row, Facts>,
): Promise<Folded<Row>> {
  // Another transaction may have inserted a row, too.
  const rows = inserted === undefined ? known : await store.lockByKeys(tx, [...groups.keys()]);
  const { written, applied } = foldFacts({ rows, groups, source, keyOf, take, view, now });
  beforeWrite?.(written);
  store.update(tx, written);
  const created = inserted?.created.map(keyOf) ?? [];
  if (source !== 'events')
    for (const row of inserted?.created ?? [])
      if (row.processorAsOf !== undefined) tx.late.push({ key: keyOf(row), since: row.processorAsOf });
  return { applied: withRecovery(applied, { created, lost: inserted?.lost ?? [] }), written };
}

/** The keys of rows that erased events created, which do not show metadata. They need a refresh. */
export function createdWithoutMetadata<Row, Facts extends { readonly metadata: unknown }>(
  source: Source,
  { unknown }: LockedRows<Row, Facts>,
  inserted: Inserted<Row> | undefined,
  keyOf: (item: Row | Facts) => string,
): readonly string[] {
  if (source !== 'events' || inserted === undefined) return [];
  const incomplete = new Set(unknown.filter(({ metadata }) => metadata === null).map(keyOf));
  return incomplete.size === 0 ? [] : inserted.created.map(keyOf).filter((key) => incomplete.has(key));
}

/**
 * Adds created rows and lost objects to the outcome of a fold. A lost object is not ignored: it needs a refresh,
 * because its row or a row that it depends on is missing.
 */
export function withRecovery(
  applied: Applied,
  { created = [], lost = [] }: { readonly created?: readonly string[]; readonly lost?: readonly string[] },
): Applied {
  return {
    ...applied,
    changed: [...new Set([...applied.changed, ...created])],
    ignored: applied.ignored.filter((key) => !lost.includes(key)),
    unsettled: [...new Set([...applied.unsettled, ...lost])],
  };
}

/** The combined outcome of facts that were applied one after the other. */
export function mergeApplied(all: readonly Applied[]): Applied {
  return {
    changed: all.flatMap(({ changed }) => changed),
    ignored: all.flatMap(({ ignored }) => ignored),
    unsettled: all.flatMap(({ unsettled }) => unsettled),
  };
}
