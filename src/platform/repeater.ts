import type { Logger } from './logger.ts';

/** Does something again and again, one run at a time; a run that fails is logged, and the next one comes all the same. */
export class Repeater {
  readonly #name: string;
  readonly #delayMs: number;
  readonly #work: () => Promise<unknown>;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: { name: string; delayMs: number; work: () => Promise<unknown>; logger: Logger }) {
    this.#name = options.name;
    this.#delayMs = options.delayMs;
    this.#work = options.work;
    this.#logger = options.logger;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Waits for the run that is under way; none begins after it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      await this.#work();
    } catch (error) {
      this.#logger.warn({ err: error, work: this.#name }, 'background work failed; it is tried again');
    }
    if (!this.#stopped) this.#timer = setTimeout(() => this.start(), this.#delayMs);
  }
}
