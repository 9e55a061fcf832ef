/** The time is passed in, so that tests can set it. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** The processor's time, which a sandbox can move. A promise only if the sandbox must be asked. */
export interface ProcessorClock {
  now(): Date | Promise<Date>;
}
