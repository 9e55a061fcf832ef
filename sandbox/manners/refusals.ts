import { WireError } from '../wire/wire-error.ts';

type Reason = 'endpoint-rate' | 'global-rate' | 'resource-specific';

/** More requests a second than the processor takes. */
export function tooFast(reason: 'endpoint-rate' | 'global-rate'): WireError {
  return limited(
    reason,
    'Testmode request rate limit exceeded, the rate limits in testmode are lower than livemode. You can learn more about rate limits here https://stripe.com/docs/rate-limits.',
  );
}

/** More than the processor allows for one object. The processor documents the header, but not the text. */
export function tooMany(what: string, max: number, period: 'day' | 'hour' | 'minute'): WireError {
  return limited('resource-specific', `Rate limit exceeded: at most ${max} ${what} per ${period}.`);
}

function limited(reason: Reason, message: string): WireError {
  return new WireError(
    429,
    { type: 'invalid_request_error', code: 'rate_limit', message },
    { headers: { 'stripe-rate-limited-reason': reason } },
  );
}

/** Two writes of one object at the same time. It is not a rate limit, so there is no reason for one. */
export function lockTimeout(): WireError {
  return new WireError(
    429,
    {
      type: 'invalid_request_error',
      code: 'lock_timeout',
      message:
        'This object cannot be accessed right now because another API request or Stripe process is currently accessing it. If you see this error intermittently, retry the request. If you see this error frequently and are making multiple concurrent requests to a single object, make your requests serially or at a lower rate.',
    },
    // The official clients repeat a 429 only if this header says so, and lock timeouts are the ones that they repeat.
    { headers: { 'stripe-should-retry': 'true' } },
  );
}
