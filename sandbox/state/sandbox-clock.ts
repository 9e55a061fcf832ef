/**
 * The sandbox's own time: real time plus an offset that only grows. Objects and events carry it; signatures, retries
 * and the expiry of idempotency keys use real time, else a moved clock would make every webhook look stale.
 */
export class SandboxClock {
  readonly #realNowMs: () => number;
  #offsetSeconds = 0;
  /** While something that fell due earlier is being done, it is that time. */
  #heldAt: number | null = null;
  /** No event happens before the latest one, even if the machine's clock goes back: lists rely on `created` growing. */
  #latest = 0;

  constructor(realNowMs: () => number = Date.now) {
    this.#realNowMs = realNowMs;
  }

  get offsetSeconds(): number {
    return this.#offsetSeconds;
  }

  set offsetSeconds(seconds: number) {
    this.#offsetSeconds = seconds;
  }

  realNowMs(): number {
    return this.#realNowMs();
  }

  /** Unix seconds. */
  now(): number {
    return Math.max(this.#latest, this.#heldAt ?? this.#running());
  }

  /** Something happened at this time. */
  note(seconds: number): void {
    this.#latest = Math.max(this.#latest, seconds);
  }

  /** A process that died while its clock was being moved left events ahead of it: run on from the latest of them. */
  catchUp(): void {
    if (this.#latest > this.#running()) this.runOnFrom(this.#latest);
  }

  holdAt(seconds: number): void {
    this.#heldAt = seconds;
  }

  release(): void {
    this.#heldAt = null;
  }

  /** Back to real time, for a sandbox that forgets everything. */
  reset(): void {
    this.#heldAt = null;
    this.#latest = 0;
    this.#offsetSeconds = 0;
  }

  /** Lets go of the held time and runs on from `seconds`. */
  runOnFrom(seconds: number): void {
    this.#heldAt = null;
    this.#offsetSeconds = seconds - Math.floor(this.#realNowMs() / 1_000);
  }

  #running(): number {
    return Math.floor(this.#realNowMs() / 1_000) + this.#offsetSeconds;
  }
}
