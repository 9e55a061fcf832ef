import { Failure, type FailureCode } from '../errors.ts';
import type { Resource } from '../model/facts.ts';
import type { Attempt, Refused } from './port/processor.ts';

/** The mirrored objects, and those that Till only passes through. */
type ProcessorObject = Resource | 'payment method' | 'setup intent';

/**
 * The processor does not know an object that Till has a row for. That is never a deletion: most likely the key belongs
 * to another account, so the row must stay as it is.
 */
export function objectMissing(resource: ProcessorObject): Failure {
  return new Failure(
    'processor_object_missing',
    `The processor has no such ${resource}, and Till changed nothing. ` +
      'Check that PROCESSOR_SECRET_KEY belongs to the account and mode that created it.',
    { effect: 'none' },
  );
}

/** The failure for a write after which the object, read again, is not in the requested state. */
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

/** The processor repeats what an earlier request with the key has done, and what was undone since. */
export function keyUsedUp(): Failure {
  return new Failure(
    'processor_bad_answer',
    'The processor repeats its response to an earlier request. Retry later, with the same idempotency key.',
    { effect: 'unknown', replayed: true },
  );
}

/** The failure for a refund of a payment that, read again, has enough left to refund. */
export function notRefunded(refused: Refused): Failure {
  // The processor checks a state that the mirror does not hold, such as a dispute.
  const isAboutState = refused.outcome === 'wrong_state';
  return passOn(isAboutState ? 'payment_not_refundable' : 'processor_rejected', refused);
}

function passOn(code: FailureCode, { message, processorCode }: Refused): Failure {
  return new Failure(code, message, {
    effect: 'none',
    ...(processorCode === null ? {} : { processorCode }),
  });
}
