import type { ErrorCode } from './error-codes.ts';

/** A mistake in a request. */
export interface Mistake {
  /** Where it is: `body.amount`, `query.page`. */
  readonly path: string;
  readonly message: string;
}

/** The additional fields of errors with some codes. */
interface ErrorFields {
  readonly invalid_request: {
    /** Every mistake in the request. */
    readonly errors: readonly Mistake[];
  };
  readonly payment_declined: {
    /** Why the card was declined, in Stripe's words. Null if it does not say. */
    readonly declineCode: string | null;
  };
  readonly external_id_taken: {
    /** The customer that already has the externalId. */
    readonly customerId: string;
  };
  readonly already_subscribed: {
    /** The subscription that the customer already has. Null while another request is creating it. */
    readonly subscriptionId: string | null;
  };
  readonly checkout_in_progress: {
    /** The open checkout. */
    readonly checkoutId: string;
  };
  readonly checkout_completed: {
    /** What the checkout resulted in. Both are null if it saved a card. */
    readonly subscriptionId: string | null;
    readonly paymentId: string | null;
  };
  readonly processor_rejected: {
    /** Stripe's own error code. Undefined if it gives none. */
    readonly processorCode?: string;
  };
  readonly payment_not_refundable: {
    /** Stripe's own error code, if Stripe refused. */
    readonly processorCode?: string;
  };
}

/** A problem as it arrives: only what is checked has a type. */
export interface Problem {
  readonly code: string;
  readonly status: number;
  readonly [field: string]: unknown;
}

/** The additional fields of a problem. Nothing else is copied: a response must not replace other fields of an error. */
export function fieldsOf({ code, ...problem }: Problem): object {
  const { errors, declineCode, customerId, subscriptionId, paymentId, checkoutId, processorCode } = problem;
  if (code === 'invalid_request') return { errors: Array.isArray(errors) ? errors : [] };
  if (code === 'payment_declined') return { declineCode: declineCode ?? null };
  if (code === 'already_subscribed') return { subscriptionId: subscriptionId ?? null };
  if (code === 'checkout_in_progress') return { checkoutId };
  if (code === 'checkout_completed')
    return { subscriptionId: subscriptionId ?? null, paymentId: paymentId ?? null };
  if (code === 'external_id_taken') return { customerId };
  return processorCode === undefined ? {} : { processorCode };
}

/** The fields that errors of this code have in addition. */
export type ErrorFieldsOf<Code extends ErrorCode> = Code extends keyof ErrorFields
  ? ErrorFields[Code]
  : unknown;
