import { setTimeout } from 'node:timers/promises';
import type { Database } from '#core/platform/postgres.ts';
import { WakeableSleep } from '#core/platform/wakeable-sleep.ts';
import type { FeedPoint } from './event-id.ts';
import type { EventStore } from './event-store.ts';
import { FeedEvent } from './feed-event.ts';

/** Events of other processes are visible after this time plus one read: well within half a second. */
const pollDelayMs = 200;
/** Commits in quick succession share one read. Two hundred reads a second cost little. */
const readGapMs = 5;
/** A page takes a few milliseconds, and contains the events of many commits. */
const pageMax = 500;
/** Readers that are slightly behind find their events in memory. Others read the table. */
const recentMax = 2_000;
/** How many of the newest events readers that are behind find in memory. There is room for those that follow. */
const recalledMax = recentMax / 2;
/** How long the end is read for a reader that is behind. It asks again with each page. */
const expectedMs = 5_000;
/** Events with much metadata are large. */
const recentLengthMax = 8_000_000;
/** Personal data of a deleted customer may stay in memory for this long. The table loses it in about the same time. */
const recentAgeMsMax = 60_000;

interface Recent extends FeedPoint {
  readonly events: readonly FeedEvent[];
}

interface WaitingReader {
  readonly after: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The end of the feed, read once for all waiting readers of this process. It reads only while there are any, so that
 * an idle service sends no queries. Its events belong to one history of the database. After a failover or a restore it
 * forgets them all, because some may be lost.
 */
export class EventTail {
  readonly #database: Database;
  readonly #store: EventStore;
  readonly #waiters = new Set<WaitingReader>();
  /** Every event after `#start` and up to `#position`, in order. */
  #recent: FeedEvent[] = [];
  #recentLength = 0;
  #start = 0;
  #position = 0;
  /** Undefined until the end of the feed has been read. */
  #history: number | undefined;
  #running: Promise<void> | undefined;
  #isNudged = false;
  /** Until then, it reads even if no reader waits. */
  #expectedUntilMs = 0;
  /** Whether the newest events from before the first read were read too. */
  #hasRecalled = false;
  readonly #rest = new WakeableSleep();

  constructor(parts: { readonly database: Database; readonly store: EventStore }) {
    this.#database = parts.database;
    this.#store = parts.store;
  }

