import { DeadlineError, withDeadline } from './deadline.ts';

/**
 * Work enters, and leaves when it has ended. While the door is closed, new work waits outside. Once `close` has
 * resolved, no work that began before is still running.
 */
export class WorkDoor {
  #inside = 0;
  /** Aborts when the door closes. A new one for each time that it is open. */
  #closing = new AbortController();
  /** Resolves when the door opens. Undefined while it is open. */
  #opened: PromiseWithResolvers<void> | undefined;
  /** Resolves when nothing is inside any more. */
  #emptied: PromiseWithResolvers<void> | undefined;

  get isClosed(): boolean {
    return this.#opened !== undefined;
  }

  /** Aborts when the door closes, for work that can end early. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Admits work at once. The caller ends the admission with the function that this returns. Undefined while the door is
   * closed.
   */
  tryEnter(): (() => void) | undefined {
    return this.isClosed ? undefined : this.join();
  }

  /** Admits work that other work inside starts, and that continues after it. */
  join(): () => void {
    this.#inside += 1;
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#inside -= 1;
      if (this.#inside === 0) this.#emptied?.resolve();
    };
  }

  /** Waits while the door is closed. False if that takes longer than this. */
  async untilOpen(waitMsMax: number): Promise<boolean> {
    const endsAtMs = performance.now() + waitMsMax;
    // The door may be closed again before the waiting work continues.
    while (this.#opened !== undefined) {
      try {
        await withDeadline(this.#opened.promise, Math.max(0, endsAtMs - performance.now()), 'waiting');
      } catch (error) {
        if (error instanceof DeadlineError) return false;
        throw error;
      }
    }
    return true;
  }

  /** Runs background work inside, once the door is open. If it closes, the work is aborted, and begins again later. */
  async repeat<Result>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    for (;;) {
      await this.#untilOpenOr(signal);
      const { closing } = this;
      const leave = this.join();
      try {
        return await work(AbortSignal.any([signal, closing]));
      } catch (error) {
        if (!closing.aborted || signal.aborted) throw error;
      } finally {
        leave();
      }
    }
  }

  /** Resolves when everything that was inside has left. */
  async close(): Promise<void> {
    this.#opened ??= Promise.withResolvers<void>();
    this.#closing.abort();
    if (this.#inside === 0) return;
    this.#emptied ??= Promise.withResolvers<void>();
    const emptied = this.#emptied;
    await emptied.promise;
    if (this.#emptied === emptied) this.#emptied = undefined;
  }

  open(): void {
    if (this.#opened === undefined) return;
    this.#closing = new AbortController();
    const { resolve } = this.#opened;
    this.#opened = undefined;
    resolve();
  }

  async #untilOpenOr(signal: AbortSignal): Promise<void> {
    const { promise: aborted, resolve } = Promise.withResolvers<void>();
    const abort = () => resolve();
    signal.addEventListener('abort', abort, { once: true });
    try {
      while (this.#opened !== undefined && !signal.aborted)
        await Promise.race([this.#opened.promise, aborted]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
    signal.throwIfAborted();
  }
}
