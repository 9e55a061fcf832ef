import type { errorCatalogue } from './error-catalogue.ts';
import type { ProblemFields } from './problem-fields.ts';

/**
 * The code of an expected failure. Any other error is a defect: its cause is logged, and the caller sees only a request
 * id.
 */
export type FailureCode = keyof typeof errorCatalogue;

interface FailureExtras extends ProblemFields {
  readonly retryAfterSeconds?: number;
  /** The allowed methods, for `method_not_allowed`. */
  readonly allow?: readonly string[];
  /** Whether an earlier request with the same idempotency key had this failure. */
  readonly isReplay?: true;
  /** The parameter that the processor rejected, in its own spelling: `customer`, `items[0][price]`. */
  readonly processorParam?: string;
  /**
   * Whether a failed call to the processor may have taken effect. With `unknown` the claim is kept, so that the same
   * request can resume it; with `none` it may be released.
   */
  readonly effect?: 'none' | 'unknown';
  /**
   * The processor has stored a response, or a different request, under the processor key of the call, so it repeats
   * this failure for a day. To continue, look up the object first, then use another processor key.
   */
  readonly replayed?: boolean;
  /** Only this object is blocked at the processor. The same call for another object may succeed. */
  readonly isOfObject?: true;
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

/** A request with one mistake: what is wrong with the value at a path, such as `body.amount`. */
export function invalidRequest(path: string, message: string, advice = ''): Failure {
  return new Failure('invalid_request', `${path} ${message}${advice}`, { errors: [{ path, message }] });
}

/** No object of this kind has the id that a request names. */
export function notFound(noun: string): Failure {
  return new Failure('not_found', `No ${noun} has this id. Check the id.`);
}

/** The object that a request names by its id. Fails if there is none. */
export function requireFound<Found>(noun: string, found: Found | undefined): Found {
  if (found === undefined) throw notFound(noun);
  return found;
}

/** Whether the processor rejected the request, and no earlier attempt can have taken effect either. */
export function isDefiniteRefusal(error: unknown): error is Failure {
  return error instanceof Failure && error.code === 'processor_rejected' && error.extras.effect !== 'unknown';
}

/** Whether the processor refused a change, so that it has no effect: its values, or one more change at this time. */
export function isRefusedChange(error: unknown): boolean {
  if (isDefiniteRefusal(error)) return true;
  return (
    error instanceof Failure &&
    error.code === 'subscription_limit_reached' &&
    error.extras.effect !== 'unknown'
  );
}

/**
 * Whether the processor may still carry out the failed call. A complete response, even an invalid one, has ended it.
 */
export function mayBeInProgress(error: unknown): boolean {
  return (
    error instanceof Failure && error.extras.effect === 'unknown' && error.code !== 'processor_bad_answer'
  );
}

/** The processor has stored another response under this processor key, and repeats it for a day. */
export function isKeyUsedUp(error: unknown): boolean {
  return error instanceof Failure && error.extras.replayed === true;
}

/** Failures that do not depend on the requested object: the next object would fail too. */
const outages: readonly FailureCode[] = [
  'processor_unavailable',
  'processor_timeout',
  'processor_misconfigured',
  'overloaded',
  'database_unavailable',
];

export function isOutageOfAll(error: unknown): boolean {
  return error instanceof Failure && outages.includes(error.code) && error.extras.isOfObject !== true;
}
