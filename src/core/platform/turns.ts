/** Lets work take turns: at most so many at a time, in the order in which it asked. */
export class Turns {
  readonly #max: number;
  #taken = 0;
  readonly #waiting = new Set<() => void>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Does the work when it is its turn. Undefined if the signal aborts before: it then stops waiting at once. */
  async inTurn<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result | undefined> {
    if (!(await this.take(signal))) return undefined;
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** True when it is the caller's turn, who then calls `leave` once. False if the signal aborts before. */
  async take(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (this.#taken < this.#max) {
      this.#taken += 1;
      return true;
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const begin = () => {
      signal.removeEventListener('abort', giveUp);
      resolve(true);
    };
    const giveUp = () => {
      this.#waiting.delete(begin);
      resolve(false);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiting.add(begin);
    return promise;
  }

  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#taken -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
