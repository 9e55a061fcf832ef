import { withDeadline } from '#core/platform/deadline.ts';
import type { MetricReport } from './merge-metrics.ts';
import type { GroupState, Question, Seat, ToParent, ToProcess } from './messages.ts';

/** A scraper waits ten seconds. The parent gives slow processes less than this. */
const gatherTimeoutMs = 3_000;
/** Work that is stored within this time is reported once. */
const workDelayMs = 5;

/** The link of one of several processes to their parent. If the parent dies, `node:cluster` ends the process. */
export class ParentLink<Facts> {
  readonly seat: Seat;
  /** Resolves when another process has taken over. */
  readonly retired: Promise<void>;
  readonly #retire: () => void;
  readonly #gathering = new Map<number, (reports: readonly MetricReport[]) => void>();
  #state: GroupState = { serving: 0, restarts: 0 };
  #gathered = 0;
  #report: () => Promise<MetricReport> = async () => [];
  #onWork: () => void = () => {};
  #onClock: (aheadSeconds: number) => void = () => {};
  #clockAheadSeconds: number;
  #isWorkReported = false;

  private constructor(seat: Seat) {
    this.seat = seat;
    this.#clockAheadSeconds = seat.sandbox?.clockAheadSeconds ?? 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.retired = promise;
    this.#retire = resolve;
    process.on('message', (message: ToProcess) => this.#receive(message));
  }

  /** Tells the parent that this process runs, and waits for its seat. */
  static open<Facts>(): Promise<ParentLink<Facts>> {
    const { promise, resolve, reject } = Promise.withResolvers<ParentLink<Facts>>();
    // Listens to the parent from this message on, because the next one may arrive in the same turn of the event loop.
    process.once('message', (message: ToProcess) => {
      if (message.kind === 'begin') resolve(new ParentLink<Facts>(message.seat));
      else reject(new Error(`unexpected first message: ${message.kind}`));
    });
    send({ kind: 'hello' });
    return promise;
  }

  get state(): GroupState {
    return this.#state;
  }

  /** Rejects unless every process serves. */
  async requireAll(): Promise<void> {
    const { serving } = this.#state;
    if (serving < this.seat.count) throw new Error(`${serving} of ${this.seat.count} processes serve`);
  }

  announceReady(facts: Facts): void {
    send<Facts>({ kind: 'ready', facts });
  }

  /** Sets how the metrics of this process are read. */
  setReport(report: () => Promise<MetricReport>): void {
    this.#report = report;
  }

  /** Sets the callback for background work that another process has stored. */
  setOnWork(onWork: () => void): void {
    this.#onWork = onWork;
  }

  /**
   * Sets the callback that follows the sandbox's clock. It is called at once, and at every change, with how far that
   * clock is ahead.
   */
  setOnClock(onClock: (aheadSeconds: number) => void): void {
    this.#onClock = onClock;
    onClock(this.#clockAheadSeconds);
  }

  /** Tells the process that does the background work that there is some. */
  reportWork(): void {
    if (this.#isWorkReported) return;
    this.#isWorkReported = true;
    setTimeout(() => {
      this.#isWorkReported = false;
      send({ kind: 'work' });
    }, workDelayMs).unref();
  }

  /** All metrics: first those of this process, then those of the others, and what remains of those that have ended. */
  async gather(): Promise<readonly MetricReport[]> {
    const own = await this.#report();
    this.#gathered += 1;
    const id = this.#gathered;
    const { promise, resolve } = Promise.withResolvers<readonly MetricReport[]>();
    this.#gathering.set(id, resolve);
    send({ kind: 'gather', id, own });
    try {
      return [own, ...(await withDeadline(promise, gatherTimeoutMs, 'gathering metrics'))];
    } finally {
      this.#gathering.delete(id);
    }
  }

  /** Sends the metrics of this process to the parent, as its last action. */
  async leaveReport(): Promise<void> {
    await sendAndWait({ kind: 'leave', report: await this.#report() });
  }

  #receive(message: ToProcess): void {
    if (message.kind === 'state') this.#state = message.state;
    else if (message.kind === 'work') this.#onWork();
    else if (message.kind === 'retire') this.#retire();
    else if (message.kind === 'reports') this.#gathering.get(message.id)?.(message.reports);
    else if (message.kind === 'ask') void this.#answer(message.id, message.question);
  }

  async #answer(id: number, question: Question): Promise<void> {
    if (question.kind === 'clock') {
      this.#clockAheadSeconds = question.aheadSeconds;
      this.#onClock(question.aheadSeconds);
      return send({ kind: 'answer', id });
    }
    // Without an answer, the parent uses the last report.
    const report = await this.#report().catch(() => undefined);
    if (report !== undefined) send({ kind: 'answer', id, report });
  }
}

function send<Facts>(message: ToParent<Facts>): void {
  // Between the death of the parent and the end of this process there is no channel.
  process.send?.(message, undefined, undefined, () => {});
}

/** Resolves when the message is written, or cannot be. */
function sendAndWait(message: ToParent<never>): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
