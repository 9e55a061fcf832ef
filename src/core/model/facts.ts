import { isDeepStrictEqual } from 'node:util';

/** The name of a mirrored resource in metrics, logs and messages, such as `payment`. */
export type Resource = string;

/**
 * The state of an object at the processor, in Till's terms. Facts contain only what the mirrors store. They never
 * contain a client secret, so storing facts cannot store a secret.
 */
export interface Facts {
  /** When the processor created the object. The processor reports times in whole seconds. */
  readonly createdAt: Date;
  readonly asOf: AsOf;
}

/** Facts about an object that Till may have created. */
export interface OwnFacts extends Facts {
  /** Till's id, from the object's metadata. Null if Till did not create the object. */
  readonly localId: string | null;
}

/**
 * When facts were true, by the processor's clock, in whole seconds. An event has one time, so both ends are equal. A
 * response was true at some time between its request and its arrival.
 */
export interface AsOf {
  readonly earliest: Date;
  readonly latest: Date;
}

export function asOfEvent(createdAt: Date): AsOf {
  return { earliest: createdAt, latest: createdAt };
}

/** The time of a row after it took facts. The time of a row never goes back. */
export function laterOf(a: AsOf, b: AsOf): AsOf {
  return {
    earliest: a.earliest > b.earliest ? a.earliest : b.earliest,
    latest: a.latest > b.latest ? a.latest : b.latest,
  };
}

/** The time of the facts that a row last took, as columns of the row. */
interface RowTime {
  readonly processorAsOf: Date;
  readonly processorAsOfLatest: Date;
}

export function asOfRow({ processorAsOf, processorAsOfLatest }: RowTime): AsOf {
  return { earliest: processorAsOf, latest: processorAsOfLatest };
}

export function rowTime({ earliest, latest }: AsOf): RowTime {
  return { processorAsOf: earliest, processorAsOfLatest: latest };
}

/** What the rows of all mirrors with one time have in common. */
export interface DatedRow extends RowTime {
  readonly id: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Increases with every change of the row. */
  readonly revision: number;
}

/**
 * When a row takes a new status. `always`: the new status is final, so its time does not matter. `if newer`: if its
 * time at the processor is later. `never`: the current status is final.
 */
export type Rule = 'always' | 'if newer' | 'never';

/** The rule for a new status, if these statuses are final. A final one stays, and wins over all that are not. */
export function ruleFor<Status>(from: Status, to: Status, final: readonly Status[]): Rule {
  if (from === to) return 'if newer';
  if (final.includes(from)) return 'never';
  return final.includes(to) ? 'always' : 'if newer';
}

/**
 * `take`: the row takes the new facts. `keep`: the row does not change. `refresh`: the times of two different values
 * overlap, so only a read from the processor shows which came last.
 */
export type Verdict = 'take' | 'keep' | 'refresh';

/**
 * Where facts come from. `event`: an event, which has a time. `current`: a refresh, and the row has not changed since
 * it began. `moved`: a refresh, but the row has changed since it began, so either may be newer.
 */
export type Origin = 'event' | 'current' | 'moved';

interface Arrival {
  readonly rule: Rule;
  readonly origin: Origin;
  readonly isSame: boolean;
  readonly rowAsOf: AsOf;
  readonly factsAsOf: AsOf;
}

/**
 * The ordering rule: events can arrive in any order, and the row still ends in the state of the processor's object. An
 * older event changes nothing.
 */
export function judge({ rule, origin, isSame, rowAsOf, factsAsOf }: Arrival): Verdict {
  if (rule === 'never') return 'keep';
  if (rule === 'always' || origin === 'current') return 'take';
  const isNewer = factsAsOf.earliest > rowAsOf.latest;
  // The values stay, but the row is now true at a later time.
  if (isSame) return isNewer ? 'take' : 'keep';
  if (origin === 'moved') return 'refresh';
  if (isNewer) return 'take';
  // Older facts change nothing. If the times overlap, only a read shows which came last.
  return factsAsOf.latest < rowAsOf.earliest ? 'keep' : 'refresh';
}

interface Taking {
  readonly rule: Rule;
  readonly origin: Origin;
  readonly asOf: AsOf;
  readonly now: Date;
}

/** The outcome: the verdict, and the row after it takes the facts. */
export interface Taken<Row> {
  readonly verdict: Verdict;
  readonly row: Row;
}

/** Only for the compiler: the values have no names but those of the row's columns. */
type OnlyColumns<Values, Row> = { readonly [Name in Exclude<keyof Values, keyof Row>]: never };

export function takeValues<Row extends DatedRow, Values extends Partial<Row>>(
  row: Row,
  values: Values & OnlyColumns<Values, Row>,
  { rule, origin, asOf, now }: Taking,
): Taken<Row> {
  // The values are columns of the row.
  const names = Object.keys(values) as (keyof Row)[];
  const isSame = names.every((name) => isSameValue(row[name], values[name]));
  const rowAsOf = asOfRow(row);
  return {
    verdict: judge({ rule, origin, isSame, rowAsOf, factsAsOf: asOf }),
    row: {
      ...row,
      ...values,
      ...rowTime(laterOf(rowAsOf, asOf)),
      updatedAt: isSame ? row.updatedAt : now,
    },
  };
}

/** Comparing whole objects is slow, and few values are objects other than times. */
export function isSameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  return typeof a === 'object' && a !== null && isDeepStrictEqual(a, b);
}

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
