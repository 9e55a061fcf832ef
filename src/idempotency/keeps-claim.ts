import type { Failure, FailureCode } from '../errors.ts';

const temporary: readonly FailureCode[] = ['processor_unavailable', 'processor_timeout', 'overloaded'];

/**
 * Whether a claim outlives this failure: when the processor may have done the work all the same, or when trying again
 * is all it takes. A definite refusal frees the key for a corrected request.
 */
export function keepsClaim(failure: Failure): boolean {
  return failure.extras.effect === 'unknown' || temporary.includes(failure.code);
}
