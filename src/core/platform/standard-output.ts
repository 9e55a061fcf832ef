import { write, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Lines are gathered for this long into one write: thousands of writes a second would cost as much as the requests. */
const gatherMs = 10;
/** How much may wait for a stalled reader: about a minute of a busy service's log. Further lines are dropped. */
const waitingCharsMax = 1_048_576;
/**
 * The most that processes which share a pipe can write at once without mixing their lines: PIPE_BUF on Linux. macOS
 * guarantees less, but also does not split a write to a pipe with room for it.
 */
export const sharedWriteBytesMax = 4_096;
/** A reader that has not accepted a write for this long has stalled. */
const stalledAfterMs = 1_000;

/**
 * Writes lines to standard output, or another file, in the background. When a line cannot be written (a full disk, a
 * closed terminal) or the reader has stalled, lines are lost, but the service continues.
 */
export class StandardOutput {
  readonly #fd: number;
  readonly #writeBytesMax: number;
  #waiting = '';
  #isScheduled = false;
  #writingSinceMs: number | undefined;

  constructor({ fd = 1, writeBytesMax = Number.POSITIVE_INFINITY } = {}) {
    this.#fd = fd;
    this.#writeBytesMax = writeBytesMax;
    process.once('exit', () => this.#writeRest());
  }

  write(line: string): void {
    if (this.#waiting.length + line.length > waitingCharsMax) return;
    this.#waiting += line;
    this.#schedule();
  }

  /** Resolves when everything is written, or when the reader has clearly stalled. */
  async end(): Promise<void> {
    const giveUpAtMs = performance.now() + 2 * stalledAfterMs;
    const isDone = () => this.#waiting === '' && this.#writingSinceMs === undefined;
    while (!isDone() && performance.now() < giveUpAtMs) await delay(gatherMs);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#writingSinceMs !== undefined) return;
    this.#isScheduled = true;
    // The timer does not keep the process alive: the exit writes the rest.
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
    write(this.#fd, bytes, 0, wholeLines(bytes, this.#writeBytesMax), (error, written) => {
      if (error?.code === 'EAGAIN') return void setTimeout(() => this.#writeAll(bytes), gatherMs).unref();
      if (error === null && written < bytes.length) return this.#writeAll(bytes.subarray(written));
      this.#writingSinceMs = undefined;
      if (this.#waiting !== '') this.#schedule();
    });
  }

  #writeRest(): void {
    if (this.#writingSinceMs !== undefined) {
      // An exit waits for the write in progress, and would wait forever for a stalled one.
      if (performance.now() - this.#writingSinceMs >= stalledAfterMs) process.kill(process.pid, 'SIGKILL');
      return;
    }
    try {
      if (this.#waiting !== '') writeSync(this.#fd, this.#waiting);
    } catch {
      // It cannot be reported anywhere.
    }
  }
}

/** The length of the whole lines at the beginning that fit the limit. A longer line counts alone. */
export function wholeLines(bytes: Buffer, bytesMax: number): number {
  if (bytes.length <= bytesMax) return bytes.length;
  const newline = 10;
  const end = bytes.lastIndexOf(newline, bytesMax - 1);
  if (end >= 0) return end + 1;
  const lineEnd = bytes.indexOf(newline);
  return lineEnd < 0 ? bytes.length : lineEnd + 1;
}
