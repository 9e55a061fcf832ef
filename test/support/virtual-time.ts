import { setImmediate } from 'node:timers/promises';
import type { Time } from '../../src/processor/pacing/pace-timer.ts';

interface Due {
  readonly atMs: number;
  readonly work: () => void;
}

/** A clock that a test moves. What is due runs in order, and what waits for it runs before the clock goes on. */
export class VirtualTime implements Time {
  #nowMs = 0;
  readonly #due = new Set<Due>();

  readonly nowMs = (): number => this.#nowMs;

  readonly after = (ms: number, work: () => void): (() => void) => {
    const due = { atMs: this.#nowMs + ms, work };
    this.#due.add(due);
    return () => void this.#due.delete(due);
  };

  async runUntil(endMs: number): Promise<void> {
    await setImmediate();
    for (let next = this.#next(); next !== undefined && next.atMs <= endMs; next = this.#next()) {
      this.#due.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.work();
      await setImmediate();
    }
    this.#nowMs = endMs;
  }

  #next(): Due | undefined {
    let next: Due | undefined;
    for (const due of this.#due) if (next === undefined || due.atMs < next.atMs) next = due;
    return next;
  }
}

/** The most of these times within any second. */
export function mostInASecond(timesMs: readonly number[]): number {
  const sorted = timesMs.toSorted((a, b) => a - b);
  let most = 0;
  let first = 0;
  sorted.forEach((atMs, last) => {
    // A sum of fractions may be too small by less than a microsecond.
    while (atMs - (sorted[first] ?? atMs) >= 1_000 - 0.001) first += 1;
    most = Math.max(most, last - first + 1);
  });
  return most;
}
