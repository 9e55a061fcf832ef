import { currentCaller, currentCause, currentTurn } from '#core/platform/cause.ts';
import type { CallPacer, PacedCall } from '../../pacing/call-pacer.ts';
import type { RateLimit } from '../../pacing/limits.ts';

/**
 * The part of the deadline for which a call may wait before it begins. What is left, four seconds, is enough for the
 * slowest responses that were recorded (3.9 s): a call that begins later could time out, with an unknown effect.
 */
const waitingShare = 0.6;
/** Long runs, such as a resync, rather wait than fail. While requests keep the queue full, they have a small share. */
const longRunPatienceMs = 60_000;

/** The place of one call among all calls that wait for the processor, or are in progress. */
export class CallPlace {
  readonly #pacer: CallPacer;
  readonly #deadlineMs: number;
  readonly #call: PacedCall;
  #startedMs = 0;

  constructor(pacer: CallPacer, endpoint: string, deadlineMs: number) {
    const caller = currentCaller();
    this.#pacer = pacer;
    this.#deadlineMs = deadlineMs;
    this.#call = {
      endpoint,
      group: caller ?? currentCause()?.kind ?? '',
      priority: caller === undefined ? 'background' : 'interactive',
      isInFlight: false,
    };
  }

  /** When the call began. Its deadline counts from then, or from before it waited, if somebody waits for it. */
  get startedMs(): number {
    return this.#startedMs;
  }

  /** A promise if the call has to wait. Throws if it cannot begin in time. */
  begin(): Promise<void> | undefined {
    const isLongRun = this.#isLongRun();
    const patienceMs = isLongRun ? longRunPatienceMs : this.#deadlineMs * waitingShare;
    this.#startedMs = performance.now();
    const waiting = this.#pacer.begin(this.#call, patienceMs);
    if (waiting === undefined || !isLongRun) return waiting;
    return waiting.then(() => {
      this.#startedMs = performance.now();
    });
  }

  /** A promise if another attempt has to wait; false if it cannot begin before `latestMs`. */
  again(latestMs: number): Promise<boolean> | undefined {
    return this.#pacer.again(this.#call, Math.max(0, latestMs - performance.now()));
  }

  /** The latest start of an attempt after the processor has refused one because of a limit. */
  get latestStartMs(): number {
    return this.#startedMs + this.#deadlineMs * waitingShare;
  }

  learn(rateLimit: RateLimit): void {
    this.#pacer.learn(this.#call, rateLimit);
  }

  end(): void {
    this.#pacer.end(this.#call);
  }

  /** Whether neither a request nor a lease limits how long the call may wait. */
  #isLongRun(): boolean {
    if (this.#call.priority === 'interactive' || currentTurn() !== undefined) return false;
    const kind = currentCause()?.kind;
    return kind !== 'webhook' && kind !== 'sweeper';
  }
}
