import { Failure } from '../errors.ts';

export function keyReused(): Failure {
  return new Failure(
    'idempotency_key_reused',
    'This idempotency key was used for a different request; send the same request again, or use a new key.',
  );
}

export function keyInFlight(): Failure {
  return new Failure(
    'idempotency_key_in_flight',
    'A request with this idempotency key is still running; try again.',
    { retryAfterSeconds: 1 },
  );
}
