import { Failure, type FailureCode } from '#core/errors.ts';
import { type RateLimit, rateLimitReasons } from '../../pacing/limits.ts';
import { UnmappableError } from '../../port/event-facts.ts';
import { HttpClientError } from './http-client.ts';
import type { ProcessorOperation, ProcessorOutcome } from './operations.ts';
import { Stripe } from './stripe-package.ts';
import { redactText } from './wire-object.ts';

/** The processor's response to a call that it did not carry out. */
export interface Refusal {
  readonly status: number;
  readonly code: string | null;
  readonly param: string | null;
  readonly message: string;
  /** Why the card was declined. */
  readonly declineCode: string | null;
  /** The payment intent of a failed charge, which exists although the call was refused. */
  readonly paymentIntentId?: string;
}

/** The meaning of a failed attempt. */
export interface FailedCall {
  readonly outcome: ProcessorOutcome;
  readonly code: FailureCode;
  readonly detail: string;
  /** Whether the same call, under the same processor key, may succeed a moment later. */
  readonly worthRetrying: boolean;
  /** Whether the call may have taken effect. */
  readonly maybeDone: boolean;
  /** Another request blocks the object for a while, so more attempts are worthwhile. */
  readonly isConflict?: true;
  /** Only this object is blocked. */
  readonly isOfObject?: true;
  readonly retryAfterSeconds?: number;
  readonly replayed?: boolean;
  /** Set if the processor understood the call and refused it. */
  readonly refusal?: Refusal;
}

/** When to retry if the processor does not say: long enough for a short fault to pass, short enough for a person. */
const retryAfterSecondsDefault = 2;
/** When to retry if the object itself is limited. The shortest of these limits counts the changes of a minute. */
const retryAfterSecondsOfLimit = 60;
/** The longest delay that is passed on to callers. After a longer one they would retry too late. */
const retryAfterSecondsMax = 300;
/** Enough for the processor's longest messages. */
const messageLengthMax = 500;

/** An idempotency key makes the retry safe. Requests without one, such as cancellations, are safe to repeat. */
const retrySafely = 'Retry later, with the same idempotency key if you sent one.';

const noReason =
  "The processor gave no reason. Check the values of the request, and the processor's own log.";

/** The codes for an object, or an upcoming invoice, that does not exist. An unknown path has no code. */
const codesOfMissing: readonly (string | undefined)[] = ['resource_missing', 'invoice_upcoming_none'];

/** Changes of one subscription. The processor limits how many invoices they create, and how often quantities change. */
const changesOfSubscription: readonly ProcessorOperation[] = [
  'subscriptions.update',
  'subscriptions.resume',
  'subscription_schedules.create',
  'subscription_schedules.update',
];

/** Decides what an error of a call means. This is the only place that does. */
export function classifyError(error: unknown, operation: ProcessorOperation): FailedCall {
  if (error instanceof UnmappableError) return invalidResponse(error.message);
  // The package throws plain errors when it cannot parse a field of a response.
  if (!(error instanceof Stripe.errors.StripeError)) return invalidResponse('it cannot be parsed');
  if (error instanceof Stripe.errors.StripeConnectionError) return classifyHttpError(error);
  const status = error.statusCode ?? 0;
  if (status === 401 || status === 403) {
    return {
      outcome: 'misconfigured',
      code: 'processor_misconfigured',
      detail: `The processor rejected PROCESSOR_SECRET_KEY (status ${status}). Check the key and its permissions.`,
      worthRetrying: false,
      maybeDone: false,
    };
  }
  if (status === 429 || error.code === 'rate_limit') return limited(error, operation);
  // Another call with this processor key is in progress, or an object that it needs is locked.
  if (status === 409) {
    return unavailable(error, {
      detail: `The processor is still working on an earlier request. ${retrySafely}`,
      maybeDone: true,
      isConflict: true,
    });
  }
  // 424: a dependency of the processor failed.
  if (status >= 500 || status === 424) {
    return unavailable(error, {
      detail: `The processor failed (status ${status}). ${retrySafely}`,
      maybeDone: true,
    });
  }
  if (error instanceof Stripe.errors.StripeIdempotencyError) {
    // Only Till uses the processor key, so an earlier call of Till has used it: for the same request, whose claim is
    // lost, or for a request that was refused. Till can look up what that call created. It cannot use the processor key
    // again.
    return { ...invalidResponse('it has another request under the same idempotency key'), replayed: true };
  }
  if (status === 404 && !codesOfMissing.includes(error.code)) {
    return { ...invalidResponse('PROCESSOR_API_BASE has no such endpoint'), maybeDone: false };
  }
  if (![400, 402, 404].includes(status)) return invalidResponse(`its status is ${status}`);
  return rejected(error, status);
}

