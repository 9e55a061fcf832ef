import type { Logger } from './logger.ts';

/**
 * The first delay after a run that failed or did not finish: long enough for a restart or a lock to pass, and short
 * compared to the usual delays. It doubles with every such run, up to the usual delay.
 */
const retryDelayMs = 5_000;

interface RepeaterOptions {
  readonly name: string;
  readonly delayMs: number;
  /** Returns false if the run could not finish its work and should be repeated soon. */
  readonly work: (signal: AbortSignal) => Promise<unknown>;
  readonly logger: Logger;
}

/** Repeats some work, one run at a time. A failed run is logged and repeated soon. */
export class Repeater {
  readonly #options: RepeaterOptions;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #current: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();
  #unfinishedRuns = 0;

  constructor(options: RepeaterOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Begins a new run now, after aborting a run in progress. Does nothing before the start. */
  restart(): void {
    if (this.#stopping.signal.aborted) return;
    this.#unfinishedRuns = 0;
    if (this.#timer !== undefined) this.start();
    else this.#current?.abort();
  }

  /** Aborts the current run and waits for it to end. No run starts afterwards. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    const { name, work, logger } = this.#options;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const current = new AbortController();
    this.#current = current;
    const signal = AbortSignal.any([this.#stopping.signal, current.signal]);
    let isFinished = false;
    let failure: unknown;
    try {
      isFinished = (await work(signal)) !== false;
    } catch (error) {
      failure = error;
    }
    if (this.#stopping.signal.aborted) return;
    if (current.signal.aborted) return this.#run();
    this.#unfinishedRuns = isFinished ? 0 : this.#unfinishedRuns + 1;
    const delayMs = delayAfter(this.#unfinishedRuns, this.#options.delayMs);
    if (failure !== undefined)
      logger.warn(
        { err: failure, work: name, retryInMs: delayMs },
        'background work failed; retry scheduled',
      );
    this.#timer = setTimeout(() => this.start(), delayMs);
  }
}

/** The delay before the next run, after this many runs in a row that failed or did not finish. */
export function delayAfter(unfinishedRuns: number, delayMs: number): number {
  if (unfinishedRuns === 0) return delayMs;
  return Math.min(delayMs, retryDelayMs * 2 ** (unfinishedRuns - 1));
}
