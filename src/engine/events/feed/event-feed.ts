import { isUuid } from '#core/platform/id.ts';
import type { Database } from '#core/platform/postgres.ts';
import { Turns } from '#core/platform/turns.ts';
import type { EventSelection } from '../event.ts';
import type { EventPlace, FeedPoint, FeedStart } from './event-id.ts';
import type { EventStore } from './event-store.ts';
import { EventTail } from './event-tail.ts';
import { FeedEvent } from './feed-event.ts';
import { locateEvent } from './locate-event.ts';

/**
 * How many readers read the table at the same time. Readers at the end of the feed share one read, so this limit
 * affects only readers that are behind. It leaves most connections of the pool to requests.
 */
const readsMax = 3;
/**
 * A search for rare types in a long feed takes several statements. It ends after this time, so that each request makes
 * progress even if the table is slow.
 */
const pageTimeMs = 1_000;

/** Some events in the order of the feed. All events up to its position have been checked. */
interface FeedBatch extends FeedPoint {
  readonly events: readonly FeedEvent[];
  /** The last event that was checked, whether it was selected or not. Undefined if there was none. */
  readonly last: EventPlace | undefined;
  /** True if there were no more events. */
  readonly isAtEnd: boolean;
}

/** Where a reader has arrived that follows the feed. */
export interface FollowedPlace extends FeedPoint {
  /** Undefined if the reader has read nothing yet. */
  readonly isAtEnd?: boolean;
}

/** A page of events, as the response contains it. */
export type FeedPage = Omit<FeedBatch, 'isAtEnd'>;

/**
 * The feed of events. A reader that follows it sees every event exactly once, in the order of positions. It never
 * passes a position at which a slower transaction may still commit: see `till.event_horizon` and decision 0020.
 */
export class EventFeed {
  readonly #database: Database;
  readonly #store: EventStore;
  /** Nudge it when this process has committed events. */
  readonly tail: EventTail;
  readonly #reads = new Turns(readsMax);
  /** Of readers that give way: others do not wait behind them. As few, so that their other work has its share. */
  readonly #yielding = new Turns(readsMax);

  constructor(parts: { readonly database: Database; readonly store: EventStore }) {
    this.#database = parts.database;
    this.#store = parts.store;
    this.tail = new EventTail(parts);
  }

  async stop(): Promise<void> {
    await this.tail.stop();
  }

