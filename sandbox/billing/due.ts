import type { Changes } from '../state/changes.ts';
import type { Store } from '../state/store.ts';
import { dueKinds } from './due-kinds.ts';
import { type DueItem, Schedule } from './schedule.ts';
import { clockFailed, clockIsReady } from './test-clock.ts';

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
        this.#store.transact(null, () => clockFailed(this.#store, id));
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
      this.#store.transact(null, () => clockIsReady(this.#store, id, until));
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
