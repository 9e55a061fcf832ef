import { setTimeout as wait } from 'node:timers/promises';
import type { Stripe } from 'stripe';
import { Failure } from '../../../errors.ts';
import type { AsOf } from '../../../model/facts.ts';
import { whileWaiting } from '../../../platform/cause.ts';
import type { Metrics } from '../../../platform/metrics.ts';
import { currentSpan, inSpan } from '../../../platform/tracing.ts';
import type { ProcessorOperation, ProcessorOutcome } from './operations.ts';
import { callFailure, classifyError, type FailedCall, type Refusal } from './refusal.ts';
import { responseAsOf } from './response-as-of.ts';

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
   * The delay before the first retry. It doubles before each of the next two. Half of it is random, so that callers don't retry
   * at the same time.
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
 * Retries while the processor works on another request for the same object or under the same processor key. It takes up to
 * four seconds for one, and these retries about six.
 */
const conflictRetriesMax = 6;
/** Delays double this often. */
const delayDoublingsMax = 2;

/** When to retry if too many calls are in progress: each takes a fraction of a second. */
const overloadedRetryAfterSeconds = 1;

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
 * Every call to the processor goes through these functions, which limit calls in number and time, retry where it is
 * safe, and measure.
 */
export function createCaller(
  metrics: Pick<Metrics, 'processorRequestDuration'>,
  maxInFlight: number,
  limits: CallLimits,
): ProcessorCaller {
  let inFlight = 0;
  const callAs =
    (kind: 'read' | 'write'): Call =>
    async (operation, call) => {
      const startedMs = performance.now();
      const observe = (outcome: ProcessorOutcome) => {
        currentSpan()?.set({ 'till.processor.outcome': outcome });
        metrics.processorRequestDuration.observe(
          { operation, outcome },
          (performance.now() - startedMs) / 1000,
        );
      };
      if (inFlight >= maxInFlight) {
        observe('overloaded');
        throw new Failure('overloaded', 'Too many calls to the processor are in progress. Retry later.', {
          retryAfterSeconds: overloadedRetryAfterSeconds,
          effect: 'none',
        });
      }
      inFlight += 1;
      try {
        const attempt = () => tryUntilDeadline({ kind, operation, ...call }, limits, startedMs, observe);
        return await inSpan(`processor ${operation}`, () => whileWaiting(attempt), { kind: 'client' });
      } finally {
        inFlight -= 1;
      }
    };
  return { read: callAs('read'), write: callAs('write') };
}

/** The same calls, each after `before`. */
export function gateCalls({ read, write }: ProcessorCaller, before: () => Promise<void>): ProcessorCaller {
  const gated =
    (call: Call): Call =>
    async (operation, values) => {
      await before();
      return call(operation, values);
    };
  return { read: gated(read), write: gated(write) };
}

type CallOfKind<T> = ProcessorCall<T> & {
  readonly kind: 'read' | 'write';
  readonly operation: ProcessorOperation;
};

async function tryUntilDeadline<T>(
  call: CallOfKind<T>,
  limits: CallLimits,
  startedMs: number,
  observe: (outcome: ProcessorOutcome) => void,
): Promise<T> {
  const deadlineMs = startedMs + limits.deadlineMs;
  const { idempotencyKey } = call;
  const keyOptions = idempotencyKey === undefined ? {} : { idempotencyKey };
  let maybeDone = false;
  for (let retries = 0; ; retries += 1) {
    const leftMs = deadlineMs - performance.now();
    try {
      const timeout = Math.ceil(Math.max(attemptTimeoutMsMin, Math.min(limits.attemptTimeoutMs, leftMs)));
      const response = await withShortStack(() => call.send({ timeout, ...keyOptions }));
      // Measured from the first attempt, because the processor may respond to a later attempt with its stored response
      // to the first.
      const result = call.take(response, responseAsOf(response, performance.now() - startedMs, Date.now()));
      observe('ok');
      return result;
    } catch (error) {
      const failed = classifyError(error, call.operation);
      maybeDone ||= failed.maybeDone;
      const delayMs = delayBefore(retries, limits);
      const timeLeft = deadlineMs - performance.now() - delayMs > attemptTimeoutMsMin;
      const retriesMax = failed.isConflict ? conflictRetriesMax : limits.retriesMax;
      if (failed.worthRetrying && retries < retriesMax && timeLeft) {
        await wait(delayMs);
        continue;
      }
      return toResultOrThrow(call, failed, maybeDone, error, observe);
    }
  }
}

/**
 * The package formats a stack trace at every call, in case the call fails. All frames would take as long as the rest of
 * its work, and Till shows and logs its own failures. Only the synchronous part of `send` has the short stack.
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
