import { Failure } from '../errors.ts';
import { decimalsOf } from './format-amount.ts';

/** Of the field of an amount, for the documentation. */
export const roundAmountRule =
  'In a currency with three decimals (bhd, jod, kwd, omr, tnd) it must end in 0.';

/** What is wrong with an amount that is not round. */
export const roundAmountMistake = 'must end in 0 in a currency with three decimals';

/** The processor only takes amounts that end in 0 in currencies with three decimals. */
export function isRoundAmount(amount: number, currency: string): boolean {
  return decimalsOf(currency.toUpperCase()) < 3 || amount % 10 === 0;
}

/** For an amount whose currency the request does not name. Null is all that is left, which is always possible. */
export function refuseIfNotRound(amount: number | null, currency: string): void {
  if (amount === null || isRoundAmount(amount, currency)) return;
  const path = 'body.amount';
  throw new Failure('invalid_request', `${path} ${roundAmountMistake}`, {
    errors: [{ path, message: roundAmountMistake }],
  });
}
