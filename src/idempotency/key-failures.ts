import { Failure } from '../errors.ts';

export function keyReused(): Failure {
  return new Failure(
    'idempotency_key_reused',
    'This idempotency key belongs to a different request. Send that request again, or use a new key.',
  );
}

export function keyInFlight(): Failure {
  return new Failure(
    'idempotency_key_in_flight',
    'A request with this idempotency key is still in progress. Retry later.',
    { retryAfterSeconds: 1 },
  );
}
