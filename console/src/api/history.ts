import {
  type EventFilters,
  type EventPage,
  type EventQuery,
  isTillError,
  type TillEvent,
} from '@till/client';

/** The most that the API returns at once. */
const limit = 1_000;
/** More events than almost any object has, and few enough for a browser. */
const requestsMax = 10;

type ReadPage = (query: EventQuery, options: { readonly signal: AbortSignal }) => Promise<EventPage>;

export interface HistorySoFar {
  /** Oldest first. */
  readonly events: readonly TillEvent[];
  /** False if there are newer ones. */
  readonly isComplete: boolean;
}

/**
 * The events of an object or a customer. The API returns the oldest first, so each read continues where the last ended.
 */
export class History {
  readonly #readPage: ReadPage;
  #of = '';
  #events: readonly TillEvent[] = [];

  constructor(readPage: ReadPage) {
    this.#readPage = readPage;
  }

  /** Reads on, up to a limit. */
  async read(filters: EventFilters, signal: AbortSignal): Promise<HistorySoFar> {
    const of = JSON.stringify(filters);
    if (of !== this.#of) this.#events = [];
    this.#of = of;
    try {
      return await this.#readOn(filters, signal);
    } catch (error) {
      // The last event that was read is no longer kept.
      if (!isTillError(error, 'event_expired')) throw error;
      this.#events = [];
      return this.#readOn(filters, signal);
    }
  }

  async #readOn(filters: EventFilters, signal: AbortSignal): Promise<HistorySoFar> {
    for (let count = 0; count < requestsMax; count += 1) {
      const after = this.#events.at(-1)?.id;
      const { data } = await this.#readPage({ ...filters, after, limit }, { signal });
      // Another read may have begun.
      signal.throwIfAborted();
      this.#events = [...this.#events, ...data];
      if (data.length < limit) return { events: this.#events, isComplete: true };
    }
    return { events: this.#events, isComplete: false };
  }
}
