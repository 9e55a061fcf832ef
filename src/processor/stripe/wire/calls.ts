import { setTimeout as wait } from 'node:timers/promises';
import type { Stripe } from 'stripe';
import type { AsOf } from '#core/model/facts.ts';
import { currentCaller, currentCause, currentTurn, whileWaiting } from '#core/platform/cause.ts';
import type { Metrics } from '#core/platform/metrics.ts';
import { currentSpan, inSpan } from '#core/platform/tracing.ts';
import type { CallPacer, PacedCall } from '../../pacing/call-pacer.ts';
import type { RateLimit } from '../../pacing/limits.ts';
import type { BeforeCall } from '../../port/processor.ts';
import { type ProcessorOperation, type ProcessorOutcome, processorOperations } from './operations.ts';
import { callFailure, classifyError, type FailedCall, type Refusal, rateLimitOf } from './refusal.ts';
import { responseAsOf } from './responses.ts';

export interface CallLimits {
  /** The limit of a call with all its retries. The API request behind it has 30 s and does more than this call. */
  readonly deadlineMs: number;
  /**
   * The limit of one attempt: long enough for the processor's slowest real responses, short enough for a second
   * attempt.
   */
  readonly attemptTimeoutMs: number;
  /** Retries after the first attempt. More would only add to the load of a processor that is down. */
  readonly retriesMax: number;
  /**
   * The delay before the first retry. It doubles before each of the next two. Half of it is random, so that callers
   * don't retry at the same time.
   */
  readonly retryDelayMs: number;
}

export const callLimits: CallLimits = {
  deadlineMs: 10_000,
  attemptTimeoutMs: 6_000,
  retriesMax: 2,
  retryDelayMs: 400,
};

/** If less time is left, another attempt would certainly time out. */
const attemptTimeoutMsMin = 20;

/**
 * Retries while the processor works on another request for the same object or under the same processor key. It takes up
 * to four seconds for one, and these retries about six.
 */
const conflictRetriesMax = 6;
/** Delays double this often. */
const delayDoublingsMax = 2;

/**
 * Attempts that the processor may refuse because of a limit. Each waits for its turn, so more than one or two mean that
 * others use the account's limit too.
 */
const limitedRetriesMax = 5;

interface ProcessorCall<T> {
  /** The processor key of a write that must not happen twice. */
  readonly idempotencyKey?: string;
  readonly send: (options: Stripe.RequestOptions) => Promise<unknown>;
  /**
   * Maps the response, and the time span in which it was true, to the result. Throws `UnmappableError` if the response
   * does not match the request.
   */
  readonly take: (response: unknown, asOf: AsOf) => T;
  /** The result for a refusal that the caller can handle. Undefined makes the refusal a failure. */
  readonly refused?: (refusal: Refusal) => T | undefined;
}

type Call = <T>(operation: ProcessorOperation, call: ProcessorCall<T>) => Promise<T>;

/** A read has no effect, so its failure never leaves one unknown. */
export interface ProcessorCaller {
  readonly read: Call;
  readonly write: Call;
}

/**
 * Every call to the processor goes through these functions, which limit calls in number, rate and time, retry where it
 * is safe, and measure.
 */
export function createCaller(
  metrics: Pick<Metrics, 'processorRequestDuration' | 'processorRateLimited'>,
  pacer: CallPacer,
  limits: CallLimits,
): ProcessorCaller {
  const callAs =
    (kind: 'read' | 'write'): Call =>
    (operation, call) => {
      const place = new CallPlace(pacer, processorOperations[operation], limits.deadlineMs);
      const observe = (outcome: ProcessorOutcome) => {
        currentSpan()?.set({ 'till.processor.outcome': outcome });
        const seconds = (performance.now() - place.startedMs) / 1000;
        metrics.processorRequestDuration.observe({ operation, outcome }, seconds);
      };
      const limited = (rateLimit: RateLimit) => {
        metrics.processorRateLimited.inc({ reason: rateLimit.reason });
        place.learn(rateLimit);
      };
      const paced = async () => {
        const waiting = begin(place, observe);
        if (waiting !== undefined) await waiting;
        try {
          return await tryUntilDeadline({ kind, operation, ...call }, { place, limits, observe, limited });
        } finally {
          place.end();
        }
      };
      return inSpan(`processor ${operation}`, () => whileWaiting(paced), { kind: 'client' });
    };
  return { read: callAs('read'), write: callAs('write') };
}

function begin(place: CallPlace, observe: (outcome: ProcessorOutcome) => void): Promise<void> | undefined {
  const refuse = (error: unknown) => {
    observe('overloaded');
    throw error;
  };
  try {
    return place.begin()?.catch(refuse);
  } catch (error) {
    return refuse(error);
  }
}

