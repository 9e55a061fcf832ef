import { Failure, invalidRequest } from '#core/errors.ts';
import { remainingOf } from '#core/model/usage-window.ts';
import { type Cause, currentCause } from '#core/platform/cause.ts';
import { SharedStatement } from '#core/platform/shared-statement.ts';
import type { CustomerTermsWithUsage } from '../subscriptions/entitlements/entitlement-service.ts';
import {
  type BatchWindow,
  findPastPeriods,
  findSubjects,
  type GivenUsage,
  instantOf,
  isSameUsage,
  keyOf,
  keyText,
  type TimedUsage,
  timeRange,
  UsageBatch,
  type UsageSubject,
  windowKey,
} from './usage-batch.ts';
import { type ReachedLimit, reportReached } from './usage-limits.ts';
import type { UsageContext } from './usage-service.ts';
import type { ChangedCounter, NewUsage, StoredUsage } from './usage-store.ts';

/**
 * How late a consumption may be: long enough for a retry after an outage, and not longer, because the window may have
 * ended.
 */
const lateMax = 3_600_000_000n;
/** While one transaction commits, another can be prepared. */
const runningMax = 2;

interface Item extends TimedUsage {
  readonly application: string;
  readonly cause: Cause | undefined;
}

/** Checks and counts in one step. Concurrent requests share their statements. */
export class UsageConsumption {
  readonly #context: UsageContext;
  readonly #shared: SharedStatement<Item, Outcome>;

  constructor(context: UsageContext) {
    this.#context = context;
    this.#shared = new SharedStatement({ run: (items) => this.#run(items), runningMax });
  }

