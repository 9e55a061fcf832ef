import { setTimeout as wait } from 'node:timers/promises';
import type { Stripe } from 'stripe';
import { Failure } from '../../../errors.ts';
import type { AsOf } from '../../../mirrors/facts.ts';
import type { Metrics } from '../../../platform/metrics.ts';
import type { ProcessorOperation, ProcessorOutcome } from '../../processor.ts';
import { answerTime } from './answer-time.ts';
import { callFailure, classifyError, type FailedCall, type Refusal } from './refusal.ts';

export interface CallLimits {
  /** Within this a call has ended, retries and all: the request behind it lives for 30 s and has other things to do. */
  readonly deadlineMs: number;
  /** One try. Long enough for the processor's slowest honest answers, short enough to leave time for a second try. */
  readonly tryTimeoutMs: number;
  /** After the first try. More would only add to the load of a processor that is down. */
  readonly retriesMax: number;
  /** Before the first retry, doubled before the second. Half of it is jitter: callers must not come back in step. */
  readonly retryDelayMs: number;
}

export const callLimits: CallLimits = {
  deadlineMs: 10_000,
  tryTimeoutMs: 6_000,
  retriesMax: 2,
  retryDelayMs: 400,
};

/** With less left than this a further try could only time out. */
const tryTimeoutMsMin = 20;

/** When to come back if too many calls are under way: they take a fraction of a second each. */
const overloadedRetryAfterSeconds = 1;

interface Call<T> {
  /** A read can have no effect, so its failure never leaves one unknown. */
  readonly kind: 'read' | 'write';
  readonly send: (options: Stripe.RequestOptions) => Promise<unknown>;
  /** From the answer, and when it was true, to the result; throws `UnmappableError` if it is not what was asked for. */
  readonly take: (answer: unknown, asOf: AsOf) => T;
  /** The result for a refusal that the caller can act upon; undefined makes it a failure. */
  readonly refused?: (refusal: Refusal) => T | undefined;
}

export type Caller = <T>(operation: ProcessorOperation, call: Call<T>) => Promise<T>;

/** Every call to the processor goes through here: bounded in number and time, retried where safe, and measured. */
export function createCaller(
  metrics: Pick<Metrics, 'processorRequestDuration'>,
  maxInFlight: number,
  limits: CallLimits,
): Caller {
  let inFlight = 0;
  return async (operation, call) => {
    const startedMs = performance.now();
    const observe = (outcome: ProcessorOutcome) =>
      metrics.processorRequestDuration.observe(
        { operation, outcome },
        (performance.now() - startedMs) / 1000,
      );
    if (inFlight >= maxInFlight) {
      observe('overloaded');
      throw new Failure('overloaded', 'Too many calls to the processor are in progress. Retry later.', {
        retryAfterSeconds: overloadedRetryAfterSeconds,
        effect: 'none',
      });
    }
    inFlight += 1;
    try {
      return await tryUntilDeadline(call, limits, startedMs, observe);
    } finally {
      inFlight -= 1;
    }
  };
}

async function tryUntilDeadline<T>(
  call: Call<T>,
  limits: CallLimits,
  startedMs: number,
  observe: (outcome: ProcessorOutcome) => void,
): Promise<T> {
  const deadlineMs = startedMs + limits.deadlineMs;
  let maybeDone = false;
  for (let retries = 0; ; retries += 1) {
    const leftMs = deadlineMs - performance.now();
    try {
      const timeout = Math.ceil(Math.max(tryTimeoutMsMin, Math.min(limits.tryTimeoutMs, leftMs)));
      const answer = await call.send({ timeout });
      // From the first try on: what answers a later one may be the processor's record of the first.
      const result = call.take(answer, answerTime(answer, performance.now() - startedMs, Date.now()));
      observe('ok');
      return result;
    } catch (error) {
      const failed = classifyError(error);
      maybeDone ||= failed.maybeDone;
      const delayMs = delayBefore(retries, limits);
      const timeLeft = deadlineMs - performance.now() - delayMs > tryTimeoutMsMin;
      if (failed.worthRetrying && retries < limits.retriesMax && timeLeft) {
        await wait(delayMs);
        continue;
      }
      return conclude(call, failed, maybeDone, error, observe);
    }
  }
}

function conclude<T>(
  call: Call<T>,
  failed: FailedCall,
  maybeDone: boolean,
  error: unknown,
  observe: (outcome: ProcessorOutcome) => void,
): T {
  const result = failed.refusal && call.refused?.(failed.refusal);
  if (result !== undefined) {
    observe('refused');
    return result;
  }
  observe(failed.outcome);
  throw callFailure(failed, call.kind === 'write' && maybeDone ? 'unknown' : 'none', error);
}

function delayBefore(retry: number, limits: CallLimits): number {
  return limits.retryDelayMs * 2 ** retry * (1 - Math.random() / 2);
}
