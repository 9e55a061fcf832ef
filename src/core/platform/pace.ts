import { setTimeout } from 'node:timers/promises';

interface Time {
  readonly nowMs: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

const realTime: Time = { nowMs: () => performance.now(), sleep: (ms) => setTimeout(ms) };

/** Spaces calls evenly. A call that starts late delays the calls after it, so that no second has too many. */
export class Pace {
  readonly #intervalMs: number;
  readonly #time: Time;
  #lastTurn: Promise<void> = Promise.resolve();
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number, time = realTime) {
    this.#intervalMs = 1_000 / perSecond;
    this.#time = time;
  }

  /** Resolves when the next call may start. */
  turn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => this.#wait());
    return this.#lastTurn;
  }

  async #wait(): Promise<void> {
    const { nowMs, sleep } = this.#time;
    // A timer can be early by less than a millisecond.
    for (let leftMs = this.#nextMs - nowMs(); leftMs > 0; leftMs = this.#nextMs - nowMs())
      await sleep(leftMs);
    this.#nextMs = nowMs() + this.#intervalMs;
  }
}
