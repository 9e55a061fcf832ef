import { Failure } from '../errors.ts';
import { remainingOf } from '../model/usage-window.ts';
import type { Cause } from '../platform/cause.ts';
import type { Transaction } from '../platform/postgres.ts';
import { type BatchWindow, isSameUsage, keyOf, keyText, windowKey } from './usage-batch.ts';
import { type ReachedLimit, reportReached } from './usage-limits.ts';
import type { UsageParts } from './usage-service.ts';
import type { NewUsage, StoredUsage } from './usage-store.ts';

/** A quantity that is counted only if it fits. */
export interface Wanted extends Omit<NewUsage, 'window'> {
  readonly window: BatchWindow;
  readonly cause: Cause | undefined;
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
 * Decides about each quantity in turn, under the locks of the counters, and counts those that fit. The events are inserted
 * first, as every transaction does, and removed again if they do not fit.
 */
export function admit(parts: UsageParts, wanted: readonly Wanted[]): Promise<ReadonlyMap<Wanted, Outcome>> {
  const { database, store, clock } = parts;
  const windows = [...new Map(wanted.map(({ window }) => [windowKey(window), window])).values()];
  const places = new Map(windows.map((window, place) => [windowKey(window), place]));
  const events = wanted.map(({ application, id, at, quantity, window }) => ({
    ...{ application, id, at, quantity, window: places.get(windowKey(window)) ?? 0 },
  }));
  return database.transaction(async (tx) => {
    const inserting = store.insert(tx, events, windows, clock.now());
    const locking = lockCounters(tx, parts, windows);
    const [inserted, counters] = await Promise.all([inserting, locking]);
    const fresh = new Set(inserted.map(keyText));
    const others = wanted.filter((one) => !fresh.has(keyText(keyOf(one))));
    const stored = others.length === 0 ? [] : await store.find(tx, others.map(keyOf));
    const decided = decide(wanted, fresh, { stored, counters });
    if (decided.refused.length > 0) store.remove(tx, decided.refused.map(keyOf));
    if (decided.changed.length > 0) store.setCounters(tx, decided.changed);
    reportReached(tx, parts, decided.reached);
    return decided.outcomes;
  });
}

interface OpenCounter {
  used: number;
  isReached: boolean;
}

/** By the keys of the windows. */
type OpenCounters = ReadonlyMap<string, OpenCounter>;

/** A window that nothing was used in may have no counter yet. Counters are never deleted. */
async function lockCounters(
  tx: Transaction,
  { store }: UsageParts,
  windows: readonly BatchWindow[],
): Promise<OpenCounters> {
  const exist = windows.every(({ usedBefore }) => usedBefore !== 0);
  return toCounters(await (exist ? store.lockCounters(tx, windows) : store.createCounters(tx, windows)));
}

function toCounters(found: Awaited<ReturnType<UsageParts['store']['lockCounters']>>): OpenCounters {
  return new Map(found.map((row) => [windowKey(row), { used: row.used, isReached: row.isReached }]));
}

interface Decided {
  readonly outcomes: Map<Wanted, Outcome>;
  /** Inserted events that do not fit. */
  readonly refused: Wanted[];
  readonly changed: readonly (BatchWindow & { readonly used: number })[];
  readonly reached: ReachedLimit[];
}

function decide(
  wanted: readonly Wanted[],
  fresh: ReadonlySet<string>,
  { stored, counters }: { readonly stored: readonly StoredUsage[]; readonly counters: OpenCounters },
): Decided {
  const outcomes = new Map<Wanted, Outcome>();
  const first = new Map(stored.map((row) => [keyText(row), row]));
  const changed = new Map<string, BatchWindow>();
  const refused: Wanted[] = [];
  const reached: ReachedLimit[] = [];
  for (const one of wanted) {
    const { window, quantity } = one;
    const key = keyText(keyOf(one));
    const counter = counters.get(windowKey(window));
    if (counter === undefined) throw new Error('a counter of usage is gone');
    const known = first.get(key);
    if (known !== undefined || !fresh.has(key)) {
      // An event that is no longer found was counted, and its customer has been erased since.
      outcomes.set(
        one,
        known === undefined ? answer(window, true, counter.used) : repeated(known, one, counter.used),
      );
    } else if (!fits(window, counter.used, quantity)) {
      refused.push(one);
      outcomes.set(one, answer(window, false, counter.used));
    } else {
      counter.used += quantity;
      first.set(key, { ...one, ...window, ...keyOf(one) });
      changed.set(windowKey(window), window);
      outcomes.set(one, answer(window, true, counter.used));
      if (!counter.isReached && window.limit !== null && counter.used >= window.limit) {
        counter.isReached = true;
        reached.push({ ...window, used: counter.used, cause: one.cause });
      }
    }
  }
  return {
    ...{ outcomes, refused, reached },
    changed: [...changed].map(([key, window]) => ({ ...window, used: counters.get(key)?.used ?? 0 })),
  };
}

export function fits({ limit }: BatchWindow, used: number, quantity: number): boolean {
  return limit === null || used + quantity <= limit;
}

export function answer({ limit, endsAt }: BatchWindow, allowed: boolean, used: number): Consumption {
  return { allowed, used, limit, remaining: remainingOf(limit, used), resetsAt: endsAt };
}

/** The outcome for an id that was counted before. */
export function repeated(first: StoredUsage, wanted: Wanted, used: number): Outcome {
  if (isSameUsage(first, wanted, wanted.window)) return answer(wanted.window, true, used);
  return new Failure(
    'id_reused',
    'Another usage event of this day has this id. Use the id of what was used, and send the same values on a retry.',
  );
}