  /** This process has committed events. */
  nudge(): void {
    this.#isNudged = true;
    if (this.#waiters.size > 0) this.#rest.wake();
  }

  /** Resolves when there may be events after the position, or when the signal aborts. Rejects if the database fails. */
  async wait({ position: after, history }: FeedPoint, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve: settle, reject } = Promise.withResolvers<void>();
    const resolve = () => settle();
    const waiter: WaitingReader = { after, resolve, reject };
    this.#waiters.add(waiter);
    signal.addEventListener('abort', resolve, { once: true });
    if (this.#running === undefined || history !== this.#history) this.#forgetAll();
    this.#running ??= this.#readWhileAwaited();
    if (this.#position > after) resolve();
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', resolve);
      this.#waiters.delete(waiter);
      if (this.#waiters.size === 0) this.#rest.wake();
    }
  }

  /**
   * A reader is behind, and will soon be near the end. After a restart all are behind. If each read the table up to the
   * end for itself, they would not catch up with many new events.
   */
  expect(): void {
    this.#expectedUntilMs = performance.now() + expectedMs;
    if (this.#running === undefined) this.#forgetAll();
    this.#running ??= this.#readWhileAwaited();
  }

  /** Whether a reader at this position gets all further events from memory. */
  covers({ position, history }: FeedPoint): boolean {
    return this.#running !== undefined && history === this.#history && position >= this.#start;
  }

  /** The events after a position, up to where the tail has read. Undefined if they are not in memory. */
  since({ position: after, history }: FeedPoint): Recent | undefined {
    if (history !== this.#history || after < this.#start || after >= this.#position) return undefined;
    const first = this.#recent.findLastIndex(({ position }) => position <= after) + 1;
    return { events: this.#recent.slice(first), position: this.#position, history };
  }

  /** Resolves when the last read has ended. End all readers first. */
  async stop(): Promise<void> {
    this.#expectedUntilMs = 0;
    this.#rest.wake();
    await this.#running;
  }

  /** The next read begins at the end of the feed. Readers that are behind it read the table. */
  #forgetAll(): void {
    this.#history = undefined;
    this.#startAt(0);
    this.nudge();
  }

  #startAt(position: number): void {
    this.#recent = [];
    this.#recentLength = 0;
    this.#start = position;
    this.#position = position;
    this.#hasRecalled = false;
  }

  get #isExpected(): boolean {
    return performance.now() < this.#expectedUntilMs;
  }

  async #readWhileAwaited(): Promise<void> {
    try {
      while (this.#waiters.size > 0 || this.#isExpected) {
        this.#isNudged = false;
        await this.#readNew();
        if (this.#isExpected && !this.#hasRecalled) await this.#recall();
        await setTimeout(readGapMs);
        await this.#untilNudged();
      }
    } catch (error) {
      // A failed read ends all readers. They reconnect.
      for (const waiter of this.#waiters) waiter.reject(error);
      this.#waiters.clear();
    } finally {
      this.#running = undefined;
    }
  }

  async #readNew(): Promise<void> {
    const { position: upTo, history } = await this.#store.horizon(this.#database);
    if (history !== this.#history) {
      this.#startAt(upTo);
      this.#history = history;
      this.#wakeReaders();
    }
    // The horizon can be lower than before. That is safe: a transaction that began in the meantime writes only above
    // both.
    while (upTo > this.#position) {
      const range = { after: this.#position, upTo, limit: pageMax };
      const { rows, isComplete } = await this.#store.read(this.#database, range, {});
      // A reader has seen another history in the meantime, so these events may be lost.
      if (history !== this.#history) return;
      for (const event of rows.map((row) => new FeedEvent(row))) {
        this.#recent.push(event);
        this.#recentLength += event.json.length;
      }
      this.#position = isComplete ? upTo : (rows.at(-1)?.position ?? upTo);
      this.#wakeReaders();
      this.#forget();
    }
    this.#forget();
  }

  /** Reads the newest events again, with those from before the first read. */
  async #recall(): Promise<void> {
    this.#hasRecalled = true;
    const history = this.#history;
    const newest: FeedEvent[] = [];
    let length = 0;
    let start = this.#position;
    while (start > 0 && newest.length < recalledMax && length < recentLengthMax / 2) {
      const range = { after: 0, upTo: start, limit: pageMax, isNewestFirst: true };
      const { rows, isComplete } = await this.#store.read(this.#database, range, {});
      const events = rows.map((row) => new FeedEvent(row));
      newest.push(...events);
      length += events.reduce((sum, { json }) => sum + json.length, 0);
      const oldest = rows.at(-1);
      start = isComplete || oldest === undefined ? 0 : oldest.position - 1;
    }
    if (history !== this.#history) return;
    this.#recent = newest.reverse();
    this.#recentLength = length;
    this.#start = start;
  }

  #wakeReaders(): void {
    for (const { after, resolve } of this.#waiters) if (this.#position > after) resolve();
  }

  #forget(): void {
    const oldestMs = performance.now() - recentAgeMsMax;
    let forgotten = 0;
    for (const { position, readAtMs, json } of this.#recent) {
      const isKept = this.#recent.length - forgotten <= recentMax && this.#recentLength <= recentLengthMax;
      if (isKept && readAtMs >= oldestMs) break;
      forgotten += 1;
      this.#recentLength -= json.length;
      this.#start = position;
    }
    if (forgotten > 0) this.#recent.splice(0, forgotten);
  }

  /**
   * Sleeps until this process commits events, no reader waits any more, or it is time to look for events of other
   * processes.
   */
  async #untilNudged(): Promise<void> {
    if (!this.#isNudged && (this.#waiters.size > 0 || this.#isExpected)) await this.#rest.sleep(pollDelayMs);
  }
}
