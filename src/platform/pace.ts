import { setTimeout } from 'node:timers/promises';

/** Spaces calls evenly, so that there are never more than so many in a second. */
export class Pace {
  readonly #intervalMs: number;
  readonly #nowMs: () => number;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number, nowMs: () => number = () => performance.now()) {
    this.#intervalMs = 1_000 / perSecond;
    this.#nowMs = nowMs;
  }

  /** Resolves when the next call may be made. */
  async turn(): Promise<void> {
    const delayMs = this.delayMs();
    if (delayMs > 0) await setTimeout(delayMs);
  }

  /** Takes the next turn, and returns the time until then. */
  delayMs(): number {
    const nowMs = this.#nowMs();
    const turnMs = Math.max(nowMs, this.#nextMs);
    this.#nextMs = turnMs + this.#intervalMs;
    return turnMs - nowMs;
  }
}
