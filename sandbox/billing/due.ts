import { expireSession, sessionDueAt } from '../checkout/session.ts';
import { chargeDueAt, chargeFallsDue } from '../payments/charge-life.ts';
import { disputeDueAt, disputeFallsDue } from '../payments/dispute.ts';
import { refundDueAt, settleRefund } from '../payments/refund.ts';
import type { Changes } from '../state/changes.ts';
import type { Collection } from '../state/collection.ts';
import { MinHeap } from '../state/min-heap.ts';
import type { Store } from '../state/store.ts';
import type { WireObject } from '../wire/objects.ts';
import { discountDueAt, discountFallsDue } from './discount.ts';
import { invoiceDueTimes, invoiceFallsDue } from './invoice-life.ts';
import { scheduleDueTimes, scheduleFallsDue } from './schedule-life.ts';
import { subscriptionDueTimes, subscriptionFallsDue } from './subscription-life.ts';
import { clockStopped, deleteTestClock } from './test-clock.ts';

/** Timers cannot exceed 24.8 days, and the clock jumps after the machine sleeps. So check at least this often. */
const timerMsMax = 60 * 60 * 1_000;
/** After this many items, the journal is written and other requests are served. */
const batchItems = 200;

/**
 * Scheduled work: renewals, trial ends, retries, expiries. Due times are computed from the objects' state, so the
 * schedule is not stored. The world's clock and each test clock have their own schedule.
 */
export class Due {
  readonly #store: Store;
  readonly #ownSchedule = this.#newSchedule(null);
  readonly #clockSchedules = new Map<string, Schedule>();
  readonly #onProblem: (fields: object, message: string) => void;
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;
  readonly #advancing = new Map<string, Promise<void>>();
  #closed = false;

