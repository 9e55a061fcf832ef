/**
 * The sandbox's own time: real time plus an offset that only grows. Objects and events use it. Signatures, retries and
 * idempotency keys use real time. Otherwise, every webhook would look stale after the clock was moved.
 */
export class SandboxClock {
  readonly #realNowMs: () => number;
  offsetSeconds = 0;
  /** The time of the test clock that the work in progress belongs to. */
  #frozenAt: number | null = null;
  /** The world's time when the work in progress began. */
  #begunAt: number | null = null;
  /** The due time of the item in progress. */
  #heldAt: number | null = null;
  /** Never goes below the latest event, even if the machine's clock does: lists rely on this order. */
  #latest = 0;

  constructor(realNowMs: () => number = Date.now) {
    this.#realNowMs = realNowMs;
  }

  realNowMs(): number {
    return this.#realNowMs();
  }

  /** Unix seconds: the world's time, or the time of a test clock inside `at`. */
  now(): number {
    return this.#frozenAt ?? this.worldNow();
  }

  /** The time of the test clock inside `at`. */
  get frozenAt(): number | null {
    return this.#frozenAt;
  }

  /**
   * Runs the work at the time of a test clock. Null is the world's time, which does not change during the work, so that
   * one request always sees the same second. The work is synchronous, so no other work sees that time.
   */
  at<T>(seconds: number | null, work: () => T): T {
    const before = { frozenAt: this.#frozenAt, begunAt: this.#begunAt };
    this.#begunAt ??= this.worldNow();
    this.#frozenAt = seconds;
    try {
      return work();
    } finally {
      this.#frozenAt = before.frozenAt;
      this.#begunAt = before.begunAt;
    }
  }

  /** The world's time, in Unix seconds. */
  worldNow(): number {
    return Math.max(this.#latest, this.#heldAt ?? this.#begunAt ?? this.#running());
  }

  /** Records the time of an event. */
  note(seconds: number): void {
    this.#latest = Math.max(this.#latest, seconds);
  }

  /** Continues from the latest event. A process killed while moving its clock leaves events in the future. */
  catchUp(): void {
    if (this.#latest > this.#running()) this.runOnFrom(this.#latest);
  }

  /**
   * Whether it runs at an earlier time. An event of that very second does not move it, though the world's time is
   * there.
   */
  isBehind(seconds: number): boolean {
    return seconds > this.#running();
  }

  holdAt(seconds: number): void {
    this.#heldAt = seconds;
  }

  release(): void {
    this.#heldAt = null;
  }

  /** Returns to real time. */
  reset(): void {
    this.#heldAt = null;
    this.#latest = 0;
    this.offsetSeconds = 0;
  }

  /** Ends a hold and continues from `seconds`. */
  runOnFrom(seconds: number): void {
    this.#heldAt = null;
    this.offsetSeconds = seconds - Math.floor(this.#realNowMs() / 1_000);
  }

  #running(): number {
    return Math.floor(this.#realNowMs() / 1_000) + this.offsetSeconds;
  }
}
