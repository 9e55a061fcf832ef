import type { Logger } from '#core/platform/logger.ts';
import type { ProcessorOperation } from './operations.ts';
import type { WireObject } from './wire-object.ts';

/**
 * The created object is recorded and returned, but a frontend cannot confirm it. Repeating the request with the same
 * idempotency key reads the client secret again.
 */
export function warnOfMissingSecret(
  logger: Logger,
  operation: ProcessorOperation,
  processorId: string,
): void {
  logger.warn({ operation, processorId }, 'client secret missing from the response');
}

/** Statuses of a payment or setup intent in which a frontend still has something to confirm. */
const confirmable: readonly string[] = [
  'requires_payment_method',
  'requires_confirmation',
  'requires_action',
];

/** Null once nothing is left to confirm, even if the processor still shows the client secret. */
export function clientSecretOf(intent: WireObject): string | null {
  return confirmable.includes(intent.text('status')) ? intent.optionalText('client_secret') : null;
}
