/** A limit of calls a second, as a bucket: what it holds when it is full, and what flows into it. */
interface BucketSize {
  readonly capacity: number;
  readonly perSecond: number;
}

/**
 * The part of a limit that may be used at once. The processor counts by the second, so a full bucket and what flows
 * into it within a second are together one limit. A larger bucket would leave less for a steady flow.
 */
const burstShare = 0.08;
/**
 * Calls do not take equally long to reach the processor: those of this time more may arrive within a second. It is what
 * opening a connection with TLS takes.
 */
const spreadSeconds = 0.08;

/** The bucket that never sends more than the limit within any second, and rarely lets more arrive. */
export function bucketSize(limitPerSecond: number): BucketSize {
  const capacity = Math.max(1, Math.round(limitPerSecond * burstShare));
  return { capacity, perSecond: (limitPerSecond - (capacity - 1)) / (1 + spreadSeconds) };
}

/** Sums of fractions are not exact. */
const tolerance = 1e-6;

/** A bucket of tokens, one for each call. Time comes from outside, and a step back in time adds nothing. */
export class TokenBucket {
  #size: BucketSize;
  #tokens: number;
  #atMs: number;

  constructor(size: BucketSize, nowMs: number, tokens = size.capacity) {
    this.#size = size;
    this.#tokens = tokens;
    this.#atMs = nowMs;
  }

  resize(size: BucketSize, nowMs: number): void {
    if (size.perSecond === this.#size.perSecond && size.capacity === this.#size.capacity) return;
    this.#refill(nowMs);
    this.#size = size;
    this.#tokens = Math.min(this.#tokens, size.capacity);
  }

  /** How long until there is a token. 0 if there is one. */
  waitMs(nowMs: number): number {
    this.#refill(nowMs);
    const missing = 1 - this.#tokens;
    return missing <= tolerance ? 0 : (missing / this.#size.perSecond) * 1_000;
  }

  /** Takes a token, which must be there. */
  take(): void {
    this.#tokens -= 1;
  }

  #refill(nowMs: number): void {
    const elapsedMs = Math.max(0, nowMs - this.#atMs);
    this.#atMs = nowMs;
    const { capacity, perSecond } = this.#size;
    this.#tokens = Math.min(capacity, this.#tokens + (elapsedMs / 1_000) * perSecond);
  }
}
