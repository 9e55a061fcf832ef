import type { Logger } from './logger.ts';

/** Does something again and again, one run at a time; a run that fails is logged, and the next one comes all the same. */
export class Repeater {
  readonly #name: string;
  readonly #delayMs: number;
  readonly #work: (signal: AbortSignal) => Promise<unknown>;
  readonly #stopping = new AbortController();
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: {
    name: string;
    delayMs: number;
    work: (signal: AbortSignal) => Promise<unknown>;
    logger: Logger;
  }) {
    this.#name = options.name;
    this.#delayMs = options.delayMs;
    this.#work = options.work;
    this.#logger = options.logger;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Tells the run that is under way to end, and waits for it; none begins after it. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      await this.#work(this.#stopping.signal);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.#logger.warn({ err: error, work: this.#name }, 'background work failed; it is tried again');
    }
    if (!this.#stopping.signal.aborted) this.#timer = setTimeout(() => this.start(), this.#delayMs);
  }
}
