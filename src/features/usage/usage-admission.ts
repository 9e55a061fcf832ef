import { Failure } from '#core/errors.ts';
import { remainingOf } from '#core/model/usage-window.ts';
import type { Cause } from '#core/platform/cause.ts';
import { type BatchWindow, isSameUsage, keyOf, keyText, windowKey } from './usage-batch.ts';
import { type ReachedLimit, reportReached } from './usage-limits.ts';
import type { UsageParts } from './usage-service.ts';
import type { ChangedCounter, NewUsage, StoredUsage } from './usage-store.ts';

/** A quantity that is counted only if it fits. */
export interface Wanted extends Omit<NewUsage, 'window'> {
  readonly window: BatchWindow;
  /** The value of the window's counter when the request was read. */
  readonly usedBefore: number;
  readonly cause: Cause | undefined;
  /** Whether the meter is archived and must not count any more. */
  readonly isArchived: boolean;
}

export interface Consumption {
  readonly allowed: boolean;
  readonly used: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resetsAt: Date;
}

export type Outcome = Consumption | Failure;

/**
 * Decides about each quantity in turn, under the locks of the counters, and counts those that fit. All of them are
 * added first, in one statement, because usually all fit. Quantities that do not fit are removed again before the
 * commit.
 */
export function admit(parts: UsageParts, wanted: readonly Wanted[]): Promise<ReadonlyMap<Wanted, Outcome>> {
  const { database, store, clock } = parts;
  const windows = [...new Map(wanted.map(({ window }) => [windowKey(window), window])).values()];
  const places = new Map(windows.map((window, place) => [windowKey(window), place]));
  const events = wanted.map(({ application, id, at, quantity, window }) => ({
    ...{ application, id, at, quantity, window: places.get(windowKey(window)) ?? 0 },
  }));
  return database.transaction(async (tx) => {
    const { inserted, counters } = await store.add(tx, { events, windows }, 'all', clock.now());
    const keys = inserted?.map(([application, id, day]) => keyText({ application, id, day }));
    const fresh = new Set(keys ?? wanted.map((one) => keyText(keyOf(one))));
    const others = wanted.filter((one) => !fresh.has(keyText(keyOf(one))));
    const stored = others.length === 0 ? [] : await store.find(tx, others.map(keyOf));
    const decided = decide(wanted, fresh, { stored, counters: openCounters(windows, counters) });
    if (decided.refused.length > 0) store.remove(tx, decided.refused.map(keyOf));
    if (decided.refused.length > 0) store.subtract(tx, sumsOf(decided.refused));
    reportReached(tx, parts, decided.reached);
    return decided.outcomes;
  });
}

interface OpenCounter {
  used: bigint;
  isReached: boolean;
}

/** By the keys of the windows. */
type OpenCounters = ReadonlyMap<string, OpenCounter>;

function openCounters(windows: readonly BatchWindow[], changed: readonly ChangedCounter[]): OpenCounters {
  return new Map(
    changed.flatMap(({ window: place, used, isReached }) => {
      const window = windows[place];
      return window === undefined ? [] : [[windowKey(window), { used, isReached }]];
    }),
  );
}

interface Decided {
  readonly outcomes: Map<Wanted, Outcome>;
  /** Inserted events that do not fit, each once. */
  readonly refused: readonly Wanted[];
  readonly reached: readonly ReachedLimit[];
}

/** The counters contain all fresh quantities. */
function decide(
  wanted: readonly Wanted[],
  fresh: ReadonlySet<string>,
  { stored, counters }: { readonly stored: readonly StoredUsage[]; readonly counters: OpenCounters },
): Decided {
  const outcomes = new Map<Wanted, Outcome>();
  const first = new Map(stored.map((row) => [keyText(row), row]));
  const refused = new Map<string, Wanted>();
  const reached: ReachedLimit[] = [];
  for (const one of firstOfEach(wanted, fresh)) counterOf(counters, one).used -= BigInt(one.quantity);
  for (const one of wanted) {
    const { window, quantity } = one;
    const key = keyText(keyOf(one));
    const counter = counterOf(counters, one);
    const known = first.get(key);
    if (known !== undefined || !fresh.has(key)) {
      // An event that is not found was counted before, and its customer has been erased since.
      outcomes.set(
        one,
        known === undefined ? consumptionOf(window, true, counter.used) : repeated(known, one, counter.used),
      );
    } else if (!fits(window, counter.used, quantity)) {
      refused.set(key, one);
      outcomes.set(one, consumptionOf(window, false, counter.used));
    } else {
      counter.used += BigInt(quantity);
      first.set(key, { ...one, ...window, ...keyOf(one) });
      outcomes.set(one, consumptionOf(window, true, counter.used));
      if (!counter.isReached && window.limit !== null && counter.used >= window.limit) {
        counter.isReached = true;
        reached.push({ ...window, used: Number(counter.used), cause: one.cause });
      }
    }
  }
  return { outcomes, refused: [...refused.values()], reached };
}

/** The sums of quantities by their windows. A batch is small enough that they are exact. */
function sumsOf(refused: readonly Wanted[]): readonly (BatchWindow & { readonly quantity: number })[] {
  const byWindow = Map.groupBy(refused, ({ window }) => windowKey(window));
  return [...byWindow.values()].flatMap((all) => {
    const quantity = all.reduce((sum, one) => sum + one.quantity, 0);
    return all.slice(0, 1).map(({ window }) => ({ ...window, quantity }));
  });
}

/** The events that were inserted: of several with the same key, the first one. */
function firstOfEach(wanted: readonly Wanted[], fresh: ReadonlySet<string>): Iterable<Wanted> {
  const first = new Map<string, Wanted>();
  for (const one of wanted) {
    const key = keyText(keyOf(one));
    if (fresh.has(key) && !first.has(key)) first.set(key, one);
  }
  return first.values();
}

function counterOf(counters: OpenCounters, { window }: Wanted): OpenCounter {
  const counter = counters.get(windowKey(window));
  if (counter === undefined) throw new Error('a counter of usage is gone');
  return counter;
}

/** Exact for every number: a limit is below 2^53, and a number that exceeds it does not fit, however it is rounded. */
export function fits({ limit }: BatchWindow, used: number | bigint, quantity: number): boolean {
  return limit === null || Number(used) + quantity <= limit;
}

export function consumptionOf(
  { limit, endsAt }: BatchWindow,
  allowed: boolean,
  exact: number | bigint,
): Consumption {
  const used = Number(exact);
  return { allowed, used, limit, remaining: remainingOf(limit, used), resetsAt: endsAt };
}

/** The outcome for an id that was counted before. */
export function repeated(first: StoredUsage, wanted: Wanted, used: number | bigint): Outcome {
  if (isSameUsage(first, wanted, wanted.window)) return consumptionOf(wanted.window, true, used);
  return new Failure(
    'id_reused',
    'Another usage event of this day has this id. Send a unique id for each use, and the same values on a retry.',
  );
}