/** The same calls, each after `beforeCall`, and in the turn of its work. */
export function gateCalls(
  { read, write }: ProcessorCaller,
  beforeCall: BeforeCall | undefined,
  { deadlineMs }: CallLimits,
): ProcessorCaller {
  const gated =
    (call: Call): Call =>
    async (operation, values) => {
      await beforeCall?.();
      await currentTurn()?.require(deadlineMs);
      return call(operation, values);
    };
  return { read: gated(read), write: gated(write) };
}

type CallOfKind<T> = ProcessorCall<T> & {
  readonly kind: 'read' | 'write';
  readonly operation: ProcessorOperation;
};

interface CallRun {
  readonly place: CallPlace;
  readonly limits: CallLimits;
  readonly observe: (outcome: ProcessorOutcome) => void;
  readonly limited: (rateLimit: RateLimit) => void;
}

async function tryUntilDeadline<T>(call: CallOfKind<T>, run: CallRun): Promise<T> {
  const { place, limits, observe } = run;
  const deadlineMs = place.startedMs + limits.deadlineMs;
  const { idempotencyKey } = call;
  const keyOptions = idempotencyKey === undefined ? {} : { idempotencyKey };
  const retries = { failed: 0, limited: 0 };
  const sentMs = performance.now();
  let maybeDone = false;
  for (;;) {
    const leftMs = deadlineMs - performance.now();
    try {
      const timeout = Math.ceil(Math.max(attemptTimeoutMsMin, Math.min(limits.attemptTimeoutMs, leftMs)));
      const response = await withShortStack(() => call.send({ timeout, ...keyOptions }));
      // Measured from the first attempt, because the processor may respond to a later attempt with its stored response
      // to the first.
      const result = call.take(response, responseAsOf(response, performance.now() - sentMs, Date.now()));
      observe('ok');
      return result;
    } catch (error) {
      const failed = classifyError(error, call.operation);
      const rateLimit = rateLimitOf(error);
      if (rateLimit !== undefined) run.limited(rateLimit);
      maybeDone ||= failed.maybeDone;
      if (failed.worthRetrying && (await waitToRetry(run, failed, retries, rateLimit))) continue;
      return toResultOrThrow(call, failed, maybeDone, error, observe);
    }
  }
}

/** Waits until another attempt may begin. False if it cannot begin in time, or if there were enough. */
async function waitToRetry(
  { place, limits }: CallRun,
  failed: FailedCall,
  retries: { failed: number; limited: number },
  rateLimit: RateLimit | undefined,
): Promise<boolean> {
  if (rateLimit !== undefined && rateLimit.reason !== 'resource-specific') {
    if (retries.limited >= limitedRetriesMax) return false;
    // Its turn is delay enough, unless the processor refuses it again.
    if (retries.limited > 0) await wait(delayBefore(retries.limited - 1, limits));
    retries.limited += 1;
    return (await place.again(place.latestStartMs)) ?? true;
  }
  const delayMs = delayBefore(retries.failed, limits);
  const latestMs = place.startedMs + limits.deadlineMs - attemptTimeoutMsMin;
  const retriesMax = failed.isConflict ? conflictRetriesMax : limits.retriesMax;
  if (retries.failed >= retriesMax || performance.now() + delayMs >= latestMs) return false;
  retries.failed += 1;
  await wait(delayMs);
  return (await place.again(latestMs)) ?? true;
}

/**
 * The package formats a stack trace at every call, in case the call fails. A full trace would take as long as the rest
 * of its work, and Till shows and logs its own failures. Only the synchronous part of `send` runs with the short trace.
 */
function withShortStack<T>(send: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 1;
  try {
    return send();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function toResultOrThrow<T>(
  call: CallOfKind<T>,
  failed: FailedCall,
  maybeDone: boolean,
  error: unknown,
  observe: (outcome: ProcessorOutcome) => void,
): T {
  const result = failed.refusal && !isOldRefusal(failed) ? call.refused?.(failed.refusal) : undefined;
  if (result !== undefined) {
    observe('refused');
    return result;
  }
  observe(failed.outcome);
  throw callFailure(failed, call.kind === 'write' && maybeDone ? 'unknown' : 'none', error);
}

/** A repeated refusal says nothing about the current state. A decline is a result, even if it is repeated. */
function isOldRefusal({ replayed, refusal }: FailedCall): boolean {
  return replayed === true && refusal?.status !== 402;
}

function delayBefore(retry: number, limits: CallLimits): number {
  return limits.retryDelayMs * 2 ** Math.min(retry, delayDoublingsMax) * (1 - Math.random() / 2);
}

/**
 * The part of the deadline for which a call may wait before it begins. What is left, four seconds, is enough for the
 * slowest responses that were recorded (3.9 s): a call that begins later could time out, with an unknown effect.
 */
const waitingShare = 0.6;
/** Long runs, such as a resync, rather wait than fail. While requests keep the queue full, they have a small share. */
const longRunPatienceMs = 60_000;

/** The place of one call among all calls that wait for the processor, or are in progress. */
class CallPlace {
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
