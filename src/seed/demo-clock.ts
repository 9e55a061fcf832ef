import type { Clock } from '../platform/clock.ts';

/** A clock that is set to a time, and goes on from there as fast as the machine's. */
export class DemoClock implements Clock {
  #startMs = 0;
  #setAtMs = 0;

  set(seconds: number): void {
    this.#startMs = seconds * 1_000;
    this.#setAtMs = performance.now();
  }

  now(): Date {
    return new Date(this.#startMs + Math.floor(performance.now() - this.#setAtMs));
  }
}
