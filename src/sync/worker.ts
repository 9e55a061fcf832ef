import { setTimeout } from 'node:timers/promises';
import type { Logger } from '../platform/logger.ts';
import { batchMax, type EventApplier } from './event-applier.ts';

/** Work of another process is noticed within this time; work of our own at once. */
const pollDelayMs = 500;
const failureDelayMs = 1_000;
/**
 * After a batch, a millisecond's rest for each of its events up to this: a transaction costs as much as dozens of events, so
 * a busy inbox is given time to gather them. Nobody notices it, and an event that comes alone does not wait at all.
 */
const gatherMsMax = 20;
/** Batches whose refreshes are still under way; with more than these, the worker waits for one of them. */
const openBatchesMax = 4;

/** Keeps processing while there is work, and sleeps while there is none. Any number may run, in any number of processes. */
export class Worker {
  readonly #eventApplier: EventApplier;
  readonly #logger: Logger;
  readonly #refreshing = new Set<Promise<void>>();
  #running: Promise<void> = Promise.resolve();
  #wake: () => void = () => {};
  #nudged = false;
  #failed = false;
  #stopped = false;

  constructor(options: { readonly eventApplier: EventApplier; readonly logger: Logger }) {
    this.#eventApplier = options.eventApplier;
    this.#logger = options.logger;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** There is new work. */
  nudge(): void {
    this.#nudged = true;
    // What has just failed is not tried again sooner because there is more of it.
    if (!this.#failed) this.#wake();
  }

  /** Waits for the batch that is under way, and for its refreshes; none begins after it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    await this.#running;
    await Promise.all(this.#refreshing);
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#nudged = false;
      const { size, delayMs } = await this.#work();
      if (size > 1 && size < batchMax) await setTimeout(Math.min(size, gatherMsMax));
      if (delayMs > 0 && (this.#failed || !this.#nudged) && !this.#stopped) await this.#sleep(delayMs);
    }
  }

  async #work(): Promise<{ readonly size: number; readonly delayMs: number }> {
    try {
      const { size, refreshed } = await this.#eventApplier.startBatch();
      this.#remember(refreshed);
      if (this.#refreshing.size >= openBatchesMax) await Promise.race(this.#refreshing);
      this.#failed = false;
      return { size, delayMs: size > 0 ? 0 : pollDelayMs };
    } catch (error) {
      this.#report(error);
      this.#failed = true;
      return { size: 0, delayMs: failureDelayMs };
    }
  }

  #remember(refreshed: Promise<void>): void {
    const done: Promise<void> = refreshed
      .catch((error: unknown) => this.#report(error))
      .finally(() => this.#refreshing.delete(done));
    this.#refreshing.add(done);
  }

  #report(error: unknown): void {
    this.#logger.warn({ err: error }, 'webhook events not processed; retry scheduled');
  }

  #sleep(delayMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = globalThis.setTimeout(resolve, delayMs);
    this.#wake = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  }
}
