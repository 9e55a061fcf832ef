import { createRequire } from 'node:module';

/**
 * The only place that loads the processor's package: a second copy would have other classes of errors. As CommonJS it
 * loads in two thirds of the time that its ES modules take. Required, the package is the class itself, which its types
 * do not say.
 */
export const Stripe = createRequire(import.meta.url)('stripe') as typeof import('stripe').Stripe;
