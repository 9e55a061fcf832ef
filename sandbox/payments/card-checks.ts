import { WireError } from '../wire/wire-error.ts';
import type { TestCard } from './test-cards.ts';

/** The processor rejects expiry years further ahead than this. */
const expiryYearsMax = 50;

/** Rejects a card that has expired. A card is valid until the end of its month. */
export function checkExpiry(month: number, year: number, nowSeconds: number): void {
  const now = new Date(nowSeconds * 1_000);
  const thisYear = now.getUTCFullYear();
  if (year < thisYear || year > thisYear + expiryYearsMax)
    throw cardError('invalid_expiry_year', "Your card's expiration year is invalid.", 'exp_year');
  if (month < 1 || month > 12 || (year === thisYear && month < now.getUTCMonth() + 1))
    throw cardError('invalid_expiry_month', "Your card's expiration month is invalid.", 'exp_month');
}

/** Rejects a security code of the wrong form. The cards of one brand have four digits. */
export function checkCvc(cvc: string, brand: TestCard['brand']): void {
  if (!(brand === 'amex' ? /^\d{3,4}$/ : /^\d{3}$/).test(cvc))
    throw cardError('invalid_cvc', "Your card's security code is invalid.", 'cvc');
}

function cardError(code: string, message: string, param: string): WireError {
  return new WireError(402, { type: 'card_error', code, message, param });
}
