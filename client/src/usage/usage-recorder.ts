import type { NewUsageEvent, RecordedUsage } from '../types.ts';

/** Till accepts no more in one request. */
const batchMax = 1_000;
/** How long an event waits for others. */
const delayMs = 1_000;
/** About 50 MB. So many wait only if Till is down, or is slower than the application. */
const waitingMax = 100_000;

type Send = (events: readonly NewUsageEvent[]) => Promise<RecordedUsage>;

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

  constructor(code: string, event: NewUsageEvent) {
    super(`usage of ${event.meter} was rejected (${code})`);
    this.code = code;
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

  constructor(send: Send) {
    this.#send = send;
  }

  /** Resolves when the event is counted. Rejects if Till rejects it, or if its batch could not be sent. */
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

  /** Accepts no more events. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.flush();
  }

  #start(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, batchMax);
      this.#waiting = this.#waiting.slice(batchMax);
      await this.#sendBatch(batch);
    }
  }

  /** The retries of the request send the same batch, so that nothing is counted twice. */
  async #sendBatch(batch: readonly WaitingEvent[]): Promise<void> {
    try {
      const { rejected } = await this.#send(batch.map(({ event }) => event));
      const codes = new Map(rejected.map(({ index, code }) => [index, code]));
      for (const [index, { event, resolve, reject }] of batch.entries()) {
        const code = codes.get(index);
        if (code === undefined) resolve();
        else reject(new UsageRejectedError(code, event));
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