/** The failure that a caller sees. A read has no effect. The effect of a write depends on every attempt. */
export function callFailure(failed: FailedCall, effect: 'none' | 'unknown', cause: unknown): Failure {
  return new Failure(failed.code, failed.detail, {
    effect,
    cause: withoutRequest(cause),
    ...(failed.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: failed.retryAfterSeconds }),
    ...(failed.replayed === undefined ? {} : { replayed: failed.replayed }),
    ...(failed.isOfObject === undefined ? {} : { isOfObject: failed.isOfObject }),
    ...(failed.refusal?.code == null ? {} : { processorCode: failed.refusal.code }),
    ...(failed.refusal?.param == null ? {} : { processorParam: failed.refusal.param }),
  });
}

function classifyHttpError(error: InstanceType<typeof Stripe.errors.StripeConnectionError>): FailedCall {
  // The error of Till's HTTP client. The package stores it here and types it as a string.
  const httpError: unknown = error.detail;
  if (!(httpError instanceof HttpClientError))
    return invalidResponse('the connection failed for an unknown reason');
  const { fault, status, message } = httpError;
  if (fault === 'timeout') {
    return {
      outcome: 'timeout',
      code: 'processor_timeout',
      detail: `The processor did not respond in time. ${retrySafely}`,
      worthRetrying: true,
      maybeDone: true,
      retryAfterSeconds: retryAfterSecondsDefault,
    };
  }
  // A gateway sends its own response when the server behind it is down.
  const down = status !== null && (status >= 500 || status === 429);
  if (fault === 'invalidResponse' && !down) return invalidResponse(message);
  return {
    outcome: 'unavailable',
    code: 'processor_unavailable',
    detail: `The processor is unavailable: ${message}. ${retrySafely}`,
    worthRetrying: true,
    maybeDone: fault !== 'unreachable',
    retryAfterSeconds: retryAfterSecondsDefault,
  };
}

type StripeError = InstanceType<typeof Stripe.errors.StripeError>;

/** A 429: too many requests, too many changes of one object, or an object that is locked. None has an effect. */
function limited(error: StripeError, operation: ProcessorOperation): FailedCall {
  const isOfObject = true;
  if (error.code === 'lock_timeout')
    return unavailable(error, {
      ...{ isConflict: true, isOfObject, maybeDone: false },
      detail: `The processor is writing this object for another request. ${retrySafely}`,
    });
  // The processor documents this reason, and no code, for the limits of single objects.
  if (header(error, 'stripe-rate-limited-reason') !== 'resource-specific')
    return unavailable(error, {
      maybeDone: false,
      detail: 'The processor limits the rate of requests. Retry later.',
    });
  if (changesOfSubscription.includes(operation)) return subscriptionLimitReached;
  return {
    ...unavailable(error, {
      ...{ isOfObject, maybeDone: false },
      detail: 'The processor limits how often this object changes. Retry later.',
    }),
    // No delay within the deadline is long enough.
    worthRetrying: false,
    retryAfterSeconds: Math.max(retryAfterSecondsOfLimit, retryAfterOf(error)),
  };
}

