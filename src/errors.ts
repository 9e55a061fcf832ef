/**
 * The catalogue of expected failures. A code is part of the API and never changes its meaning; the text is the
 * problem's title. What is not in here must not happen: it is logged with its cause, and the caller learns
 * nothing but a request id.
 */
export const failureTitles = {
  invalid_request: 'The request is not valid',
  malformed_request: 'The request cannot be read',
  invalid_signature: 'The signature is not valid',
  unauthorized: 'A valid API key is required',
  not_found: 'There is nothing here',
  method_not_allowed: 'This method is not allowed here',
  idempotency_key_in_flight: 'A request with this idempotency key is still running',
  plan_archived: 'The plan is archived',
  payment_not_cancelable: 'The payment can no longer be canceled',
  payment_not_refundable: 'The payment cannot be refunded',
  refund_in_flight: 'Another refund of the payment is under way',
  refund_exceeds_remaining: 'More than what is left of the payment',
  request_timeout: 'The request took too long to arrive',
  payload_too_large: 'The body is too large',
  unsupported_media_type: 'The body must be JSON',
  headers_too_large: 'The headers are too large',
  processor_rejected: 'The processor rejected the request',
  idempotency_key_reused: 'The idempotency key belongs to another request',
  rate_limited: 'Too many requests',
  internal_error: 'Something went wrong on our side',
  processor_misconfigured: 'The processor does not accept our credentials',
  processor_object_missing: 'Object unknown to the processor',
  processor_bad_answer: 'The processor gave an answer that makes no sense',
  processor_unavailable: 'The processor cannot be reached',
  processor_timeout: 'The processor did not answer in time',
  database_unavailable: 'The database cannot be reached',
  overloaded: 'The service is overloaded',
} as const;

export type FailureCode = keyof typeof failureTitles;

export interface Mistake {
  /** Where the mistake is: `body.amount`, `query.page`, `header.idempotency-key`. */
  readonly path: string;
  readonly message: string;
}

interface FailureExtras {
  /** Every mistake of a request that is not valid. */
  readonly errors?: readonly Mistake[];
  readonly retryAfterSeconds?: number;
  /** The methods that are allowed instead. */
  readonly allow?: readonly string[];
  /** The processor's own code, when it rejected the caller's values. */
  readonly processorCode?: string;
  /** The parameter that the processor rejected, in its own spelling: `customer`, `items[0][price]`. */
  readonly processorParam?: string;
  /**
   * Whether a call to the processor that failed may have had its effect all the same. With `unknown` a claim is kept,
   * so that the same request can resume it; with `none` it may be released.
   */
  readonly effect?: 'none' | 'unknown';
  /**
   * The processor remembers another answer, or another request, under the call's idempotency key and will repeat this
   * failure for a day: going on takes a look-up first, then another key.
   */
  readonly replayed?: boolean;
  readonly cause?: unknown;
}

/** An expected failure: the caller is told `detail`, so it must say what to change and hold no secret. */
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

/** Whether the processor refused the request, and surely did nothing of it in an earlier try either. */
export function isDefiniteRefusal(error: unknown): error is Failure {
  return error instanceof Failure && error.code === 'processor_rejected' && error.extras.effect !== 'unknown';
}

/** Failures that say nothing about the object that was asked for: the next one would fail too. */
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
