import type { Queryable } from '#core/platform/postgres.ts';
import type { TimeZone } from '#core/platform/time-zone.ts';
import type { StoredEvent } from '#engine/events/feed/stored-event.ts';
import type { Contribution, CountedKind } from '#engine/overview/counted-kind.ts';

/** One number of the overview. */
export interface Cell extends Contribution {
  /** A day, or `now`. */
  readonly day: string;
}

/**
 * The metrics of subscriptions. Their cells of a day count changes, which rows do not show. All other cells follow from
 * rows.
 */
export const subscriptionMetrics = /^(subscriptions|recurring|mrr|trials|recovery)\./;

/** The day of a cell with a current value. PostgreSQL sorts it after every other day. */
export const now = 'infinity';

/** The parts of an event that the overview needs. */
export type CountedEvent = Pick<StoredEvent, 'createdAtMs' | 'type' | 'objectType' | 'data' | 'previous'>;

/** An object as an event shows it. */
type View = Readonly<Record<string, unknown>>;

/** A change of a counted object. `before` is null if the change created it. */
interface Change {
  readonly createdAtMs: number;
  readonly kind: CountedKind;
  readonly before: View | null;
  readonly after: View;
}

/** A change, with what its object needs: see `complete` of its kind. */
export interface CountedChange {
  readonly createdAtMs: number;
  readonly kind: CountedKind;
  readonly before: unknown;
  readonly after: unknown;
}

export type KindsByType = ReadonlyMap<string, CountedKind>;

/** The change of an event. Undefined if it changes no number. */
export function changeOf(event: CountedEvent, kinds: KindsByType): Change | undefined {
  const { createdAtMs, type, objectType, data, previous } = event;
  const kind = kinds.get(objectType);
  if (kind === undefined) return undefined;
  if (type.endsWith('.created')) return { createdAtMs, kind, before: null, after: JSON.parse(data) };
  const old: View = JSON.parse(previous);
  // Most changes are of other fields. Then the object, which is longer, is not parsed.
  if (!kind.fields.some((field) => Object.hasOwn(old, field))) return undefined;
  const after: View = JSON.parse(data);
  return { createdAtMs, kind, before: { ...after, ...old }, after };
}

/** Looks up what the objects of a kind need at once. Events contain views. */
export async function completeChanges(
  db: Queryable,
  changes: readonly Change[],
): Promise<readonly CountedChange[]> {
  const objects = new Map<View | null, unknown>([[null, null]]);
  for (const [kind, own] of Map.groupBy(changes, (change) => change.kind)) {
    const views = own.flatMap(({ before, after }) => (before === null ? [after] : [before, after]));
    const completed = await kind.complete(db, views);
    for (const [index, view] of views.entries()) objects.set(view, completed[index]);
  }
  return changes.map((change) => ({
    ...change,
    before: objects.get(change.before),
    after: objects.get(change.after),
  }));
}

/** Adds up cells. Cells that become zero are kept, and change nothing. */
export class CellSum {
  readonly #cells = new Map<string, Cell>();

  add({ day, currency, metric, count, amount }: Cell, sign: 1 | -1 = 1): void {
    const key = `${day} ${currency} ${metric}`;
    const sum = this.#cells.get(key);
    this.#cells.set(key, {
      ...{ day, currency, metric },
      count: (sum?.count ?? 0) + sign * count,
      amount: (sum?.amount ?? 0n) + BigInt(sign) * amount,
    });
  }

  addAll(cells: readonly Cell[], sign: 1 | -1 = 1): void {
    for (const cell of cells) this.add(cell, sign);
  }

  /** Adds what an object adds to the numbers that rows alone determine. */
  addObject(kind: CountedKind, object: unknown, zone: TimeZone): void {
    for (const one of kind.contributionsOf(object, zone)) this.add({ ...one, day: one.day ?? now });
  }

  /** Adds what a change adds to the numbers, and subtracts what its object added before. */
  addChange({ createdAtMs, kind, before, after }: CountedChange, zone: TimeZone): void {
    const day = zone.dayOf(createdAtMs);
    for (const one of kind.contributionsOf(after, zone)) this.#contribute(one, day, 1);
    for (const one of before === null ? [] : kind.contributionsOf(before, zone))
      this.#contribute(one, day, -1);
    if (kind.recurring === undefined) return;
    const { currency } = kind.recurring.ownerOf(after);
    for (const metric of kind.recurring.turnsOf(before, after))
      this.add({ day, currency, metric, count: 1, amount: 0n });
  }

  /** The cells that differ from zero. */
  all(): readonly Cell[] {
    return [...this.#cells.values()].filter(({ count, amount }) => count !== 0 || amount !== 0n);
  }

  /** The cells that differ from zero and that rows alone determine, without the daily changes. */
  computable(): readonly Cell[] {
    return this.all().filter(({ day, metric }) => day === now || !subscriptionMetrics.test(metric));
  }

  /** A current value has a cell for now, and one for its change on this day. */
  #contribute(contribution: Contribution, changedOn: string, sign: 1 | -1): void {
    const { day } = contribution;
    for (const each of day === null ? [now, changedOn] : [day])
      this.add({ ...contribution, day: each }, sign);
  }
}
