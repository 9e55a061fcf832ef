import { invalidRequest } from '../errors.ts';
import { isRoundAmount, roundAmountMistake } from './format-amount.ts';

/** For the description of an amount in the API documentation. */
export const roundAmountRule =
  'In a currency with three decimals (bhd, jod, kwd, omr, tnd) it must end in 0.';

/** For an amount whose currency is not in the request. Null is the whole remaining amount, which is always accepted. */
export function refuseIfNotRound(amount: number | null, currency: string): void {
  if (amount === null || isRoundAmount(amount, currency)) return;
  throw invalidRequest('body.amount', roundAmountMistake);
}
