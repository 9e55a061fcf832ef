import type { PaymentMethod } from '../../../../client/src/index.ts';

/** Visa •••• 4242. Null if nothing was used yet. */
export function cardText(method: Pick<PaymentMethod, 'type' | 'brand' | 'last4'> | null): string | null {
  if (method === null) return null;
  const { type, brand, last4 } = method;
  const name = brand ?? type;
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}${last4 === null ? '' : ` •••• ${last4}`}`;
}
