/**
 * The time of the machine. It decides about leases, holds, timeouts and retention, and it dates what Till records.
 * Where processes must agree, statements use `now()` of the database instead. It is passed in, so that tests can set
 * it.
 */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/**
 * The time that decides about money and access: how long a grace period entitles a customer, which window usage counts
 * in, which day is today, and when a checkout expires. It is the time of the processor. If the processor is a sandbox,
 * people can move it.
 */
export interface ProcessorClock extends Clock {
  /** The time as far as this process knows it. It needs no call, so it can be used within a transaction. */
  now(): Date;
  /** The same, after asking a sandbox that does not report when its clock is moved. */
  read(): Date | Promise<Date>;
  /** Calls the listener when the clock was moved. */
  onMoved(listener: () => void): void;
}

/** A clock that can be set ahead of another one, or behind it. Initially both show the same time. */
export class MovableClock implements ProcessorClock {
  readonly #clock: Clock;
  readonly #listeners: (() => void)[] = [];
  #aheadMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): Date {
    return new Date(this.#clock.now().getTime() + this.#aheadMs);
  }

  read(): Date {
    return this.now();
  }

  onMoved(listener: () => void): void {
    this.#listeners.push(listener);
  }

  setAhead(seconds: number): void {
    const aheadMs = seconds * 1_000;
    if (aheadMs === this.#aheadMs) return;
    this.#aheadMs = aheadMs;
    for (const listener of this.#listeners) listener();
  }
}
