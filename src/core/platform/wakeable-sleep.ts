/** A sleep that a signal can end early. One caller at a time sleeps. */
export class WakeableSleep {
  #wake: () => void = () => {};

  /** Ends the sleep in progress. */
  wake(): void {
    this.#wake();
  }

  /** Without a delay, only a signal ends it. */
  sleep(delayMs?: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = delayMs === undefined ? undefined : setTimeout(resolve, delayMs);
    this.#wake = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  }
}
