import type { Limits } from './limits.ts';
import { bucketSize, TokenBucket } from './token-bucket.ts';

/** Which calls may begin now. */
export interface Granted {
  /** For each call in order. */
  readonly granted: readonly boolean[];
  /** When to ask again for calls that still wait. 0: at once. */
  readonly waitMs: number;
}

/** Decides which calls may begin, so that all of them together stay within the limits. */
export interface Tokens {
  /**
   * `endpoints`: those of the calls, the most urgent first. `waiting`: how many calls wait. A promise only if processes
   * count together.
   */
  take(endpoints: readonly string[], waiting: number, nowMs: number): Granted | Promise<Granted>;
  /** How many processes share the limits, and how many calls wait in the others. */
  readonly others: { readonly processes: number; readonly waiting: number };
}

/** The tokens of a process that counts alone, or with a fixed share of the limits. */
export class LocalTokens implements Tokens {
  readonly #limits: Limits;
  readonly #share: number;
  /** Whether the process may begin with a burst. Not if it has just counted with others, and may have used it. */
  readonly #startsFull: boolean;
  readonly #buckets = new Map<string, TokenBucket>();
  readonly others = { processes: 1, waiting: 0 };

  constructor(limits: Limits, { share = 1, startsFull = true } = {}) {
    this.#limits = limits;
    this.#share = share;
    this.#startsFull = startsFull;
  }

  take(endpoints: readonly string[], _waiting: number, nowMs: number): Granted {
    let waitMs = 0;
    const granted = endpoints.map((endpoint) => {
      const buckets = [
        this.#bucket('', this.#limits.all.perSecond(nowMs), nowMs),
        this.#bucket(endpoint, this.#limits.of(endpoint).perSecond(nowMs), nowMs),
      ];
      const ownWaitMs = Math.max(0, ...buckets.map((bucket) => bucket?.waitMs(nowMs) ?? 0));
      if (ownWaitMs === 0) for (const bucket of buckets) bucket?.take();
      else waitMs = waitMs === 0 ? ownWaitMs : Math.min(waitMs, ownWaitMs);
      return ownWaitMs === 0;
    });
    return { granted, waitMs };
  }

  #bucket(name: string, perSecond: number | undefined, nowMs: number): TokenBucket | undefined {
    if (perSecond === undefined) {
      this.#buckets.delete(name);
      return undefined;
    }
    const size = bucketSize(perSecond * this.#share);
    const known = this.#buckets.get(name);
    known?.resize(size, nowMs);
    if (known !== undefined) return known;
    const bucket = new TokenBucket(size, nowMs, this.#startsFull ? size.capacity : 0);
    this.#buckets.set(name, bucket);
    return bucket;
  }
}