const subscriptionLimitReached: FailedCall = {
  outcome: 'rejected',
  code: 'subscription_limit_reached',
  detail:
    'The processor limits one subscription to 10 new invoices a minute, 20 a day, and 200 changes of its quantity an ' +
    'hour. Nothing was charged. Bill several changes together: send `proration` as `nextInvoice`, or repeat this ' +
    'request later.',
  worthRetrying: false,
  maybeDone: false,
};

type Unavailable = Pick<FailedCall, 'detail' | 'isConflict' | 'isOfObject' | 'maybeDone'>;

function unavailable(error: StripeError, what: Unavailable): FailedCall {
  // The processor repeats a stored failure for a day, word for word. A failure that it marks as final has the same
  // effect.
  const replayed = header(error, 'idempotent-replayed') === 'true';
  return {
    ...what,
    outcome: 'unavailable',
    code: 'processor_unavailable',
    worthRetrying: !replayed && header(error, 'stripe-should-retry') !== 'false',
    replayed,
    retryAfterSeconds: retryAfterOf(error),
  };
}

function invalidResponse(reason: string): FailedCall {
  return {
    outcome: 'bad_answer',
    code: 'processor_bad_answer',
    detail: `The processor sent an invalid response: ${reason}. ${retrySafely}`,
    worthRetrying: false,
    maybeDone: true,
  };
}

function rejected(error: StripeError, status: number): FailedCall {
  const message = messageOf(error) || noReason;
  // The package types it as an object, but passes on any value from the wire.
  const { payment_intent: intent } = error as { readonly payment_intent?: { readonly id?: unknown } | null };
  const paymentIntentId =
    status === 402 && typeof intent?.id === 'string' ? { paymentIntentId: intent.id } : {};
  return {
    outcome: 'rejected',
    code: 'processor_rejected',
    detail: message,
    worthRetrying: header(error, 'stripe-should-retry') === 'true',
    maybeDone: false,
    replayed: header(error, 'idempotent-replayed') === 'true',
    refusal: {
      status,
      code: textOrNull(error.code),
      param: textOrNull(error.param),
      message,
      declineCode: textOrNull(error.decline_code),
      ...paymentIntentId,
    },
  };
}

/** The package passes on a value of any type from the wire. */
function messageOf(error: StripeError): string {
  return redactText(textOrNull(error.message) ?? '').slice(0, messageLengthMax);
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function retryAfterOf(error: StripeError): number {
  const seconds = Number(header(error, 'retry-after'));
  if (!Number.isInteger(seconds) || seconds < 1) return retryAfterSecondsDefault;
  return Math.min(seconds, retryAfterSecondsMax);
}

function header(error: StripeError, name: string): string | undefined {
  return error.headers?.[name];
}

/** The package attaches whole requests, responses and headers to its errors. A log must never contain them. */
function withoutRequest(cause: unknown): Error {
  if (!(cause instanceof Stripe.errors.StripeError))
    return cause instanceof Error ? cause : new Error(String(cause));
  // The processor's support asks for its request id.
  const request = cause.requestId ? ` (${cause.requestId})` : '';
  const kept = new Error(`${messageOf(cause)}${request}`);
  kept.name = cause.type;
  const httpError: unknown = cause.detail;
  if (httpError instanceof HttpClientError) kept.cause = httpError;
  return kept;
}

/** The limit that the processor names if it refuses a call. Undefined for any other error, and if it names none. */
export function rateLimitOf(error: unknown): RateLimit | undefined {
  if (!(error instanceof Stripe.errors.StripeError) || error.statusCode !== 429) return undefined;
  if (error.code === 'lock_timeout') return undefined;
  const named = error.headers?.['stripe-rate-limited-reason'];
  const reason = rateLimitReasons.find((known) => known === named);
  if (reason === undefined) return undefined;
  const seconds = Number(error.headers?.['retry-after']);
  return {
    reason,
    retryAfterMs: seconds > 0 && seconds < Number.POSITIVE_INFINITY ? seconds * 1_000 : undefined,
  };
}
