import { Failure, type FailureCode } from '#core/errors.ts';
import type { Resource } from '#core/model/facts.ts';

/**
 * The result of a change. `wrong_state`: the processor's object is in another state than the mirror, and nothing was
 * done. Read the object, correct the mirror, then respond. `missing`: the processor does not know the object. That
 * alone proves nothing, because a secret key of another account gets the same response. Read the object.
 */
export type Attempt<T> = Done<T> | Refused;

interface Done<T> {
  readonly outcome: 'done';
  readonly value: T;
  /** The processor repeats its response to an earlier call with the same processor key. It may be stale. */
  readonly isReplayed?: true;
}

/** The processor's refusal, in its own words. */
export interface Refused {
  readonly outcome: 'wrong_state' | 'missing';
  readonly processorCode: string | null;
  readonly message: string;
}

/** The mirrored objects, and those that Till only passes through. */
type ProcessorObject = Resource | 'payment method' | 'setup intent';

/**
 * The processor does not know an object that Till has a row for. That is never a deletion: most likely the secret key
 * belongs to another account, so the row must stay as it is.
 */
export function objectMissing(resource: ProcessorObject): Failure {
  return new Failure(
    'processor_object_missing',
    `The processor has no such ${resource}, and Till changed nothing. ` +
      'Check that PROCESSOR_SECRET_KEY belongs to the account and mode that created it.',
    { effect: 'none' },
  );
}

/** The failure for a write, if a new read shows that the object is not in the requested state. */
export function notReached(attempt: Attempt<unknown>, resource: ProcessorObject, state: string): Failure {
  if (attempt.outcome === 'done') {
    return new Failure(
      'processor_bad_answer',
      `The processor accepted the request, but the ${resource} is ${state}. Retry later.`,
      { effect: 'unknown' },
    );
  }
  return passOn('processor_rejected', attempt);
}

/** The failure for a refused refund, if a new read shows that the remaining amount is sufficient. */
export function notRefunded(refused: Refused): Failure {
  // The processor checks a state that the mirror does not contain, such as a dispute.
  const isAboutState = refused.outcome === 'wrong_state';
  return passOn(isAboutState ? 'payment_not_refundable' : 'processor_rejected', refused);
}

function passOn(code: FailureCode, { message, processorCode }: Refused): Failure {
  return new Failure(code, message, {
    effect: 'none',
    ...(processorCode === null ? {} : { processorCode }),
  });
}

/** The subscription was changed outside Till between the calls of this request. */
export function concurrentChange(): Failure {
  return new Failure(
    'concurrent_change',
    'The subscription was changed outside Till at the same time. Repeat this request.',
  );
}