  constructor(store: Store, onProblem: (fields: object, message: string) => void) {
    this.#store = store;
    this.#onProblem = onProblem;
    store.onChanges((changes) => this.#note(changes));
  }

  /** Schedules all objects. An earlier process has completed everything up to `doneUntil`. */
  start(doneUntil: number): void {
    for (const [kind, { ids }] of dueKinds)
      for (const id of ids(this.#store)) this.#push({ kind, id }, doneUntil);
    for (const { id } of this.#store.testClocks.values()) this.#advanceClock(id);
    this.#setTimer();
  }

  /** Moves the world's clock. Resolves when everything due by then is done, each item at its own time. */
  async advanceTo(seconds: number): Promise<void> {
    while (this.#running !== null) await this.#running;
    const { clock } = this.#store;
    this.#running = this.#run(this.#ownSchedule, seconds, (at, work) => {
      clock.holdAt(at);
      work();
    }).finally(() => {
      clock.release();
      this.#running = null;
    });
    await this.#running;
    if (clock.isBehind(seconds)) {
      clock.runOnFrom(seconds);
      this.#store.changeSettings({});
    }
    await this.#store.written();
    this.#setTimer();
  }

  reset(): void {
    this.#ownSchedule.clear();
    this.#clockSchedules.clear();
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#running;
    await Promise.all(this.#advancing.values());
  }

  /** Does what is due by `until`. `atTime` runs an item at its own time. */
  async #run(
    schedule: Schedule,
    until: number,
    atTime: (at: number, work: () => void) => void,
  ): Promise<void> {
    for (let done = 1; !this.#closed; done++) {
      const next = schedule.next(until);
      if (next === undefined) return;
      atTime(next.at, () => this.#store.transact(null, () => this.#happen(next.item, next.at)));
      if (done % batchItems === 0) {
        await this.#store.written();
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }

  /** Moves a test clock to its target, if it is advancing, without delaying the response to the request. */
  #advanceClock(id: string): void {
    if (this.#advancing.has(id) || targetOf(this.#store, id) === undefined) return;
    const advanced = this.#runClock(id)
      .catch((error: unknown) => {
        this.#onProblem({ error, testClock: id }, 'a test clock failed to advance');
        this.#store.transact(null, () => clockStopped(this.#store, id, 'internal_failure'));
      })
      .finally(() => {
        this.#advancing.delete(id);
        // The next step may have started while the last one was written.
        if (!this.#closed) this.#advanceClock(id);
      });
    this.#advancing.set(id, advanced);
  }

  async #runClock(id: string): Promise<void> {
    // The response to the request that advances the clock shows it as advancing.
    await new Promise((resolve) => setImmediate(resolve));
    const until = targetOf(this.#store, id);
    if (until === undefined) return;
    await this.#run(this.#scheduleOf(id), until, (at, work) => this.#store.clock.at(at, work));
    if (!this.#closed && targetOf(this.#store, id) !== undefined)
      this.#store.transact(null, () => clockStopped(this.#store, id, { at: until }));
    await this.#store.written();
  }

  #note(changes: Changes): void {
    const before = this.#ownSchedule.firstAt;
    for (const { value } of changes.puts) {
      this.#push({ kind: value.object, id: value.id }, this.#store.worldNow());
      if (value.object === 'test_helpers.test_clock') this.#advanceClock(value.id);
    }
    for (const { collection, id } of changes.removals)
      if (collection === this.#store.testClocks.name) this.#clockSchedules.delete(id);
    if (this.#ownSchedule.firstAt !== before && this.#running === null) this.#setTimer();
  }

  /** Schedules the item. Everything up to `doneUntil` is done, by the world's clock. */
  #push(item: DueItem, doneUntil: number): void {
    const clockId = this.#clockIdOf(item);
    const frozenTime = this.#store.testClocks.get(clockId)?.frozen_time;
    const times = this.#timesOf(item, this.#store.clock.frozenAt ?? frozenTime ?? doneUntil);
    const schedule = clockId === null ? this.#ownSchedule : this.#scheduleOf(clockId);
    for (const at of times) schedule.push(at, item);
  }

  #scheduleOf(clockId: string): Schedule {
    const existing = this.#clockSchedules.get(clockId);
    if (existing !== undefined) return existing;
    const schedule = this.#newSchedule(clockId);
    this.#clockSchedules.set(clockId, schedule);
    return schedule;
  }

  #newSchedule(clockId: string | null): Schedule {
    return new Schedule((item, at) => this.#clockIdOf(item) === clockId && this.#timesOf(item).includes(at));
  }

  #clockIdOf({ kind, id }: DueItem): string | null {
    return dueKinds.get(kind)?.clockIdOf(this.#store, id) ?? null;
  }

  #timesOf({ kind, id }: DueItem, doneUntil = 0): readonly number[] {
    return dueKinds.get(kind)?.timesOf(this.#store, id, doneUntil) ?? [];
  }

  #happen({ kind, id }: DueItem, at: number): void {
    dueKinds.get(kind)?.happen(this.#store, id, at);
  }

  #setTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const at = this.#ownSchedule.firstAt;
    if (at === undefined || this.#closed) return;
    const waitMs = Math.min(timerMsMax, Math.max(0, (at - this.#store.now()) * 1_000));
    this.#timer = setTimeout(() => {
      this.advanceTo(this.#store.now()).catch((error: unknown) =>
        this.#onProblem({ error }, 'scheduled work failed'),
      );
    }, waitMs);
  }
}

/** The time that a test clock is advancing to. */
function targetOf(store: Store, clockId: string): number | undefined {
  return store.testClocks.get(clockId)?.status_details.advancing?.target_frozen_time;
}

interface DueItem {
  /** The object's name in the wire API. */
  readonly kind: string;
  readonly id: string;
}

/** A smaller heap is not worth cleaning. */
const cleanAboveItems = 1_000;

/**
 * Items by due time, for one clock. An entry that no longer matches its object's state is obsolete. Obsolete entries
 * are dropped when they come up, and all at once when the heap has doubled, so that objects that are deleted long
 * before they fall due take no memory.
 */
export class Schedule {
  readonly #heap = new MinHeap<DueItem>();
  /** The entries in the heap, so that an object that changes often is not scheduled twice for the same time. */
  readonly #scheduled = new Set<string>();
  readonly #isCurrent: (item: DueItem, at: number) => boolean;
  #cleanAbove = cleanAboveItems;

  constructor(isCurrent: (item: DueItem, at: number) => boolean) {
    this.#isCurrent = isCurrent;
  }

  get size(): number {
    return this.#heap.size;
  }

  /** The earliest due time. */
  get firstAt(): number | undefined {
    return this.#heap.firstAt;
  }

  push(at: number, item: DueItem): void {
    const key = keyOf(item, at);
    if (this.#scheduled.has(key)) return;
    this.#scheduled.add(key);
    this.#heap.push(at, item);
    if (this.#heap.size > this.#cleanAbove) this.#dropObsolete();
  }

  /** Takes the next item that is due by `until`. */
  next(until: number): { readonly at: number; readonly item: DueItem } | undefined {
    while ((this.firstAt ?? Number.POSITIVE_INFINITY) <= until) {
      const next = this.#pop();
      if (next !== undefined && this.#isCurrent(next.item, next.at)) return next;
    }
    return undefined;
  }

  clear(): void {
    this.#heap.clear();
    this.#scheduled.clear();
  }

  #pop(): { readonly at: number; readonly item: DueItem } | undefined {
    const next = this.#heap.pop();
    if (next !== undefined) this.#scheduled.delete(keyOf(next.item, next.at));
    return next;
  }

  #dropObsolete(): void {
    const current: { readonly at: number; readonly item: DueItem }[] = [];
    for (let next = this.#heap.pop(); next !== undefined; next = this.#heap.pop())
      if (this.#isCurrent(next.item, next.at)) current.push(next);
    this.clear();
    for (const { at, item } of current) {
      this.#scheduled.add(keyOf(item, at));
      this.#heap.push(at, item);
    }
    this.#cleanAbove = Math.max(cleanAboveItems, 2 * current.length);
  }
}

function keyOf({ id }: DueItem, at: number): string {
  return `${id} ${at}`;
}

type DueKind = ReturnType<typeof kind>;

/** The kinds of objects that change over time, by their names in the wire API. */
const dueKinds: ReadonlyMap<string, DueKind> = new Map([
  ['subscription', kind((store) => store.subscriptions, subscriptionDueTimes, subscriptionFallsDue)],
  ['subscription_schedule', kind((store) => store.subscriptionSchedules, scheduleDueTimes, scheduleFallsDue)],
  ['invoice', kind((store) => store.invoices, invoiceDueTimes, invoiceFallsDue)],
  ['discount', kind((store) => store.discounts, discountDueAt, discountFallsDue)],
  ['refund', kind((store) => store.refunds, refundDueAt, settleRefund)],
  [
    'test_helpers.test_clock',
    kind(
      (store) => store.testClocks,
      ({ deletes_after: at }) => at,
      deleteTestClock,
    ),
  ],
  ['charge', kind((store) => store.charges, chargeDueAt, chargeFallsDue)],
  ['dispute', kind((store) => store.disputes, disputeDueAt, disputeFallsDue)],
  ['checkout.session', kind((store) => store.checkoutSessions, sessionDueAt, expireSession)],
]);

/** How objects of one kind change over time. */
function kind<T extends WireObject>(
  collectionOf: (store: Store) => Collection<T>,
  times: (value: T, doneUntil: number, store: Store) => readonly number[] | number | null,
  happen: (store: Store, value: T, at: number) => unknown,
) {
  return {
    ids: (store: Store) => [...collectionOf(store).values()].map(({ id }) => id),
    /** The test clock that decides when the object is due. Null for the world's clock. */
    clockIdOf: (store: Store, id: string) => clockIdOf(store, collectionOf(store).get(id)),
    /** The times at which the object needs work. Announcements up to `doneUntil` are done. */
    timesOf: (store: Store, id: string, doneUntil: number): readonly number[] => {
      const value = collectionOf(store).get(id);
      const due = value === undefined ? null : times(value, doneUntil, store);
      return due === null ? [] : [due].flat();
    },
    happen: (store: Store, id: string, at: number): void => {
      const value = collectionOf(store).get(id);
      if (value !== undefined) happen(store, value, at);
    },
  };
}

/** A discount follows the clock of its subscription. */
function clockIdOf(store: Store, value: WireObject | undefined): string | null {
  if (value?.object === 'discount')
    return clockIdOf(store, store.subscriptions.get(store.discounts.get(value.id)?.subscription ?? ''));
  return value !== undefined && 'test_clock' in value && typeof value.test_clock === 'string'
    ? value.test_clock
    : null;
}