  /** Counts the quantity only if it fits into the window of `at`. */
  async consume(application: string, event: GivenUsage): Promise<Consumption> {
    const at = instantOf(event);
    const { from, to } = await timeRange(this.#context, at, lateMax);
    if (at < from) throw invalidRequest('body.at', 'must be at most an hour ago');
    if (at > to) throw invalidRequest('body.at', 'must be at most 5 minutes ahead');
    const outcome = await this.#shared.add({ application, event, at, cause: currentCause() });
    if (outcome instanceof Failure) throw outcome;
    return outcome;
  }

  async #run(items: readonly Item[]): Promise<readonly Outcome[]> {
    const { entitlements, metrics } = this.#context;
    const subjectOf = await findSubjects(
      this.#context,
      items.map(({ event }) => event),
      (ids) => entitlements.findTermsWithUsage(ids),
    );
    const subjects = items.map((item) => ({ ...item, ...subjectOf(item.event) }));
    const found = subjects.flatMap((one) => ('customer' in one ? [one] : []));
    const batch = new UsageBatch(await findPastPeriods(this.#context, found));
    const wanted = subjects.map((one) =>
      'customer' in one ? wantedOf(one, one, batch.windowFor(one.customer, one.meter, one.at)) : one.code,
    );
    const outcomes = await this.#decide(wanted.filter((one) => typeof one !== 'string'));
    return wanted.map((one) => {
      const outcome = typeof one === 'string' ? refusalOf(one) : outcomes.get(one);
      if (outcome === undefined) throw new Error('a consumption has no outcome');
      if (!(outcome instanceof Failure))
        metrics.usageConsumptions.inc({ result: outcome.allowed ? 'allowed' : 'refused' });
      return outcome;
    });
  }

  /**
   * A quantity that does not fit, or whose meter is archived, is refused without a write, unless it was counted before.
   * Quantities that fit according to the counters that were read are decided under the locks of the counters.
   */
  async #decide(wanted: readonly Wanted[]): Promise<ReadonlyMap<Wanted, Outcome>> {
    const isFitting = ({ isArchived, window, usedBefore, quantity }: Wanted) =>
      !isArchived && fits(window, usedBefore, quantity);
    const outcomes = new Map(await this.#refuse(wanted.filter((one) => !isFitting(one))));
    let left = wanted.filter(isFitting);
    while (left.length > 0) {
      for (const [one, outcome] of await admit(this.#context, withoutConflicts(left)))
        outcomes.set(one, outcome);
      left = left.filter((one) => !outcomes.has(one));
    }
    return outcomes;
  }

  /** The counters were read earlier, so a quantity that they contain already is found here. */
  async #refuse(wanted: readonly Wanted[]): Promise<readonly (readonly [Wanted, Outcome])[]> {
    const { database, store } = this.#context;
    const stored = wanted.length === 0 ? [] : await store.find(database, wanted.map(keyOf));
    const known = new Map(stored.map((row) => [keyText(row), row]));
    return wanted.map((one) => {
      const { isArchived, window, usedBefore: used } = one;
      const first = known.get(keyText(keyOf(one)));
      if (first !== undefined) return [one, repeated(first, one, used)];
      return [one, isArchived ? refusalOf('meter_archived') : consumptionOf(window, false, used)];
    });
  }
}

/** Leaves out events that have the id of an earlier one and other content. They are decided after it. */
function withoutConflicts(wanted: readonly Wanted[]): readonly Wanted[] {
  const first = new Map<string, Wanted>();
  return wanted.filter((one) => {
    const key = keyText(keyOf(one));
    const earlier = first.get(key) ?? one;
    first.set(key, earlier);
    return isSameUsage({ ...earlier, ...earlier.window }, one, one.window);
  });
}

function wantedOf(
  { application, event, at, cause }: Item,
  { customer, meter }: UsageSubject<CustomerTermsWithUsage>,
  window: BatchWindow,
): Wanted {
  const { meterId, startsAt: start, windowNumber } = window;
  const usedBefore = customer.usedIn(meterId, { start, windowNumber });
  const { id, quantity = 1 } = event;
  return { application, id, at, quantity, window, usedBefore, cause, isArchived: !meter.active };
}

function refusalOf(code: 'customer_not_found' | 'meter_not_found' | 'meter_archived'): Failure {
  switch (code) {
    case 'customer_not_found':
      return new Failure('not_found', 'No customer has this id. Check customerId or externalId.');
    case 'meter_not_found':
      return new Failure('not_found', 'No meter has this key. Check meter.');
    case 'meter_archived':
      return new Failure(
        'meter_archived',
        'The meter is archived, so its usage is not counted any more. Use an active meter.',
      );
  }
}

/** A quantity that is counted only if it fits. */
interface Wanted extends Omit<NewUsage, 'window'> {
  readonly window: BatchWindow;
  /** The value of the window's counter when the request was read. */
  readonly usedBefore: number;
  readonly cause: Cause | undefined;
  /** Whether the meter is archived and must not count any more. */
  readonly isArchived: boolean;
}

interface Consumption {
  readonly allowed: boolean;
  readonly used: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly resetsAt: Date;
}

type Outcome = Consumption | Failure;

/**
 * Decides about each quantity in turn, under the locks of the counters, and counts those that fit. All of them are
 * added first, in one statement, because usually all fit. Quantities that do not fit are removed again before the
 * commit.
 */
function admit(context: UsageContext, wanted: readonly Wanted[]): Promise<ReadonlyMap<Wanted, Outcome>> {
  const { database, store, clock } = context;
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
    if (decided.reached.length > 0) reportReached(tx, context, decided.reached);
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
function fits({ limit }: BatchWindow, used: number | bigint, quantity: number): boolean {
  return limit === null || Number(used) + quantity <= limit;
}

function consumptionOf(
  { limit, endsAt }: BatchWindow,
  allowed: boolean,
  exact: number | bigint,
): Consumption {
  const used = Number(exact);
  return { allowed, used, limit, remaining: remainingOf(limit, used), resetsAt: endsAt };
}

/** The outcome for an id that was counted before. */
function repeated(first: StoredUsage, wanted: Wanted, used: number | bigint): Outcome {
  if (isSameUsage(first, wanted, wanted.window)) return consumptionOf(wanted.window, true, used);
  return new Failure(
    'id_reused',
    'Another usage event of this day has this id. Send a unique id for each use, and the same values on a retry.',
  );
}
