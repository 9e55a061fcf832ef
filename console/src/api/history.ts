import { ApiError } from './api-error.ts';
import type { Page, TillEvent } from './types.ts';

/** The most that the API returns at once. */
const eventsPerRequest = 1_000;
/** More events than almost any object has, and few enough for a browser. */
const requestsMax = 10;

export interface HistorySoFar {
  /** Oldest first. */
  readonly events: readonly TillEvent[];
  /** False if there are newer ones. */
  readonly isComplete: boolean;
}

/** The events of an object or a customer. The API returns the oldest first, so each read continues where the last ended. */
export class History {
  readonly #get: (url: string, signal: AbortSignal) => Promise<Page<TillEvent>>;
  #url = '';
  #events: readonly TillEvent[] = [];

  constructor(get: (url: string, signal: AbortSignal) => Promise<Page<TillEvent>>) {
    this.#get = get;
  }

  /** Reads on, up to a limit. The URL has a query. */
  async read(url: string, signal: AbortSignal): Promise<HistorySoFar> {
    if (url !== this.#url) this.#startOver(url);
    try {
      return await this.#readOn(url, signal);
    } catch (error) {
      // The last event that was read is no longer kept.
      if (!(error instanceof ApiError && error.status === 410)) throw error;
      this.#startOver(url);
      return this.#readOn(url, signal);
    }
  }

  #startOver(url: string): void {
    this.#url = url;
    this.#events = [];
  }

  async #readOn(url: string, signal: AbortSignal): Promise<HistorySoFar> {
    for (let count = 0; count < requestsMax; count += 1) {
      const last = this.#events.at(-1);
      const after = last === undefined ? '' : `&after=${encodeURIComponent(last.id)}`;
      const { data } = await this.#get(`${url}&limit=${eventsPerRequest}${after}`, signal);
      // Another read may have begun.
      signal.throwIfAborted();
      this.#events = [...this.#events, ...data];
      if (data.length < eventsPerRequest) return { events: this.#events, isComplete: true };
    }
    return { events: this.#events, isComplete: false };
  }
}
