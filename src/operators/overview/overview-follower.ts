import { setTimeout } from 'node:timers/promises';
import { Failure } from '#core/errors.ts';
import type { Platform } from '#core/platform/platform.ts';
import {
  isLockTimeout,
  isSerializationFailure,
  type Queryable,
  type Transaction,
} from '#core/platform/postgres.ts';
import type { TimeZone } from '#core/platform/time-zone.ts';
import type { CountedKind } from '#engine/overview/counted-kind.ts';
import {
  type Cell,
  CellSum,
  type CountedChange,
  type CountedEvent,
  changeOf,
  completeChanges,
  type KindsByType,
  now,
} from './cells.ts';
import { type CountedMove, turnMovesOf } from './move.ts';
import { MoveStore } from './move-store.ts';
import { type OverviewProgress, OverviewStore } from './overview-store.ts';
import { RowCounter } from './row-counter.ts';
import { type AmountChange, amountChangesOf, keyOf, SubscriberMoves } from './subscription-moves.ts';

/** About 20 ms of work: short for requests that wait for the lock, and long compared with the cost of a commit. */
const eventsPerBatch = 2_000;
/** Ten thousand events, a tenth of a second. A request that finds more does not wait for them. */
const batchesPerRequestMax = 5;
const requestTimeMsMax = 1_000;
/** A transaction that delays the horizon usually commits within a few milliseconds. */
const horizonDelayMs = 5;
/** A million events per run of the background work. The next run continues. */
const batchesPerRunMax = 500;
/** Another process holds the lock for the time of a batch, or counts all rows, which takes seconds. */
const lockTimeoutMs = 500;
/** Another process counts a batch of events within milliseconds, so one of these attempts succeeds. */
const correctionAttemptsMax = 50;
const correctionDelayMs = 20;
/** Above every position. */
const positionMax = Number.MAX_SAFE_INTEGER;
/** A first count takes seconds, a batch of events milliseconds. */
const retryAfterSeconds = 5;

interface EventReader {
  horizon(db: Queryable): Promise<{ readonly position: number }>;
  drawn(db: Queryable): Promise<number>;
  measure(
    db: Queryable,
    range: { readonly after: number; readonly upTo: number; readonly limit: number },
  ): Promise<{ readonly size: number; readonly position: number; readonly createdAt: Date | null }>;
  readChanges(
    db: Queryable,
    range: { readonly after: number; readonly upTo: number },
    objectTypes: readonly string[],
  ): Promise<readonly CountedEvent[]>;
}

/** The result of counting a batch of events. */
interface CountedBatch {
  /** The number of events that were read. */
  readonly size: number;
  /** Every event up to here is counted. */
  readonly reached: number;
}

/**
 * Keeps the numbers of the overview: it counts each event once, in the order of the feed, up to the horizon. The
 * position changes in the transaction of the numbers, so a crash repeats nothing and skips nothing. See decision 0024.
 */
export class OverviewFollower {
  readonly #context: Platform;
  readonly #store = new OverviewStore();
  readonly #moves = new MoveStore();
  readonly #events: EventReader;
  readonly #timeZone: TimeZone;
  readonly #kindsByType: KindsByType;
  readonly #counter: RowCounter;

  constructor(context: Platform, events: EventReader, kinds: readonly CountedKind[], timeZone: TimeZone) {
    this.#context = context;
    this.#events = events;
    this.#timeZone = timeZone;
    this.#kindsByType = new Map(kinds.map((kind) => [kind.type, kind]));
    this.#counter = new RowCounter(kinds, this.#store, timeZone);
  }

  /** Whether all rows were counted with the days of the current time zone. */
  isCounted({ position, timeZone }: OverviewProgress): boolean {
    return position !== null && timeZone === this.#timeZone.name;
  }

