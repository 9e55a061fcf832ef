import type { Clock } from '#core/platform/clock.ts';

/** A clock that can be set, and then runs at normal speed. */
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
