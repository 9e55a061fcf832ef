import type { Cache } from '#core/platform/cache.ts';
import type { Clock } from '#core/platform/clock.ts';
import type { Logger } from '#core/platform/logger.ts';

const windowMs = 60_000;
/** Counters outlive their window, so that processes whose clocks differ slightly still use the same one. */
const counterTtlMs = 2 * windowMs;
/** While the shared cache is down, one request per second checks whether it is back; the others don't wait. */
const retryDelayMs = 1_000;

export interface RateDecision {
  readonly allowed: boolean;
  readonly retryAfterSeconds: number;
}

interface CountBatch {
  size: number;
  readonly total: Promise<number>;
}

/**
 * Counts requests per bucket in windows of a minute. One command counts all requests of a turn of the event loop, so
 * that a busy bucket does not cost a round trip per request. If the shared cache fails, counting continues in this
 * process, and the log says so once: a rate limit must never take the API down.
 */
export class RateLimiter {
  readonly #shared: Cache;
  readonly #fallback: Cache;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #waiting = new Map<string, CountBatch>();
  #isDown = false;
  #retryAtMs = 0;

  constructor(options: { shared: Cache; fallback: Cache; clock: Clock; logger: Logger }) {
    this.#shared = options.shared;
    this.#fallback = options.fallback;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  /** Whether all processes count together, as far as is known. */
  get isShared(): boolean {
    return this.#shared.kind === 'redis' && !this.#isDown;
  }

  /** Counts a request. A promise only if processes count together. */
  take(bucket: string, limit: number): RateDecision | Promise<RateDecision> {
    const { key, decide } = this.#window(bucket, limit);
    const isAlone = this.#shared.kind === 'memory';
    const position = isAlone ? this.#shared.increment(key, 1, counterTtlMs) : this.#count(key);
    return position instanceof Promise ? position.then(decide) : decide(position);
  }

  /** What `take` would decide about another request, without counting one. */
  async peek(bucket: string, limit: number): Promise<RateDecision> {
    const { key, decide } = this.#window(bucket, limit);
    return decide((await this.#increment(key, 0)) + 1);
  }

  /** The counter of the current minute, and how to turn a request's position in it into a decision. */
  #window(bucket: string, limit: number) {
    const nowMs = this.#clock.now().getTime();
    const window = Math.floor(nowMs / windowMs);
    return {
      key: `till:rate:${bucket}:${window}`,
      decide: (position: number): RateDecision => ({
        allowed: position <= limit,
        retryAfterSeconds: Math.ceil(((window + 1) * windowMs - nowMs) / 1_000),
      }),
    };
  }

  /** This request's position in its window, starting at 1. */
  async #count(key: string): Promise<number> {
    const batch = this.#waiting.get(key) ?? this.#openBatch(key);
    batch.size += 1;
    const place = batch.size;
    const total = await batch.total;
    return total - batch.size + place;
  }

  #openBatch(key: string): CountBatch {
    const { promise: total, resolve } = Promise.withResolvers<number>();
    const batch: CountBatch = { size: 0, total };
    this.#waiting.set(key, batch);
    setImmediate(() => {
      this.#waiting.delete(key);
      resolve(this.#increment(key, batch.size));
    });
    return batch;
  }

  async #increment(key: string, by: number): Promise<number> {
    const nowMs = this.#clock.now().getTime();
    const waitMs = this.#retryAtMs - nowMs;
    // A wait longer than `retryDelayMs` means that the clock was set back.
    if (waitMs > 0 && waitMs <= retryDelayMs) return this.#fallback.increment(key, by, counterTtlMs);
    // Only this request checks whether the cache is back; requests that arrive meanwhile don't wait for it.
    if (this.#isDown) this.#retryAtMs = nowMs + retryDelayMs;
    try {
      const total = await this.#shared.increment(key, by, counterTtlMs);
      if (this.#isDown) this.#logger.info('shared rate limits restored');
      this.#isDown = false;
      this.#retryAtMs = 0;
      return total;
    } catch (error) {
      if (!this.#isDown)
        this.#logger.warn({ err: error }, 'shared rate limits unavailable; counting per process');
      this.#isDown = true;
      this.#retryAtMs = this.#clock.now().getTime() + retryDelayMs;
      return this.#fallback.increment(key, by, counterTtlMs);
    }
  }
}
