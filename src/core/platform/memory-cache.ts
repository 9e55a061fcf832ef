import type { Cache } from './cache.ts';
import type { Clock } from './clock.ts';

/** Callers can invent keys (one per address), so their number is limited; at about 100 bytes each this is 10 MB. */
const countersMax = 100_000;

interface Counter {
  value: number;
  readonly expiresAtMs: number;
}

/** The in-process cache: for a single process, and the fallback of the shared one. */
export class MemoryCache implements Cache {
  readonly kind = 'memory';
  readonly #counters = new Map<string, Counter>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  increment(key: string, by: number, ttlMs: number): number {
    const nowMs = this.#clock.now().getTime();
    const counter = this.#counters.get(key);
    if (counter !== undefined && counter.expiresAtMs > nowMs) {
      counter.value += by;
      return counter.value;
    }
    this.#counters.delete(key);
    this.#makeRoom(nowMs);
    this.#counters.set(key, { value: by, expiresAtMs: nowMs + ttlMs });
    return by;
  }

  /** Counters are in creation order, so the expired ones, or else the oldest, come first. */
  #makeRoom(nowMs: number): void {
    for (const [key, counter] of this.#counters) {
      if (counter.expiresAtMs > nowMs && this.#counters.size < countersMax) return;
      this.#counters.delete(key);
    }
  }

  async ping(): Promise<void> {}

  async close(): Promise<void> {
    this.#counters.clear();
  }
}
