import type { Logger } from '../../../platform/logger.ts';
import type { ProcessorOperation } from '../../operations.ts';

/**
 * The created object is recorded and shown, but a frontend cannot confirm it. The same request with its idempotency key
 * reads the secret again.
 */
export function warnOfMissingSecret(
  logger: Logger,
  operation: ProcessorOperation,
  processorId: string,
): void {
  logger.warn({ operation, processorId }, 'client secret missing from the response');
}
