import { Failure } from '#core/errors.ts';
import { CallQueue, type Priority, type QueuedCall } from './call-queue.ts';
import type { Limits, RateLimit } from './limits.ts';
import { PaceTimer, type Time } from './pace-timer.ts';
import { bucketSize } from './token-bucket.ts';
import type { Granted, Tokens } from './tokens.ts';

/** Bounds the memory. The deadline of the calls is the closer limit: at 100 calls a second, it allows 600. */
const waitingMax = 5_000;
/** With a high limit, the calls of this time begin together, because each look at the queue costs something. */
const intervalMsMin = 20;
/** When to retry if too many calls are in progress: each takes a fraction of a second. */
const overloadedRetryAfterSeconds = 1;
/** A longer delay than this helps no caller: the queue is as long as one deadline. */
const retryAfterSecondsMax = 60;

/** A call of the processor, from its start to its end. */
export interface PacedCall extends QueuedCall {
  /** Whether it counts as in progress. */
  isInFlight: boolean;
}

/** A call that waits, and how it ends. */
interface Waiting {
  readonly sinceMs: number;
  readonly resolve: (hasBegun: boolean) => void;
  /** Undefined while it may begin at once. */
  stopTimer: (() => void) | undefined;
}

/** What happens to calls, for the metrics. */
interface PaceObserver {
  readonly waiting: (priority: Priority, change: 1 | -1) => void;
  readonly began: (priority: Priority, waitedMs: number) => void;
  readonly refused: (priority: Priority) => void;
}

interface PacerOptions {
  readonly limits: Limits;
  readonly tokens: Tokens;
  readonly inFlightMax: number;
  readonly observer: PaceObserver;
  readonly time?: Time;
}

/**
 * Lets calls begin as fast as the processor allows. Calls that cannot begin yet wait in a fair queue, and one that
 * would wait for too long is refused at once. While no limit is known, this is a counter.
 */
export class CallPacer {
  readonly #options: PacerOptions;
  readonly #queue = new CallQueue<PacedCall>();
  readonly #waiting = new Map<PacedCall, Waiting>();
  readonly #inFlightOf = new Map<string, number>();
  readonly #timer: PaceTimer;
  #inFlight = 0;
  #isTaking = false;
  /** Whether a call that waits could begin if another one ended. */
  #isFull = false;
  /** Endpoints of calls that got no token, until the timer fires. */
  #blocked: ReadonlySet<string> = new Set();

