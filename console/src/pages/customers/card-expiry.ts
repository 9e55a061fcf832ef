import type { PaymentMethod } from '../../../../client/src/index.ts';

/** When a card expires, and whether it has: at the end of the month. Null if it does not. */
export function cardExpiry(
  { expMonth, expYear }: Pick<PaymentMethod, 'expMonth' | 'expYear'>,
  now: Date,
): { readonly text: string; readonly isOver: boolean } | null {
  if (expMonth === null || expYear === null) return null;
  return {
    text: `${String(expMonth).padStart(2, '0')}/${expYear}`,
    isOver: now.getTime() >= Date.UTC(expYear, expMonth),
  };
}
