import type { Stripe } from 'stripe';
import type { Logger } from '#core/platform/logger.ts';
import type { ProcessorCaller } from './calls.ts';

/** Shared by the calls of every resource. */
export interface AdapterContext {
  readonly stripe: Stripe;
  readonly call: ProcessorCaller;
  readonly logger: Logger;
}
