import { type RateLimit, rateLimitReasons } from '../../pacing/limits.ts';
import { Stripe } from './stripe-package.ts';

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
