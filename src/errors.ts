/**
 * The catalogue of expected failures. A code is part of the API and never changes its meaning; the text is the
 * problem's title. Any other error is a defect: it is logged with its cause, and the caller sees only a request id.
 */
export const failureTitles = {
  invalid_request: 'Invalid request',
  malformed_request: 'Malformed request',
  invalid_signature: 'Invalid signature',
  unauthorized: 'Missing or invalid API key',
  forbidden: 'API key without the needed scope',
  payment_declined: 'Payment declined',
  authentication_required: 'Authentication required',
  not_found: 'Not found',
  method_not_allowed: 'Method not allowed',
  idempotency_key_in_flight: 'Idempotency key in use',
  external_id_taken: 'External id taken',
  customer_deleted: 'Customer deleted',
  plan_archived: 'Plan archived',
  already_subscribed: 'Already subscribed',
  nothing_to_pay: 'Nothing to pay',
  too_many_event_endpoints: 'Too many event endpoints',
  too_many_event_secrets: 'Too many valid secrets',
  currency_mismatch: 'Currency differs',
  subscription_ended: 'Subscription ended',
  subscription_incomplete: 'Subscription incomplete',
  subscription_ending: 'Subscription about to end',
  payment_due: 'Payment due',
  subscription_busy: 'Subscription busy',
  concurrent_change: 'Changed elsewhere',
  payment_not_cancelable: 'Payment not cancelable',
  payment_not_capturable: 'Payment not capturable',
  capture_exceeds_authorized: 'Capture exceeds the authorised amount',
  payment_not_refundable: 'Payment not refundable',
  payment_method_in_use: 'Payment method in use',
  refund_in_flight: 'Refund in progress',
  too_many_api_keys: 'Too many API keys',
  refund_exceeds_remaining: 'Refund exceeds the remaining amount',
  resync_running: 'Resync in progress',
  event_expired: 'Event expired',
  request_timeout: 'Request timeout',
  payload_too_large: 'Request body too large',
  unsupported_media_type: 'Unsupported media type',
  headers_too_large: 'Request headers too large',
  processor_rejected: 'Request rejected by the processor',
  promotion_code_invalid: 'Promotion code not valid',
  idempotency_key_reused: 'Idempotency key used for a different request',
  rate_limited: 'Too many requests',
  internal_error: 'Internal error',
  processor_misconfigured: 'Invalid processor credentials',
  processor_object_missing: 'Object not found at the processor',
  processor_bad_answer: 'Invalid response from the processor',
  processor_unavailable: 'Processor unavailable',
  processor_timeout: 'Processor timeout',
  database_unavailable: 'Database unavailable',
  overloaded: 'Service overloaded',
} as const;

export type FailureCode = keyof typeof failureTitles;

export interface Mistake {
  /** The path of the mistake: `body.amount`, `query.page`, `header.idempotency-key`. */
  readonly path: string;
  readonly message: string;
}

interface FailureExtras {
  /** Every mistake of an invalid request. */
  readonly errors?: readonly Mistake[];
  readonly retryAfterSeconds?: number;
  /** The allowed methods, for a method that is not. */
  readonly allow?: readonly string[];
  /** The customer that the problem is about, if the request does not name it. */
  readonly customerId?: string;
  /** Why the card was declined, in the processor's words. Null if it does not say. */
  readonly declineCode?: string | null;
  /** An earlier request with the same idempotency key failed with this. */
  readonly isReplay?: true;
  /** The subscription that the problem is about, if the request does not name it. Null if it is not known yet. */
  readonly subscriptionId?: string | null;
  /** The processor's error code, when it rejected the caller's values. */
  readonly processorCode?: string;
  /** The parameter that the processor rejected, in its own spelling: `customer`, `items[0][price]`. */
  readonly processorParam?: string;
  /**
   * Whether a failed call to the processor may have taken effect. With `unknown` the claim is kept, so that the same
   * request can resume it; with `none` it may be released.
   */
  readonly effect?: 'none' | 'unknown';
  /**
   * The processor has another response, or another request, stored under the call's idempotency key and repeats this
   * failure for a day. Continuing requires a lookup first, then another key.
   */
  readonly replayed?: boolean;
  readonly cause?: unknown;
}

/** An expected failure. The caller sees `detail`, so it must say what to change and contain no secret. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly code: FailureCode;
  readonly extras: FailureExtras;

  constructor(code: FailureCode, detail: string, extras: FailureExtras = {}) {
    super(detail, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.code = code;
    this.extras = extras;
  }
}

/** Whether the processor rejected the request, and no earlier attempt can have taken effect either. */
export function isDefiniteRefusal(error: unknown): error is Failure {
  return error instanceof Failure && error.code === 'processor_rejected' && error.extras.effect !== 'unknown';
}

/** Whether the processor may still carry out the failed call. A complete response, even an invalid one, has ended it. */
export function mayBeInProgress(error: unknown): boolean {
  return (
    error instanceof Failure && error.extras.effect === 'unknown' && error.code !== 'processor_bad_answer'
  );
}

/** Failures that say nothing about the requested object: the next object would fail too. */
const outages: readonly FailureCode[] = [
  'processor_unavailable',
  'processor_timeout',
  'processor_misconfigured',
  'overloaded',
  'database_unavailable',
];

export function isOutageOfAll(error: unknown): boolean {
  return error instanceof Failure && outages.includes(error.code);
}
