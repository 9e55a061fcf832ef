import type { Worker } from 'node:cluster';
import { withDeadline } from '#core/platform/deadline.ts';
import type { MetricReport } from './merge-metrics.ts';
import type { Question, Seat, ToParent, ToProcess } from './messages.ts';
import { returnConnections } from './return-connections.ts';

/** A busy process answers within milliseconds. One that hangs must not hold up the others. */
const answerTimeoutMs = 1_000;

interface End {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A process ended before it served. It has written the reason itself. */
export class ProcessStartError extends Error {
  override readonly name = 'ProcessStartError';
}

/** One process, as its parent sees it. */
export class Member<Facts> {
  readonly number: number;
  readonly ended: Promise<End>;
  /** Resolves when it serves. Rejects if it ends before. */
  readonly ready: Promise<Facts>;
  /** The metrics that it reported last. */
  lastReport: MetricReport = [];
  readonly #worker: Worker;
  readonly #asked = new Map<number, () => void>();
  #questions = 0;
  #readyAtMs: number | undefined;
  #hasSeat = false;
  #hasEnded = false;
  #isLeaving = false;

  constructor(number: number, worker: Worker) {
    this.number = number;
    this.#worker = worker;
    returnConnections(worker);
    const end = Promise.withResolvers<End>();
    const ready = Promise.withResolvers<Facts>();
    this.ended = end.promise;
    this.ready = ready.promise;
    worker.once('exit', (code, signal) => {
      this.#hasEnded = true;
      ready.reject(new ProcessStartError(`process ${number} ended before it was ready`));
      end.resolve({ code, signal });
    });
    // A message to a process that has just ended cannot be delivered. Its exit is reported as well.
    worker.on('error', () => {});
    this.onMessage((message) => {
      if ('report' in message && message.report !== undefined) this.lastReport = message.report;
      if (message.kind === 'gather') this.lastReport = message.own;
      if (message.kind === 'answer') this.#asked.get(message.id)?.();
      if (message.kind !== 'ready') return;
      this.#readyAtMs = performance.now();
      ready.resolve(message.facts);
    });
    // Not every start is awaited.
    ready.promise.catch(() => {});
  }

  get pid(): number | undefined {
    return this.#worker.process.pid;
  }

  /** Whether it has its seat, and acts on the messages sent to it from then on. */
  get hasSeat(): boolean {
    return this.#hasSeat && !this.#hasEnded;
  }

  get isReady(): boolean {
    return this.#readyAtMs !== undefined && !this.#hasEnded;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Whether its end is expected. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  get servedMs(): number {
    return this.#readyAtMs === undefined ? 0 : performance.now() - this.#readyAtMs;
  }

  onMessage(receive: (message: ToParent<Facts>) => void): void {
    this.#worker.on('message', receive);
  }

  begin(seat: Seat): void {
    this.send({ kind: 'begin', seat });
    this.#hasSeat = true;
  }

  send(message: ToProcess): void {
    if (this.#worker.isConnected()) this.#worker.process.send?.(message, undefined, undefined, () => {});
  }

  /** Resolves when it has answered, or has ended. Rejects if it does not answer in time. */
  async ask(question: Question): Promise<void> {
    this.#questions += 1;
    const id = this.#questions;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#asked.set(id, resolve);
    this.send({ kind: 'ask', id, question });
    const answered = Promise.race([promise, this.ended]);
    try {
      await withDeadline(answered, answerTimeoutMs, `the response of process ${this.number}`);
    } finally {
      this.#asked.delete(id);
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#worker.process.kill(signal);
  }

  /** Lets it finish its work, without new connections. */
  retire(): void {
    this.#isLeaving = true;
    this.send({ kind: 'retire' });
  }
}
