/** Time, as a test can replace it. */
export interface Time {
  readonly nowMs: () => number;
  /** Runs the work later. The result cancels it. */
  readonly after: (ms: number, work: () => void) => () => void;
}

const realTime: Time = {
  nowMs: () => performance.now(),
  after: (ms, work) => {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

/** One timer that is set again and again. */
export class PaceTimer {
  readonly #time: Time;
  readonly #work: () => void;
  #cancel: (() => void) | undefined;

  constructor(time: Time = realTime, work: () => void) {
    this.#time = time;
    this.#work = work;
  }

  get isSet(): boolean {
    return this.#cancel !== undefined;
  }

  nowMs(): number {
    return this.#time.nowMs();
  }

  /** A timer of its own. */
  after(ms: number, work: () => void): () => void {
    return this.#time.after(ms, work);
  }

  /** Replaces what was set. Never, if it is infinite. A timer of Node may be early by less than a millisecond. */
  set(ms: number): void {
    this.unset();
    if (ms === Number.POSITIVE_INFINITY) return;
    this.#cancel = this.#time.after(Math.ceil(ms), () => {
      this.#cancel = undefined;
      this.#work();
    });
  }

  unset(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}
