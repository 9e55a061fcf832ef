/** A mistake in a request. */
export interface Mistake {
  /** Where it is: `body.amount`, `query.page`. */
  readonly path: string;
  readonly message: string;
}

/** What errors of some codes have in addition to what all errors have. */
interface ErrorFields {
  readonly invalid_request: {
    /** Every mistake in the request. */
    readonly errors: readonly Mistake[];
  };
  readonly payment_declined: {
    /** Why the card was declined, in the processor's words. Null if it does not say. */
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
  readonly processor_rejected: {
    /** The processor's own error code. Undefined if it gives none. */
    readonly processorCode?: string;
  };
  readonly payment_not_refundable: {
    /** The processor's own error code, if the processor refused. */
    readonly processorCode?: string;
  };
}

/** A problem as it arrives: only what is checked has a type. */
export interface Problem {
  readonly code: string;
  readonly status: number;
  readonly [field: string]: unknown;
}

/** What a problem says in addition. Nothing else is copied: a response must not replace other fields of an error. */
export function fieldsOf({ code, ...problem }: Problem): object {
  const { errors, declineCode, customerId, subscriptionId, processorCode } = problem;
  if (code === 'invalid_request') return { errors: Array.isArray(errors) ? errors : [] };
  if (code === 'payment_declined') return { declineCode: declineCode ?? null };
  if (code === 'already_subscribed') return { subscriptionId: subscriptionId ?? null };
  if (code === 'external_id_taken') return { customerId };
  return processorCode === undefined ? {} : { processorCode };
}

/** The fields that errors of this code have in addition. */
export type ErrorFieldsOf<Code extends ErrorCode> = Code extends keyof ErrorFields
  ? ErrorFields[Code]
  : unknown;

/** Every code of Till's errors. A code never changes its meaning. A later release of Till can add some. */
export type ErrorCode =
  | 'invalid_request'
  | 'malformed_request'
  | 'invalid_signature'
  | 'unauthorized'
  | 'forbidden'
  | 'payment_declined'
  | 'authentication_required'
  | 'not_found'
  | 'method_not_allowed'
  | 'idempotency_key_in_flight'
  | 'external_id_taken'
  | 'customer_deleted'
  | 'plan_archived'
  | 'already_subscribed'
  | 'nothing_to_pay'
  | 'too_many_event_endpoints'
  | 'too_many_event_secrets'
  | 'currency_mismatch'
  | 'subscription_ended'
  | 'subscription_incomplete'
  | 'subscription_ending'
  | 'payment_due'
  | 'subscription_busy'
  | 'concurrent_change'
  | 'payment_not_cancelable'
  | 'payment_not_capturable'
  | 'capture_exceeds_authorized'
  | 'payment_not_refundable'
  | 'payment_method_in_use'
  | 'refund_in_flight'
  | 'too_many_api_keys'
  | 'refund_exceeds_remaining'
  | 'resync_running'
  | 'event_expired'
  | 'request_timeout'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'headers_too_large'
  | 'processor_rejected'
  | 'promotion_code_invalid'
  | 'idempotency_key_reused'
  | 'rate_limited'
  | 'internal_error'
  | 'processor_misconfigured'
  | 'processor_object_missing'
  | 'processor_bad_answer'
  | 'processor_unavailable'
  | 'processor_timeout'
  | 'database_unavailable'
  | 'overloaded';
