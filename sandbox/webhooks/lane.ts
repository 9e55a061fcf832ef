import { MinHeap } from '../state/min-heap.ts';

/** Enough for high throughput, and few enough that events arrive roughly in order. */
export const inFlightMax = 8;

/** The queue removes its taken entries after this many, so that the cost per entry is small. */
const takenMax = 10_000;

/** The delay doubles from a second to an hour: fast recovery from short outages, and little load during long ones. */
const retryDelayMsMin = 1_000;
const retryDelayMsMax = 60 * 60 * 1_000;

/**
 * The deliveries to one endpoint. They start in the order of their events, a few at a time. A failed delivery waits for
 * its retry separately and does not block the others.
 */
export class Lane {
  readonly #attempt: (eventId: string) => Promise<boolean>;
  readonly #nowMs: () => number;
  readonly #onError: (error: unknown, eventId: string) => void;
  readonly #retries = new MinHeap<string>();
  readonly #failures = new Map<string, number>();
  #ready: string[] = [];
  #taken = 0;
  #inFlight = 0;
  #timer: NodeJS.Timeout | null = null;
  #held = false;
  #flushing = false;
  #closed = false;
  #idle: (() => void)[] = [];

  /** An attempt that throws counts as failed. */
  constructor(
    attempt: (eventId: string) => Promise<boolean>,
    nowMs: () => number,
    onError: (error: unknown, eventId: string) => void,
  ) {
    this.#attempt = attempt;
    this.#nowMs = nowMs;
    this.#onError = onError;
  }

  get size(): number {
    return this.#ready.length - this.#taken + this.#retries.size + this.#inFlight;
  }

  push(eventId: string, delayMs = 0): void {
    if (delayMs > 0) this.#later(eventId, delayMs);
    else this.#ready.push(eventId);
    this.#pump();
  }

  /** Pauses or resumes the deliveries. */
  hold(held: boolean): void {
    this.#held = held;
    this.#pump();
  }

  /** Attempts every pending delivery once, even while paused. Resolves when all attempts are done. */
  async flush(): Promise<void> {
    for (let next = this.#retries.pop(); next !== undefined; next = this.#retries.pop())
      this.#ready.push(next.item);
    this.#flushing = true;
    this.#pump();
    await this.#becomesIdle();
    this.#flushing = false;
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #becomesIdle(): Promise<void> {
    if (this.#inFlight === 0 && this.#taken === this.#ready.length) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #pump(): void {
    while (!this.#closed && this.#inFlight < inFlightMax && (!this.#held || this.#flushing)) {
      const eventId = this.#take();
      if (eventId === undefined) break;
      this.#inFlight += 1;
      this.#attempt(eventId)
        .catch((error: unknown) => {
          this.#onError(error, eventId);
          return false;
        })
        .then((settled) => this.#note(eventId, settled))
        .finally(() => {
          this.#inFlight -= 1;
          this.#pump();
        });
    }
    if (this.#inFlight === 0 && (this.#closed || this.#taken === this.#ready.length))
      for (const resolve of this.#idle.splice(0)) resolve();
  }

  #take(): string | undefined {
    const eventId = this.#ready[this.#taken];
    if (eventId === undefined) {
      this.#ready = [];
      this.#taken = 0;
      return undefined;
    }
    this.#taken += 1;
    if (this.#taken >= takenMax) {
      this.#ready = this.#ready.slice(this.#taken);
      this.#taken = 0;
    }
    return eventId;
  }

  #note(eventId: string, settled: boolean): void {
    if (settled || this.#closed) {
      this.#failures.delete(eventId);
      return;
    }
    const failures = (this.#failures.get(eventId) ?? 0) + 1;
    this.#failures.set(eventId, failures);
    const delayMs = Math.min(retryDelayMsMax, retryDelayMsMin * 2 ** (failures - 1));
    this.#later(eventId, delayMs * (0.5 + Math.random() / 2));
  }

  #later(eventId: string, delayMs: number): void {
    this.#retries.push(this.#nowMs() + delayMs, eventId);
    this.#setTimer();
  }

  #setTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const at = this.#retries.firstAt;
    if (at === undefined || this.#closed) return;
    this.#timer = setTimeout(
      () => {
        while ((this.#retries.firstAt ?? Number.POSITIVE_INFINITY) <= this.#nowMs()) {
          const next = this.#retries.pop();
          if (next !== undefined) this.#ready.push(next.item);
        }
        this.#setTimer();
        this.#pump();
      },
      Math.max(1, at - this.#nowMs()),
    );
  }
}
