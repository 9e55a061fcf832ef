import { isDeepStrictEqual } from 'node:util';
import { isSameValue, type Origin, type Taken } from './transition.ts';

/** The outcome of applying facts, as keys of objects. */
export interface Applied {
  readonly changed: readonly string[];
  /** Objects that do not belong to Till. */
  readonly ignored: readonly string[];
  /**
   * Objects that need a refresh: the times of two different values overlap, the row has changed since the refresh
   * began, the row is incomplete, or the row was lost.
   */
  readonly unsettled: readonly string[];
  /** Objects recorded long after their creation. Earlier events about them or their dependents found no row. */
  readonly late?: readonly string[];
  /** A refresh found that the processor does not know the object. */
  readonly isUnknown?: true;
}

/** The revisions that rows had when their refresh began, by the keys of the objects. */
export type Revisions = ReadonlyMap<string, number>;

/** Where facts come from: events, or a refresh that began when the rows had these revisions. */
export type Source = 'events' | Revisions;

export interface MirrorRow {
  /** Increases with every change. */
  readonly revision: number;
  readonly updatedAt: Date;
  /** The earliest time of the facts that the row took last. Plans have two. */
  readonly processorAsOf?: Date;
  /** The row took an event that lacks some of what the row shows. A refresh completes it. */
  readonly isIncomplete?: boolean;
}

interface Folding<Row extends MirrorRow, Facts> {
  readonly rows: readonly Row[];
  readonly groups: FactGroups<Facts>;
  readonly source: Source;
  readonly keyOf: (row: Row) => string;
  readonly take: Take<Row, Facts>;
  /** The row as the API shows it. `updatedAt` changes only if something else in the response changes. */
  readonly view: View<Row>;
  readonly now: Date;
}

export type View<Row> = (row: Row) => object;

export type Take<Row, Facts> = (row: Row, facts: Facts, origin: Origin, now: Date) => Taken<Row>;

export interface RowChange<Row> {
  readonly before: Row;
  readonly after: Row;
}

export interface Folded<Row> {
  readonly written: readonly RowChange<Row>[];
  readonly applied: Applied;
}

/** Facts by the key of their object. The facts of each object keep their order. */
export type FactGroups<Facts> = ReadonlyMap<string, readonly Facts[]>;

/** Folds each object's facts into its row, one after the other, and returns the rows to write. */
export function foldFacts<Row extends MirrorRow, Facts>(folding: Folding<Row, Facts>): Folded<Row> {
  const { rows, groups, source, keyOf, take, view, now } = folding;
  const written: RowChange<Row>[] = [];
  const changed: string[] = [];
  const unsettled: string[] = [];
  for (const before of rows) {
    const key = keyOf(before);
    const origin = originOf(source, key, before.revision);
    let after = before;
    let needsRefresh = false;
    for (const facts of groups.get(key) ?? []) {
      const taken = take(after, facts, origin, now);
      // Newer facts settle an earlier tie.
      if (taken.verdict !== 'keep') needsRefresh = taken.verdict === 'refresh';
      if (taken.verdict === 'take') after = taken.row;
    }
    if (after !== before) {
      if (after.updatedAt !== before.updatedAt) changed.push(key);
      written.push({ before, after: withTime(before, after, view) });
    }
    if (needsRefresh || (source === 'events' && after.isIncomplete === true)) unsettled.push(key);
  }
  const known = new Set(rows.map(keyOf));
  return {
    written,
    applied: {
      changed,
      ignored: [...groups.keys()].filter((key) => !known.has(key)),
      unsettled,
    },
  };
}

/** A row keeps its `updatedAt` if the change is not visible in the API. */
function withTime<Row extends MirrorRow>(before: Row, after: Row, view: View<Row>): Row {
  const { updatedAt } = before;
  if (after.updatedAt === updatedAt) return after;
  const isShown =
    hasShownChange(before, after, view) || !isDeepStrictEqual(view(before), view({ ...after, updatedAt }));
  return isShown ? after : { ...after, updatedAt };
}

/** The names of the fields that a view has, by the view. */
const shownFields = new WeakMap<View<never>, readonly string[]>();

/**
 * Most changes are of a field that is shown under its own name. Comparing that field is faster than computing two
 * views.
 */
function hasShownChange<Row extends MirrorRow>(before: Row, after: Row, view: View<Row>): boolean {
  const fields = shownFields.get(view) ?? Object.keys(view(before)).filter((name) => name !== 'updatedAt');
  shownFields.set(view, fields);
  return fields.some((name) => !isSameValue(Reflect.get(before, name), Reflect.get(after, name)));
}

function originOf(source: Source, key: string, revision: number): Origin {
  if (source === 'events') return 'event';
  return source.get(key) === revision ? 'current' : 'moved';
}