  constructor(options: PacerOptions) {
    this.#options = options;
    this.#timer = new PaceTimer(options.time, () => {
      this.#blocked = new Set();
      this.#pump();
    });
  }

  /**
   * Begins a call. A promise if it has to wait. Throws if it would wait longer than `patienceMs`, or if too many calls
   * are in progress.
   */
  begin(call: PacedCall, patienceMs: number): Promise<void> | undefined {
    const { inFlightMax } = this.#options;
    if (!this.#isLimited()) {
      if (this.#inFlight >= inFlightMax) throw tooManyInFlight();
      this.#start(call);
      return undefined;
    }
    const waitMs = this.#estimateMs(call);
    if (waitMs > patienceMs || this.#waiting.size >= waitingMax) {
      this.#options.observer.refused(call.priority);
      throw wouldWait(waitMs);
    }
    this.#queue.push(call);
    return this.#await(call, patienceMs, async (hasBegun) => {
      if (!(await hasBegun)) throw wouldWait(this.#estimateMs(call));
    });
  }

  /**
   * Lets a call in progress make another attempt, before all others of its caller. A promise if it has to wait; false
   * if it could not begin within `patienceMs`.
   */
  again(call: PacedCall, patienceMs: number): Promise<boolean> | undefined {
    if (!this.#isLimited()) return undefined;
    this.end(call);
    this.#queue.putBack(call);
    return this.#await(call, patienceMs, (hasBegun) => hasBegun);
  }

  #isLimited(): boolean {
    const { limits } = this.#options;
    return limits.mayBeActive && limits.isActive(this.#nowMs());
  }

  /** The call has ended. */
  end(call: PacedCall): void {
    if (!call.isInFlight) return;
    call.isInFlight = false;
    this.#inFlight -= 1;
    const left = (this.#inFlightOf.get(call.endpoint) ?? 1) - 1;
    if (left > 0) this.#inFlightOf.set(call.endpoint, left);
    else this.#inFlightOf.delete(call.endpoint);
    if (this.#isFull) this.#pump();
  }

  /** The processor refused a call in progress because of a limit. */
  learn({ endpoint }: PacedCall, rateLimit: RateLimit): void {
    const inFlight = { all: this.#inFlight, endpoint: this.#inFlightOf.get(endpoint) ?? 0 };
    this.#options.limits.learn(endpoint, rateLimit, this.#nowMs(), inFlight);
  }

  /** Calls that wait are refused. */
  close(): void {
    this.#timer.unset();
    for (const [call] of this.#waiting) this.#giveUp(call);
  }

  readonly #nowMs = (): number => this.#timer.nowMs();

  #await<Result>(
    call: PacedCall,
    patienceMs: number,
    then: (hasBegun: Promise<boolean>) => Promise<Result>,
  ): Promise<Result> | undefined {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiting: Waiting = { sinceMs: this.#nowMs(), resolve, stopTimer: undefined };
    this.#waiting.set(call, waiting);
    if (!this.#timer.isSet || !this.#blocked.has(call.endpoint)) this.#pump();
    if (!this.#waiting.has(call)) return undefined;
    waiting.stopTimer = this.#timer.after(patienceMs, () => this.#giveUp(call));
    this.#options.observer.waiting(call.priority, 1);
    return then(promise);
  }

  /** Lets as many calls begin as there are tokens for. */
  #pump(): void {
    if (this.#isTaking) return;
    const nowMs = this.#nowMs();
    const draft = this.#draft(nowMs);
    if (draft.length === 0) {
      this.#timer.set(this.#pausedMs(nowMs));
      return;
    }
    const { tokens } = this.#options;
    const taken = tokens.take(
      draft.map(({ endpoint }) => endpoint),
      this.#queue.size + draft.length,
      nowMs,
    );
    if (!(taken instanceof Promise)) {
      this.#deal(draft, taken);
      return;
    }
    this.#isTaking = true;
    // It never rejects: without the other processes, this one counts alone.
    void taken.then((granted) => {
      this.#isTaking = false;
      this.#deal(draft, granted);
    });
  }

  /** The calls that may begin if there are tokens for them, the most urgent first. */
  #draft(nowMs: number): readonly PacedCall[] {
    const { limits, inFlightMax } = this.#options;
    if (limits.all.pausedUntilMs > nowMs) return [];
    const draft: PacedCall[] = [];
    const drafted = new Map<string, number>();
    const inAllMax = Math.min(inFlightMax, limits.all.inFlightMax(nowMs)) - this.#inFlight;
    this.#isFull = false;
    const mayBegin = (endpoint: string) => {
      const limit = limits.of(endpoint);
      const count = drafted.get(endpoint) ?? 0;
      const inFlight = (this.#inFlightOf.get(endpoint) ?? 0) + count;
      const isFull = draft.length >= inAllMax || inFlight >= limit.inFlightMax(nowMs);
      this.#isFull ||= isFull;
      return (
        !isFull &&
        limit.pausedUntilMs <= nowMs &&
        count < Math.min(capacityOf(limits.all.perSecond(nowMs)), capacityOf(limit.perSecond(nowMs)))
      );
    };
    for (let call = this.#queue.take(mayBegin); call !== undefined; call = this.#queue.take(mayBegin)) {
      draft.push(call);
      drafted.set(call.endpoint, (drafted.get(call.endpoint) ?? 0) + 1);
    }
    return draft;
  }

  /** Starts the calls that have a token. The others wait, in the same order as before. */
  #deal(draft: readonly PacedCall[], { granted, waitMs }: Granted): void {
    const blocked = draft.filter((_, index) => granted[index] !== true);
    for (const call of blocked.toReversed()) if (this.#waiting.has(call)) this.#queue.putBack(call);
    draft.forEach((call, index) => {
      if (granted[index] === true && this.#waiting.has(call)) this.#start(call);
    });
    // With shared tokens, those of the draft are all that there were.
    this.#blocked = new Set((blocked.length > 0 ? blocked : draft).map(({ endpoint }) => endpoint));
    if (this.#queue.size === 0) this.#timer.unset();
    else if (waitMs === 0) this.#pump();
    else this.#timer.set(Math.max(intervalMsMin, Math.min(waitMs, this.#pausedMs(this.#nowMs()))));
  }

  #start(call: PacedCall): void {
    call.isInFlight = true;
    this.#inFlight += 1;
    this.#inFlightOf.set(call.endpoint, (this.#inFlightOf.get(call.endpoint) ?? 0) + 1);
    const waited = this.#leave(call);
    if (waited === undefined) return;
    this.#options.observer.began(call.priority, this.#nowMs() - waited.sinceMs);
    waited.resolve(true);
  }

  #giveUp(call: PacedCall): void {
    const waited = this.#leave(call);
    if (waited === undefined) return;
    this.#queue.remove(call);
    this.#options.observer.refused(call.priority);
    waited.resolve(false);
  }

  #leave(call: PacedCall): Waiting | undefined {
    const waited = this.#waiting.get(call);
    if (waited === undefined) return undefined;
    this.#waiting.delete(call);
    if (waited.stopTimer === undefined) return waited;
    waited.stopTimer();
    this.#options.observer.waiting(call.priority, -1);
    return waited;
  }

  /** How long a new call would wait. */
  #estimateMs(call: PacedCall): number {
    const { limits, tokens } = this.#options;
    const nowMs = this.#nowMs();
    const { processes, waiting } = tokens.others;
    const waitMs = (ahead: number, perSecond: number | undefined): number => {
      // Processes get tokens about equally often.
      const ofOthers = Math.min(waiting, ahead * (processes - 1));
      return perSecond === undefined ? 0 : ((ahead + ofOthers) / bucketSize(perSecond).perSecond) * 1_000;
    };
    const limit = limits.of(call.endpoint);
    const pausedUntilMs = Math.max(limits.all.pausedUntilMs, limit.pausedUntilMs);
    return (
      Math.max(0, pausedUntilMs - nowMs) +
      Math.max(
        waitMs(this.#queue.countAhead(call), limits.all.perSecond(nowMs)),
        waitMs(this.#queue.countAhead(call, call.endpoint), limit.perSecond(nowMs)),
      )
    );
  }

  /** When a pause ends. Calls that wait for others to end need no timer. */
  #pausedMs(nowMs: number): number {
    if (this.#queue.size === 0) return Number.POSITIVE_INFINITY;
    return this.#options.limits.pausedMs(nowMs);
  }
}

function capacityOf(perSecond: number | undefined): number {
  return perSecond === undefined ? Number.POSITIVE_INFINITY : bucketSize(perSecond).capacity;
}

function tooManyInFlight(): Failure {
  return new Failure('overloaded', 'Too many calls to the processor are in progress. Retry later.', {
    retryAfterSeconds: overloadedRetryAfterSeconds,
    effect: 'none',
  });
}

function wouldWait(waitMs: number): Failure {
  return new Failure(
    'processor_unavailable',
    'More calls wait for the processor than its rate limit allows. Retry later, with the same idempotency key if you sent one.',
    {
      retryAfterSeconds: Math.max(1, Math.min(Math.ceil(waitMs / 1_000), retryAfterSecondsMax)),
      effect: 'none',
    },
  );
}
