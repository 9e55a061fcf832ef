import { isDeepStrictEqual } from 'node:util';
import { type AsOf, asOfRow, type DatedRow, laterOf, rowTime } from './facts.ts';

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
