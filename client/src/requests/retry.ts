import { isTillError, TillConnectionError, type TillError } from '../errors.ts';

/** After this many doublings the delay stays the same: half a second becomes half a minute. */
const doublingsMax = 6;

/** Statuses that say nothing about the request itself: Till, or a proxy before it, cannot serve it now. */
const temporaryStatuses: readonly number[] = [408, 429, 502, 503, 504];

/** These codes have such a status, but only an operator can fix the cause. */
const lastingCodes = ['processor_misconfigured', 'processor_object_missing'] as const;

/** These codes have another status, but the cause is temporary. */
const temporaryCodes = ['idempotency_key_in_flight', 'subscription_busy', 'concurrent_change'] as const;

/**
 * Whether the same request can succeed if it is sent again. Every request can be repeated: a POST or PATCH has an
 * idempotency key, and the other methods have the same effect once and twice.
 */
export function isTemporary(error: unknown): error is TillError | TillConnectionError {
  if (isTillError(error, ...lastingCodes)) return false;
  if (isTillError(error, ...temporaryCodes)) return true;
  if (isTillError(error)) return temporaryStatuses.includes(error.status);
  if (!(error instanceof TillConnectionError)) return false;
  return error.status === undefined || temporaryStatuses.includes(error.status);
}

/**
 * How long to wait before the next attempt: a random part of a delay that doubles ("full jitter"), so that many callers
 * that failed together do not return together. It comes after the time that the response asked for, if it asked for
 * any.
 */
export function retryDelayMs(
  error: TillError | TillConnectionError,
  { attempts, firstDelayMs }: { readonly attempts: number; readonly firstDelayMs: number },
  random: () => number = Math.random,
): number {
  const longestMs = firstDelayMs * 2 ** Math.min(attempts - 1, doublingsMax);
  const askedMs = (error.retryAfterSeconds ?? 0) * 1_000;
  return askedMs + random() * longestMs;
}

/** Reads `Retry-After`: seconds, or a date. Undefined if it is absent or malformed. */
export function readRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header);
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, Math.ceil((dateMs - nowMs) / 1_000));
}
