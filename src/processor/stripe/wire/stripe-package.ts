import { createRequire } from 'node:module';

/**
 * The only place that loads the processor's package: a second copy would have other error classes. As CommonJS it loads
 * in two thirds of the time that its ES modules take. `require` returns the class itself, which the package's types do
 * not show.
 */
export const Stripe = createRequire(import.meta.url)('stripe') as typeof import('stripe').Stripe;
