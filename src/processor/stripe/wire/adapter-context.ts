import type { Stripe } from 'stripe';
import type { Logger } from '../../../platform/logger.ts';
import type { Caller } from './calls.ts';

/** What the calls of every resource lean on. */
export interface AdapterContext {
  readonly stripe: Stripe;
  readonly call: Caller;
  readonly logger: Logger;
}
