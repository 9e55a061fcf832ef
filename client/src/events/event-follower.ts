import { isTillError } from '../errors.ts';
import type { RequestOptions } from '../options.ts';
import type { Connection } from '../requests/connection.ts';
import { isTemporary, retryDelayMs } from '../requests/retry.ts';
import { wait } from '../requests/wait.ts';
import type { EventFilters, TillEvent } from './event-types.ts';

/** Shorter than the minute after which proxies usually end a silent connection. */
const waitSeconds = 25;
/** How long Till may take to respond after the wait. A connection that died silently is noticed after both. */
const responseTimeoutMs = 15_000;
/** Till waits before it responds without events. If it responds sooner than this, it is stopping. */
const quickMs = 1_000;
/** Longer than Till ever asks to wait. A longer time is a mistake, and the next attempt harms nothing. */
const delayMsMax = 300_000;
/** A reader must not send requests without a pause while Till is down, even with a `retryDelayMs` of 0. */
const delayMsMin = 50;
/** A few hundred kilobytes at most, and rarely more than arrives between two requests. */
const limit = 100;

export interface FollowOptions extends EventFilters, Pick<RequestOptions, 'signal'> {
  /** Begin after this event. Without it, begin with the oldest event that Till keeps. */
  readonly after?: string | undefined;
  /**
   * The least time between two requests: events that happen meanwhile come together. Without it each event comes at
   * once, which can be a request for each event.
   */
  readonly intervalMs?: number | undefined;
  /**
   * Called with false when a request fails, and with true when a later one succeeds: for a display that says whether
   * events arrive.
   */
  readonly onConnected?: ((isConnected: boolean) => void) | undefined;
}

/** Reads a page of events. */
export type ReadEvents = (
  query: EventFilters & {
    readonly after?: string | undefined;
    readonly limit: number;
    readonly waitSeconds: number;
  },
  options: RequestOptions,
) => Promise<{ readonly data: readonly TillEvent[]; readonly nextCursor: string | null }>;

/**
 * All events, and then each new one when it happens: `for await` ends only with `break`, with an abort of the signal,
 * or with an error that a retry cannot fix. It continues after its last event however often the connection breaks or
 * Till restarts, so that each event comes once, in order.
 */
export class EventFollower implements AsyncIterable<TillEvent> {
  readonly #connection: Connection;
  readonly #read: ReadEvents;
  readonly #options: FollowOptions;
  #cursor: string | undefined;

  constructor(connection: Connection, read: ReadEvents, options: FollowOptions) {
    this.#connection = connection;
    this.#read = read;
    this.#options = options;
    this.#cursor = options.after;
  }

  /**
   * The cursor for `after` of a later process: the id of the last event that the loop got, or of a later event that the
   * filters did not select. Store it when you have handled that event.
   */
  get cursor(): string | undefined {
    return this.#cursor;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TillEvent, void> {
    const { signal, intervalMs = 0 } = this.#options;
    for (;;) {
      const startedAtMs = performance.now();
      const { data, nextCursor } = await this.#readNext();
      for (const event of data) {
        this.#cursor = event.id;
        yield event;
      }
      this.#cursor = nextCursor ?? this.#cursor;
      const restMs = startedAtMs + intervalMs - performance.now();
      if (data.length === 0 && performance.now() - startedAtMs < quickMs)
        await wait(Math.max(this.#connection.retryDelayMs, delayMsMin, restMs), signal);
      // After a full page there are more events already.
      else if (restMs > 0 && data.length < limit) await wait(restMs, signal);
    }
  }

  /** The next page. Retries for as long as the failure can be temporary. */
  async #readNext(): ReturnType<ReadEvents> {
    const { signal, types, objectId, customerId, onConnected } = this.#options;
    const query = { types, objectId, customerId, after: this.#cursor, limit };
    const timeoutMs = waitSeconds * 1_000 + responseTimeoutMs;
    for (let attempts = 1; ; attempts += 1) {
      try {
        // After a failure, a response that comes at once shows that events arrive again.
        const page = await this.#read(
          { ...query, waitSeconds: attempts === 1 ? waitSeconds : 0 },
          { signal, timeoutMs, totalTimeoutMs: timeoutMs, retries: 0 },
        );
        if (attempts > 1) onConnected?.(true);
        return page;
      } catch (error) {
        // Even a defect of Till must not end a reader that runs for months.
        if (!isTemporary(error) && !isTillError(error, 'internal_error')) throw error;
        onConnected?.(false);
        const firstDelayMs = this.#connection.retryDelayMs;
        const wantedMs = retryDelayMs(error, { attempts, firstDelayMs });
        const delayMs = Math.min(Math.max(wantedMs, delayMsMin), delayMsMax);
        this.#connection.onRetry?.({ error, attempts, delayMs });
        await wait(delayMs, signal);
      }
    }
  }
}