  /** The position of the event with this id. Without an id, the position before the first event. */
  async locate(id: string | undefined, field: string): Promise<FeedStart> {
    if (id === undefined) return beforeAllEvents;
    return locateEvent(this.#database, this.#store, id, {
      field,
      toStart: 'leave it out',
    });
  }

  /** The next events up to a horizon that was read before. */
  async #read(after: number, end: FeedPoint, selection: EventSelection, limit: number): Promise<FeedBatch> {
    const { position: upTo, history } = end;
    // After a failover, a reader can be beyond the end. It has seen all existing events, and new ones get higher
    // positions.
    if (upTo <= after) return { events: [], position: after, history, last: undefined, isAtEnd: true };
    if (isImpossible(selection)) return this.#reachEnd([], end, after);
    const range = { after, upTo, limit };
    const { rows, last, isComplete } = await this.#store.read(this.#database, range, selection);
    const events = rows.map((row) => new FeedEvent(row));
    // With an object or a customer, only its own events were checked.
    if (isComplete && isNarrow(selection)) return this.#reachEnd(events, end, after);
    const position = isComplete ? upTo : (last?.position ?? upTo);
    return { events, position, history, last, isAtEnd: isComplete };
  }

  /** Reads until the page is full, there are no more events, or the time for one request is used up. */
  async page(after: FeedStart, selection: EventSelection, limit: number): Promise<FeedPage> {
    const endMs = performance.now() + pageTimeMs;
    const end = await this.#endOf(after);
    const events: FeedEvent[] = [];
    let { position } = after;
    let last: EventPlace | undefined;
    for (;;) {
      const { isAtEnd, ...batch } = await this.#read(position, end, selection, limit - events.length);
      events.push(...batch.events);
      ({ position, last = last } = batch);
      if (isAtEnd || events.length >= limit || performance.now() > endMs) return { ...batch, events, last };
    }
  }

  /**
   * The events before a position, newest first; without one, the newest events. Reads like `page`. `last` is undefined
   * if there are no older events.
   */
  async pageBack(
    before: FeedStart | undefined,
    selection: EventSelection,
    limit: number,
  ): Promise<Pick<FeedPage, 'events' | 'last'>> {
    const endMs = performance.now() + pageTimeMs;
    const events: FeedEvent[] = [];
    const { position: horizon } = await this.#endOf(before);
    if (isImpossible(selection)) return { events, last: undefined };
    let upTo = Math.min(horizon, (before?.position ?? Number.POSITIVE_INFINITY) - 1);
    for (;;) {
      const range = { after: 0, upTo, limit: limit - events.length, isNewestFirst: true };
      const { rows, last, isComplete } = await this.#store.read(this.#database, range, selection);
      events.push(...rows.map((row) => new FeedEvent(row)));
      if (isComplete || last === undefined) return { events, last: undefined };
      if (events.length >= limit || performance.now() > endMs) return { events, last };
      upTo = last.position - 1;
    }
  }

  /**
   * The next events after a place. They come from the database at once, or the reader waits for them without a
   * connection. A batch without events reports progress. Undefined if the signal aborts. A reader that calls this again
   * and again keeps only the place in memory while it waits.
   */
  async next(
    after: FollowedPlace,
    selection: EventSelection,
    limit: number,
    signal: AbortSignal,
    /** Does the reads of a reader that is behind and may wait. */
    giveWay?: (read: () => Promise<FeedBatch | undefined>) => Promise<FeedBatch | undefined>,
  ): Promise<FeedBatch | undefined> {
    // A reader that comes back soon, or has almost caught up, finds its events in memory.
    const isAtEnd = after.isAtEnd === true || this.tail.covers(after);
    if (isAtEnd) await this.tail.wait(after, signal);
    if (signal.aborted) return undefined;
    const batch = isAtEnd ? this.#fromTail(after, selection, limit) : undefined;
    if (batch !== undefined) return batch;
    const read = () =>
      this.#reads.inTurn(
        async () => this.#read(after.position, await this.#endOf(undefined), selection, limit),
        signal,
      );
    if (giveWay === undefined) return read();
    this.tail.expect();
    // It may be in memory when it is the reader's turn.
    const readOrGiveWay = async () => this.#fromTail(after, selection, limit) ?? giveWay(read);
    return this.#yielding.inTurn(readOrGiveWay, signal);
  }

  #fromTail(after: FeedPoint, selection: EventSelection, limit: number): FeedBatch | undefined {
    const since = this.tail.since(after);
    if (since === undefined) return undefined;
    const selected = since.events.filter((event) => event.isSelectedBy(selection));
    const events = selected.slice(0, limit);
    const isCut = selected.length > events.length;
    const last = isCut ? events.at(-1) : since.events.at(-1);
    // The rest of a batch that was cut short also comes from the tail. The reader waits only if nothing is left there.
    const position = isCut ? (last?.position ?? after.position) : since.position;
    return { events, position, history: since.history, last, isAtEnd: true };
  }

  async #endOf(start: FeedStart | undefined): Promise<FeedPoint> {
    return start?.end ?? this.#store.horizon(this.#database);
  }

  async #reachEnd(events: readonly FeedEvent[], end: FeedPoint, after: number): Promise<FeedBatch> {
    const newest = await this.#store.newest(this.#database, end.position);
    const last = newest !== undefined && newest.position > after ? newest : undefined;
    return { events, ...end, last, isAtEnd: true };
  }
}

/** Where a reader without an id starts. It does not know a history of the database yet. */
const beforeAllEvents: FeedStart = { position: 0, history: 0, end: undefined };

/** Ids are UUIDs, so any other text selects no events. */
function isImpossible({ objectId, customerId }: EventSelection): boolean {
  return [objectId, customerId].some((id) => id !== undefined && !isUuid(id));
}

function isNarrow({ objectId, customerId }: EventSelection): boolean {
  return objectId !== undefined || customerId !== undefined;
}
