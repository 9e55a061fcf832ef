import type { Failure, FailureCode } from '../errors.ts';

/** What a creation can be refused with for good: the caller's values, or the state of what it is about. */
const refusals: readonly FailureCode[] = [
  'processor_rejected',
  'not_found',
  'payment_not_refundable',
  'refund_exceeds_remaining',
];

/**
 * Whether a claim outlives this failure of a call. Only a definite refusal frees the key, for a corrected request. After
 * anything else the same request is the one to come again: the processor may have done the work all the same, be it in an
 * earlier try. That holds even where this try surely did nothing, as when our credentials are not accepted any more.
 */
export function keepsClaim(failure: Failure): boolean {
  return failure.extras.effect === 'unknown' || !refusals.includes(failure.code);
}
