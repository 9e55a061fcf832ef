import { TillError } from '../errors.ts';
import type { NewUsageEvent, RecordedUsage } from '../types.ts';

/** Till accepts no more in one request. */
const batchMax = 1_000;
/** How long an event waits for others. */
const delayMs = 1_000;
/** About 50 MB. So many wait only if Till is down, or is slower than the application. */
const waitingMax = 100_000;

/** How long `close` sends. Kubernetes kills a process 30 seconds after it asks it to end. */
const closeTimeoutMs = 20_000;

type Send = (events: readonly NewUsageEvent[], signal: AbortSignal) => Promise<RecordedUsage>;

interface WaitingEvent {
  readonly event: NewUsageEvent;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Till did not count an event, and will not count it later. `code` says why. */
export class UsageRejectedError extends Error {
  override readonly name = 'UsageRejectedError';
  readonly code: string;
  readonly event: NewUsageEvent;

  constructor(code: string, event: NewUsageEvent, options?: ErrorOptions) {
    super(`usage of ${event.meter} was rejected (${code})`, options);
    this.code = code;
    this.event = event;
  }
}

/**
 * All attempts to send an event failed, or `close` gave up. Till may have counted it or not. Call `record` with `event`
 * to send it again: it has the same id and time, so it counts once. `cause` says why.
 */
export class UsageNotSentError extends Error {
  override readonly name = 'UsageNotSentError';
  readonly event: NewUsageEvent;

  constructor(event: NewUsageEvent, options: ErrorOptions) {
    super(`usage of ${event.meter} could not be sent`, options);
    this.event = event;
  }
}

/**
 * Collects usage and sends it in batches, one at a time. Events that arrive while a batch is sent form the next one, so
 * batches grow with the load.
 */
export class UsageRecorder {
  readonly #send: Send;
  #waiting: WaitingEvent[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sending: Promise<void> | undefined;
  #isClosed = false;
  #notSent = 0;
  readonly #giveUp = new AbortController();

  constructor(send: Send) {
    this.#send = send;
  }

  /** Resolves when the event is counted. Rejects if Till rejects it, or if it could not be sent. */
  add(event: NewUsageEvent): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new Error('the client is closed'));
      if (this.#waiting.length >= waitingMax)
        return reject(new Error(`${waitingMax} events already wait to be sent`));
      this.#waiting.push({ event, resolve, reject });
      if (this.#waiting.length >= batchMax) void this.#start();
      else if (this.#sending === undefined) this.#timer ??= setTimeout(() => void this.#start(), delayMs);
    });
  }

  /** Sends what waits, and resolves when nothing waits. The promises of the events tell what became of them. */
  async flush(): Promise<void> {
    while (this.#waiting.length > 0 || this.#sending !== undefined) await this.#start();
  }

  /**
   * Accepts no more events, and sends what waits for at most 20 seconds. Rejects if events could not be sent, and says
   * how many.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    const notSentBefore = this.#notSent;
    // Ends the request in progress. Those that would follow are not sent.
    const timer = setTimeout(
      () => this.#giveUp.abort(new Error(`the client was closed, and gave up after ${closeTimeoutMs} ms`)),
      closeTimeoutMs,
    );
    await this.flush();
    clearTimeout(timer);
    const notSent = this.#notSent - notSentBefore;
    if (notSent > 0) throw new Error(`usage events that could not be sent: ${notSent}`);
  }

  async #start(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length > 0) this.#sending ??= this.#sendAll();
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, batchMax);
      this.#waiting = this.#waiting.slice(batchMax);
      await this.#sendBatch(batch);
    }
    // In the same step in which nothing waits: an event that is added now starts the timer.
    this.#sending = undefined;
  }

  /** The retries of the request send the same batch, so that nothing is counted twice. */
  async #sendBatch(batch: readonly WaitingEvent[]): Promise<void> {
    try {
      const { rejected } = await this.#send(
        batch.map(({ event }) => event),
        this.#giveUp.signal,
      );
      const codes = new Map(rejected.map(({ index, code }) => [index, code]));
      for (const [index, { event, resolve, reject }] of batch.entries()) {
        const code = codes.get(index);
        if (code === undefined) resolve();
        else reject(new UsageRejectedError(code, event));
      }
    } catch (error) {
      if (!isAboutContent(error)) {
        this.#notSent += batch.length;
        for (const { event, reject } of batch) reject(new UsageNotSentError(event, { cause: error }));
      } else if (batch.length === 1) {
        for (const { event, reject } of batch)
          reject(new UsageRejectedError(error.code, event, { cause: error }));
      } else {
        // Nothing was counted. The half without the malformed event will be.
        const half = Math.ceil(batch.length / 2);
        await this.#sendBatch(batch.slice(0, half));
        await this.#sendBatch(batch.slice(half));
      }
    }
  }
}

/** Whether Till refused a batch because an event is malformed, or because the batch is too large. */
function isAboutContent(error: unknown): error is TillError {
  return error instanceof TillError && (error.status === 400 || error.status === 413);
}
