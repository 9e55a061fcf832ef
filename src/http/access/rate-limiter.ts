import type { Cache } from '../../platform/cache.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';

const windowMs = 60_000;
/** Counters live past their window, so that clocks of two processes that differ a little still meet in one. */
const counterTtlMs = 2 * windowMs;
/** While the shared cache is down, one request a second finds out whether it is back; the others don't wait. */
const retryDelayMs = 1_000;

export interface RateDecision {
  readonly allowed: boolean;
  readonly retryAfterSeconds: number;
}

interface Batch {
  size: number;
  readonly total: Promise<number>;
}

/**
 * Counts requests per bucket in windows of a minute. Requests of one turn of the event loop are counted by one
 * command, so that a busy bucket does not cost a round trip each. If the shared cache fails, counting goes on in this
 * process, and the log says so once: a limit is never a reason for the API to be down.
 */
export class RateLimiter {
  readonly #shared: Cache;
  readonly #fallback: Cache;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #waiting = new Map<string, Batch>();
  #isDown = false;
  #askAgainAtMs = 0;

  constructor(options: { shared: Cache; fallback: Cache; clock: Clock; logger: Logger }) {
    this.#shared = options.shared;
    this.#fallback = options.fallback;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  async take(bucket: string, limit: number): Promise<RateDecision> {
    const nowMs = this.#clock.now().getTime();
    const window = Math.floor(nowMs / windowMs);
    const position = await this.#count(`till:rate:${bucket}:${window}`);
    return {
      allowed: position <= limit,
      retryAfterSeconds: Math.ceil(((window + 1) * windowMs - nowMs) / 1_000),
    };
  }

  /** This request's place in its window, counted from 1. */
  async #count(key: string): Promise<number> {
    if (this.#shared.kind === 'memory') return this.#shared.increment(key, 1, counterTtlMs);
    const batch = this.#waiting.get(key) ?? this.#openBatch(key);
    batch.size += 1;
    const place = batch.size;
    const total = await batch.total;
    return total - batch.size + place;
  }

  #openBatch(key: string): Batch {
    const { promise: total, resolve } = Promise.withResolvers<number>();
    const batch: Batch = { size: 0, total };
    this.#waiting.set(key, batch);
    setImmediate(() => {
      this.#waiting.delete(key);
      resolve(this.#increment(key, batch.size));
    });
    return batch;
  }

  async #increment(key: string, by: number): Promise<number> {
    const nowMs = this.#clock.now().getTime();
    const waitMs = this.#askAgainAtMs - nowMs;
    // A longer wait than we ever set means that the clock was put back.
    if (waitMs > 0 && waitMs <= retryDelayMs) return this.#fallback.increment(key, by, counterTtlMs);
    // Only this request finds out whether the cache is back; those that come meanwhile don't wait for it.
    if (this.#isDown) this.#askAgainAtMs = nowMs + retryDelayMs;
    try {
      const total = await this.#shared.increment(key, by, counterTtlMs);
      if (this.#isDown) this.#logger.info('shared rate limits restored');
      this.#isDown = false;
      this.#askAgainAtMs = 0;
      return total;
    } catch (error) {
      if (!this.#isDown)
        this.#logger.warn({ err: error }, 'shared rate limits unavailable; counting per process');
      this.#isDown = true;
      this.#askAgainAtMs = this.#clock.now().getTime() + retryDelayMs;
      return this.#fallback.increment(key, by, counterTtlMs);
    }
  }
}
