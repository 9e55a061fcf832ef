import { isTillError, TillConnectionError } from '@till/client';
import { mistakeText } from '../format/mistake.ts';

/** The reason of a failed call, in words for people. */
export interface Failure {
  readonly title: string;
  readonly detail: string;
  readonly requestId: string | undefined;
  /**
   * Whether it is unknown if the call had an effect. Then only a call with the same idempotency key is safe: it has no
   * second effect.
   */
  readonly isUnresolved: boolean;
  /** Whether Till, or something that it needs, is temporarily unavailable. The same load succeeds later. */
  readonly isOutage: boolean;
  /** The error itself, for `isTillError`. */
  readonly error: unknown;
}

const outageStatuses = [408, 429, 502, 503, 504];
/** These codes have such a status, but only an operator can fix the cause. */
const lastingCodes = ['processor_misconfigured', 'processor_object_missing'] as const;

/** What to show for an error of any kind. */
export function failureOf(error: unknown): Failure {
  if (isTillError(error)) {
    const { title, requestId, status, code } = error;
    const detail = mistakesIn(error) ?? error.detail;
    const isUnresolved = status >= 500 || status === 429 || code.endsWith('_in_flight');
    const isOutage = outageStatuses.includes(status) && !isTillError(error, ...lastingCodes);
    return { title, detail, requestId, isUnresolved, isOutage, error };
  }
  // The connection broke, or a proxy sent another page.
  const isAnswered = error instanceof TillConnectionError && error.status !== undefined;
  return {
    title: isAnswered ? 'Invalid response' : 'No connection',
    detail: `${isAnswered ? 'The response of Till could not be read' : 'Till could not be reached'}. Check the connection and try again.`,
    requestId: undefined,
    isUnresolved: true,
    isOutage: true,
    error,
  };
}

/** What is wrong with each value, in words. */
function mistakesIn(error: unknown): string | undefined {
  const errors = isTillError(error, 'invalid_request') ? (error.errors ?? []) : [];
  const texts = errors.map(mistakeText);
  return texts.length === 0 ? undefined : texts.join(' ');
}
