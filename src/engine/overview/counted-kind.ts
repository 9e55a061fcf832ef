import type { Queryable } from '#core/platform/postgres.ts';
import type { TimeZone } from '#core/platform/time-zone.ts';

/** The contribution of an object to one number of the overview. */
export interface Contribution {
  /** The day of the number. Null for a current value. */
  readonly day: string | null;
  readonly currency: string;
  readonly metric: string;
  readonly count: number;
  /** In the smallest unit of the currency. */
  readonly amount: bigint;
}

/**
 * A kind of object that the overview counts: each change of an object by its event, and all of them by their rows. Both
 * lead to the same contributions. `Counted` is what the API shows of an object, with what it needs of other objects.
 */
export interface CountedKind<Row = unknown, View = unknown, Counted = unknown> {
  /** The type of the objects in events. */
  readonly type: string;
  /** The fields of the view that determine the contributions. A change of any other field changes no number. */
  readonly fields: readonly string[];
  /** In the same order. Looks up what all of the objects need at once. */
  complete(db: Queryable, views: readonly View[]): Promise<readonly Counted[]>;
  contributionsOf(object: Counted, zone: TimeZone): readonly Contribution[];
  /** Rows without values of other rows, after a row or from the start, always in the same order. */
  listAfter(db: Queryable, last: Row | undefined, limit: number): Promise<readonly Row[]>;
  /** Undefined if the row does not count. */
  viewOf(row: Row): View | undefined;
  /** Only of objects that charge their customers at regular intervals. At most one kind does. */
  readonly recurring?: RecurringKind<Row, Counted>;
}

/** The objects whose monthly amounts are the recurring revenue. Their rows are in the order of their customers. */
export interface RecurringKind<Row = unknown, Counted = unknown> {
  ownerOf(object: Counted): RecurringOwner;
  /** What the object charges in a month, in each currency. */
  monthlyAmountsOf(object: Counted): readonly (readonly [currency: string, amount: bigint])[];
  /** All currencies in which it may have charged something. */
  currenciesOf(object: Counted): readonly string[];
  /** The metrics that count a change of its status. `before` is null if the change created it. */
  turnsOf(before: Counted | null, after: Counted): readonly string[];
  /** Of these rows, those that charge nothing now, and for which the customer has paid. */
  findPaid(db: Queryable, rows: readonly Row[]): Promise<ReadonlySet<Row>>;
}

interface RecurringOwner {
  readonly id: string;
  readonly customerId: string;
  readonly currency: string;
}

/** A number in the totals and in the days of the overview: the sum of a metric. */
export interface Total {
  readonly metric: string;
  readonly shows: 'count' | 'amount' | 'both';
  readonly description: string;
  readonly example: TotalValue;
}

export type TotalValue = number | { readonly count: number; readonly amount: number };

export function countOf(metric: string, description: string, example = 0): Total {
  return { metric, shows: 'count', description, example };
}

export function amountOf(metric: string, description: string, example = 0): Total {
  return { metric, shows: 'amount', description, example };
}

export function countAndAmountOf(
  metric: string,
  description: string,
  example: TotalValue = { count: 0, amount: 0 },
): Total {
  return { metric, shows: 'both', description, example };
}

/** Objects whose view is enough. */
export async function asShown<View>(_db: Queryable, views: readonly View[]): Promise<readonly View[]> {
  return views;
}
