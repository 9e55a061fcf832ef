import type { Failure, FailureCode } from '../errors.ts';

/** What a creation can be refused with for good: the caller's values, or the state of what it is about. */
const refusals: readonly FailureCode[] = [
  'processor_rejected',
  'payment_not_refundable',
  'refund_exceeds_remaining',
  'refund_in_flight',
  'not_found',
  'plan_archived',
];

/**
 * Whether a claim outlives this failure of a call. A definite refusal frees the key, for a corrected request. After
 * anything else the same request is the one to come again: the processor may have done the work all the same, be it in an
 * earlier try. That holds even where this try surely did nothing, as when our credentials are not accepted any more;
 * but without a key there was no earlier try, and nobody can come back to the claim.
 */
export function keepsClaim({ code, extras: { effect } }: Failure, hasKey: boolean): boolean {
  if (effect === 'unknown') return true;
  if (refusals.includes(code)) return false;
  return hasKey || effect !== 'none';
}
