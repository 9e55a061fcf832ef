import { errorCatalogue } from '#core/error-catalogue.ts';
import { Failure } from '#core/errors.ts';
import type { RecordedFailure } from './claim.ts';

export function keyReused(): Failure {
  return new Failure(
    'idempotency_key_reused',
    'This idempotency key belongs to a different request. Send that request again, or use a new idempotency key.',
  );
}

export function isKeyReused(error: unknown): boolean {
  return error instanceof Failure && error.code === 'idempotency_key_reused';
}

export function keyInFlight(): Failure {
  return new Failure(
    'idempotency_key_in_flight',
    'A request with this idempotency key is still in progress. Retry later.',
    { retryAfterSeconds: 1 },
  );
}

export function reservationInFlight(): Failure {
  return new Failure(
    'idempotency_key_in_flight',
    'Another request that needs the same value is still in progress. Retry later.',
    { retryAfterSeconds: 1 },
  );
}

export function declined({ code, detail, declineCode }: RecordedFailure, isReplay: boolean): Failure {
  return new Failure(code, detail, {
    ...(code === 'payment_declined' ? { declineCode } : {}),
    ...(isReplay ? { isReplay } : {}),
  });
}

/** The status of a declined charge, which is a result. */
const paymentRequired = 402;

/**
 * Whether a claim stays after a failed call. A definite refusal frees the idempotency key for a corrected request: the
 * values of the request, or the state of the objects that it names, forbid the operation. After any other failure the
 * caller should repeat the same request, because this call or an earlier one may have taken effect. That holds even if
 * this call certainly had no effect, for example because the secret key became invalid. Without an idempotency key
 * there was no earlier call, and no request can resume the claim.
 */
export function keepsClaim({ code, extras: { effect } }: Failure, hasKey: boolean): boolean {
  if (effect === 'unknown') return true;
  const { status } = errorCatalogue[code];
  if (status < 500 && status !== paymentRequired) return false;
  return hasKey || effect !== 'none';
}

/** Another request has completed or resumed the claim of this one, which then starts again. */
export class ClaimEnded extends Error {
  override readonly name = 'ClaimEnded';
}