  /** The background work: the first count of all rows, then all events. False if work is left. */
  async run(signal?: AbortSignal): Promise<boolean> {
    const { database, logger } = this.#context;
    if (!this.isCounted(await this.#store.progress(database))) {
      const startMs = performance.now();
      if ((await this.#countRows(signal)) === undefined) return false;
      logger.info({ durationMs: Math.round(performance.now() - startMs) }, 'overview counted from all rows');
    }
    for (let batches = 0; batches < batchesPerRunMax && !signal?.aborted; batches += 1) {
      const batch = await this.#countNext({ waits: false });
      if (batch === undefined || batch.size < eventsPerBatch) return true;
    }
    return false;
  }

  /**
   * Counts what is committed now, so that a request sees its own writes. Stops if there are very many changes, or if
   * another process is counting all rows. False if there is more to count.
   */
  async catchUp(): Promise<boolean> {
    const { database } = this.#context;
    const target = await this.#events.drawn(database);
    const endMs = performance.now() + requestTimeMsMax;
    for (let batches = 0; batches < batchesPerRequestMax; batches += 1) {
      const batch = await this.#countNext({ waits: true });
      if (batch === undefined) return false;
      if (batch.reached >= target) return true;
      if (performance.now() > endMs) return false;
      if (batch.size < eventsPerBatch) await setTimeout(horizonDelayMs);
    }
    return false;
  }

  /** Counts all rows, and corrects the numbers where they differ. Returns how many differed. */
  async correct(): Promise<number> {
    for (let attempts = 0; attempts < correctionAttemptsMax; attempts += 1) {
      const corrected = await this.#countRows();
      if (corrected !== undefined) return corrected;
      await setTimeout(correctionDelayMs);
    }
    throw overviewPending();
  }

  /**
   * The rows are read in one snapshot. It may contain changes whose events are not counted yet, so these are
   * subtracted: they are counted later. Returns how many numbers differed, or undefined if another process changes
   * them.
   */
  async #countRows(signal?: AbortSignal): Promise<number | undefined> {
    const { database } = this.#context;
    // Before the snapshot, so that it contains every change up to here.
    const { position: horizon } = await this.#events.horizon(database);
    try {
      return await database.transaction(async (tx) => {
        await tx.query('set transaction isolation level repeatable read');
        const progress = await this.#store.lock(tx, { waits: false });
        if (progress === undefined) return undefined;
        const position = progress.position ?? horizon;
        const difference = new CellSum();
        const later = await this.#readLater(tx, position);
        difference.addAll(later.cells, -1);
        const isFirst = progress.position === null;
        await this.#counter.count({ tx, sum: difference, signal, later: later.amounts, isFirst });
        difference.addAll(await this.#store.readComputable(tx), -1);
        const corrected = difference.all();
        await this.#store.moveToSnapshot(tx, position, this.#timeZone.name);
        await this.#store.add(tx, corrected);
        if (progress.timeZone !== this.#timeZone.name) {
          await this.#store.moveBackToToday(tx, this.#timeZone.name);
          await this.#moves.moveBackToToday(tx, this.#timeZone.name);
        }
        return corrected.length;
      });
    } catch (error) {
      // Another process committed between the snapshot and the lock.
      if (isSerializationFailure(error)) return undefined;
      throw error;
    }
  }

  /** The changes of events after a position. Numbers of subscriptions have only a cell for now. */
  async #readLater(tx: Transaction, position: number) {
    const cells = new CellSum();
    const amounts = new Map<string, bigint>();
    for (let after = position, isMore = true; isMore; ) {
      const range = { after, upTo: positionMax, limit: eventsPerBatch };
      const batch = await this.#events.measure(tx, range);
      for (const change of await this.#readChanges(tx, { after, upTo: batch.position })) {
        cells.addChange(change, this.#timeZone);
        for (const one of amountsOf(change))
          amounts.set(keyOf(one), (amounts.get(keyOf(one)) ?? 0n) + one.difference);
      }
      after = batch.position;
      isMore = batch.size === eventsPerBatch;
    }
    return { cells: cells.computable(), amounts };
  }

  /** Counts the next events. Undefined if another process changes the numbers, or the first count is missing. */
  async #countNext({ waits }: { readonly waits: boolean }): Promise<CountedBatch | undefined> {
    const { database } = this.#context;
    try {
      return await database.transaction(async (tx) => {
        tx.send(`set local lock_timeout = '${lockTimeoutMs}ms'`);
        const progress = await this.#store.lock(tx, { waits });
        if (progress === undefined || progress.position === null || !this.isCounted(progress))
          return undefined;
        const { position: after } = progress;
        const { position: upTo } = await this.#events.horizon(tx);
        if (upTo <= after) return { size: 0, reached: after };
        const { size, position, createdAt } = await this.#events.measure(tx, {
          after,
          upTo,
          limit: eventsPerBatch,
        });
        if (createdAt === null) return { size, reached: upTo };
        await this.#store.add(
          tx,
          await this.#count(tx, await this.#readChanges(tx, { after, upTo: position })),
        );
        await this.#store.move(tx, position, createdAt);
        return { size, reached: size < eventsPerBatch ? upTo : position };
      });
    } catch (error) {
      if (isLockTimeout(error)) return undefined;
      throw error;
    }
  }

  /** Adds up what the changes add to the numbers, moves the subscribers, and stores each move. */
  async #count(tx: Queryable, changes: readonly CountedChange[]): Promise<readonly Cell[]> {
    const sum = new CellSum();
    for (const change of changes) sum.addChange(change, this.#timeZone);
    const turns = changes.flatMap((change) => turnMovesOf(change, this.#timeZone));
    await this.#moves.add(tx, [...turns, ...(await this.#moveSubscribers(tx, changes, sum))]);
    return sum.all();
  }

  async #moveSubscribers(
    tx: Queryable,
    changes: readonly CountedChange[],
    sum: CellSum,
  ): Promise<readonly CountedMove[]> {
    const moved = changes.flatMap((change) =>
      amountsOf(change).map((one) => ({ one, createdAtMs: change.createdAtMs })),
    );
    if (moved.length === 0) return [];
    const customerIds = [...new Set(moved.map(({ one }) => one.customerId))];
    const subscribers = new SubscriberMoves(await this.#store.findSubscribers(tx, customerIds));
    const moves = moved.map(({ one, createdAtMs }) => {
      const { total, move } = subscribers.make(one, { now, day: this.#timeZone.dayOf(createdAtMs) });
      sum.addAll([total, move]);
      return { ...move, createdAtMs, subscriptionId: one.subscriptionId, customerId: one.customerId };
    });
    await this.#store.putSubscribers(tx, subscribers.changed());
    return moves;
  }

  async #readChanges(
    tx: Queryable,
    range: { readonly after: number; readonly upTo: number },
  ): Promise<readonly CountedChange[]> {
    const events = await this.#events.readChanges(tx, range, [...this.#kindsByType.keys()]);
    return completeChanges(
      tx,
      events.map((event) => changeOf(event, this.#kindsByType)).filter((change) => change !== undefined),
    );
  }
}

/** The failure of a request while the first count is not finished. */
export function overviewPending(): Failure {
  return new Failure('database_unavailable', 'The overview is being computed. Retry later.', {
    retryAfterSeconds,
  });
}

function amountsOf({ kind: { recurring }, before, after }: CountedChange): readonly AmountChange[] {
  return recurring === undefined ? [] : amountChangesOf(recurring, before, after);
}
