import { Stripe } from '../wire/stripe-package.ts';

/** The oldest version whose shape the mappings know. Since then subscriptions refer to prices instead of plans. */
const oldestDate = '2020-08-27';

/** A version is a date, followed by a name since 2024. A version later than the package's own has an unknown shape. */
export function understandsVersion(apiVersion: string | null): boolean {
  if (apiVersion === null) return true;
  const date = dateOf(apiVersion);
  return date !== null && date >= oldestDate && date <= newestDate;
}

function dateOf(apiVersion: string): string | null {
  return /^(\d{4}-\d{2}-\d{2})(?:\.[a-z]+)?$/.exec(apiVersion)?.[1] ?? null;
}

const newestDate = dateOf(Stripe.API_VERSION) ?? oldestDate;
