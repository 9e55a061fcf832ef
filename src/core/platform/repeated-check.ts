interface RepeatedCheckOptions {
  /** False once nothing is left to check for. It must not throw. */
  readonly check: () => Promise<boolean>;
  /** The delay before the second check. It doubles with every further one. */
  readonly delayMs: number;
  readonly delayMsMax: number;
}

/**
 * Repeats a check with growing delays, one at a time, for changes that send no signal. A signal triggers a check at
 * once.
 */
export class RepeatedCheck {
  readonly #options: RepeatedCheckOptions;
  #isChecking = false;
  #checksAgain = false;
  #delayMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RepeatedCheckOptions) {
    this.#options = options;
    this.#delayMs = options.delayMs;
  }

  now(): void {
    clearTimeout(this.#timer);
    // A check in progress may have read the state before this change.
    if (this.#isChecking) this.#checksAgain = true;
    else void this.#check();
  }

  /** Something has changed, so the next change may be near. */
  hurry(): void {
    this.#delayMs = this.#options.delayMs;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  async #check(): Promise<void> {
    this.#isChecking = true;
    this.#checksAgain = false;
    const goesOn = await this.#options.check();
    this.#isChecking = false;
    if (this.#checksAgain) return this.now();
    if (!goesOn) return;
    this.#timer = setTimeout(() => this.now(), this.#delayMs);
    this.#delayMs = Math.min(this.#delayMs * 2, this.#options.delayMsMax);
  }
}
