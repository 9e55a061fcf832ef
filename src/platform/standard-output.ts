import { write, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** One write for the lines of this time: thousands a second would cost as much as the requests that they tell of. */
const gatherMs = 10;
/** What waits while nobody takes it; past it lines are dropped. A minute of a busy service's lines is never wanted late. */
const waitingCharsMax = 1_048_576;
/** A reader that has not taken a write for this long has stalled. */
const stalledAfterMs = 1_000;

/**
 * Lines for standard output, or another file, written in the background. One that cannot be written (a full disk, a
 * terminal that was closed) or whose reader has stalled costs the lines, never the service.
 */
export class StandardOutput {
  readonly #fd: number;
  #waiting = '';
  #isScheduled = false;
  #writingSinceMs: number | undefined;

  constructor(fd = 1) {
    this.#fd = fd;
    process.once('exit', () => this.#writeRest());
  }

  write(line: string): void {
    if (this.#waiting.length + line.length > waitingCharsMax) return;
    this.#waiting += line;
    this.#schedule();
  }

  /** Resolves when all is written, or it is clear that nobody takes it. */
  async end(): Promise<void> {
    const giveUpAtMs = performance.now() + 2 * stalledAfterMs;
    const isDone = () => this.#waiting === '' && this.#writingSinceMs === undefined;
    while (!isDone() && performance.now() < giveUpAtMs) await delay(gatherMs);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#writingSinceMs !== undefined) return;
    this.#isScheduled = true;
    // Whoever has nothing left to do but this may end: the rest is written at the exit.
    setTimeout(() => this.#writeWaiting(), gatherMs).unref();
  }

  #writeWaiting(): void {
    this.#isScheduled = false;
    this.#writingSinceMs = performance.now();
    const bytes = Buffer.from(this.#waiting);
    this.#waiting = '';
    this.#writeAll(bytes);
  }

  #writeAll(bytes: Buffer): void {
    write(this.#fd, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') return void setTimeout(() => this.#writeAll(bytes), gatherMs).unref();
      if (error === null && written < bytes.length) return this.#writeAll(bytes.subarray(written));
      this.#writingSinceMs = undefined;
      if (this.#waiting !== '') this.#schedule();
    });
  }

  #writeRest(): void {
    if (this.#writingSinceMs !== undefined) {
      // An exit waits for the write that is under way, and for one that has stalled it would wait for ever.
      if (performance.now() - this.#writingSinceMs >= stalledAfterMs) process.kill(process.pid, 'SIGKILL');
      return;
    }
    try {
      if (this.#waiting !== '') writeSync(this.#fd, this.#waiting);
    } catch {
      // Nobody is left to be told.
    }
  }
}
