import type { ErrorCode } from './error-codes.ts';
import { type ErrorFieldsOf, fieldsOf, type Problem } from './error-fields.ts';

/** What an error says about the call that failed. No field has the API key. */
export interface CallFacts {
  readonly method: string;
  /** The path with the names of its values: `/api/v1/payments/{id}`. Ids and filters are left out. */
  readonly path: string;
  /**
   * The idempotency key of a POST or PATCH. If it is unknown whether the call took effect, repeat the call with this
   * key: it creates nothing twice.
   */
  readonly idempotencyKey: string | undefined;
  /** How often the request was sent. */
  readonly attempts: number;
}

/** A code that this version of the client does not know. */
type LaterCode = string & Record<never, never>;

/** Till refused the request, or could not carry it out. `code` says why; `isTillError` checks for codes. */
export class TillError<Code extends string = ErrorCode | LaterCode> extends Error implements CallFacts {
  override readonly name: string = 'TillError';
  readonly code: Code;
  /** The HTTP status. */
  readonly status: number;
  /** The kind of error in a few words: `Not found`. */
  readonly title: string;
  /** What went wrong in this request, and what to do next. */
  readonly detail: string;
  /** Names the request in Till's log. */
  readonly requestId: string | undefined;
  /** How long Till asks to wait before a retry. */
  readonly retryAfterSeconds: number | undefined;
  /** True if an earlier request with the same idempotency key had this result. */
  readonly isReplay: boolean;
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | undefined;
  readonly attempts: number;

  constructor(
    problem: Problem,
    call: CallFacts & { readonly retryAfterSeconds: number | undefined; readonly isReplay: boolean },
  ) {
    const { code, status, requestId } = problem;
    const title = typeof problem['title'] === 'string' ? problem['title'] : code;
    const detail = typeof problem['detail'] === 'string' ? problem['detail'] : title;
    super(`${call.method} ${call.path}: ${detail} (${code}, status ${status})`);
    Object.assign(this, fieldsOf(problem));
    // Only `isTillError` narrows the type to some codes, and it checks them.
    this.code = code as Code;
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.requestId = typeof requestId === 'string' ? requestId : undefined;
    this.retryAfterSeconds = call.retryAfterSeconds;
    this.isReplay = call.isReplay;
    this.method = call.method;
    this.path = call.path;
    this.idempotencyKey = call.idempotencyKey;
    this.attempts = call.attempts;
  }
}

/**
 * A Till error of one code, with the fields that this code has: `TillErrorOf<'payment_declined'>` has `declineCode`.
 */
export type TillErrorOf<Code extends ErrorCode> = Code extends ErrorCode
  ? TillError<Code> & ErrorFieldsOf<Code>
  : never;

/** Whether it is an error of Till; with codes, whether it has one of them. */
export function isTillError(error: unknown): error is TillError;
export function isTillError<Code extends ErrorCode>(
  error: unknown,
  ...codes: readonly [Code, ...Code[]]
): error is TillErrorOf<Code>;
export function isTillError(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof TillError && (codes.length === 0 || codes.includes(error.code));
}

/**
 * No response from Till: the connection failed, or a proxy responded. It is unknown whether the request took effect.
 */
export class TillConnectionError extends Error implements CallFacts {
  override readonly name: string = 'TillConnectionError';
  /** The HTTP status of a response that is not from Till, for example of a proxy. */
  readonly status: number | undefined;
  /** How long that response asks to wait before a retry. */
  readonly retryAfterSeconds: number | undefined;
  readonly method: string;
  readonly path: string;
  readonly idempotencyKey: string | undefined;
  readonly attempts: number;

  constructor(
    reason: string,
    call: CallFacts,
    extras: {
      readonly status?: number;
      readonly retryAfterSeconds?: number | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(
      `${call.method} ${call.path}: ${reason}`,
      extras.cause === undefined ? undefined : { cause: extras.cause },
    );
    this.status = extras.status;
    this.retryAfterSeconds = extras.retryAfterSeconds;
    this.method = call.method;
    this.path = call.path;
    this.idempotencyKey = call.idempotencyKey;
    this.attempts = call.attempts;
  }
}

/** No response from Till in time. It is unknown whether the request took effect. */
export class TillTimeoutError extends TillConnectionError {
  override readonly name = 'TillTimeoutError';
}
