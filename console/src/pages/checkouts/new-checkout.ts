import type { NewCheckout } from '@till/client';
import { isCurrency, parseMoney } from '../../format/money.ts';
import { amountMax } from '../plans/plan-inputs.ts';
import { type NewTermsInputs, newTerms, noTerms } from '../subscriptions/new-terms.ts';

/** The inputs of a checkout, as typed. */
export interface CheckoutInputs {
  readonly sells: 'subscription' | 'payment' | 'setup';
  readonly terms: NewTermsInputs;
  readonly amount: string;
  readonly currency: string;
  readonly description: string;
  /** Where the buyer goes afterwards, whether the checkout is completed or not. */
  readonly returnUrl: string;
}

export const emptyCheckout: CheckoutInputs = {
  sells: 'subscription',
  terms: noTerms,
  amount: '',
  currency: 'eur',
  description: '',
  returnUrl: '',
};

/** What to send for these inputs. Undefined if they are incomplete or not valid. */
export function newCheckout(customerId: string, inputs: CheckoutInputs): NewCheckout | undefined {
  const returnUrl = inputs.returnUrl.trim();
  const sold = soldBy(inputs);
  if (sold === undefined || !isReturnUrl(returnUrl)) return undefined;
  return { customerId, ...sold, successUrl: returnUrl, cancelUrl: returnUrl };
}

/** Finds obvious mistakes while the user types. The server decides. */
export function isReturnUrl(text: string): boolean {
  return /^https?:\/\//i.test(text.trim()) && URL.canParse(text.trim());
}

function soldBy(inputs: CheckoutInputs) {
  if (inputs.sells === 'subscription') return newTerms(inputs.terms);
  if (inputs.sells === 'setup') return { saveCard: true } as const;
  const currency = inputs.currency.trim().toLowerCase();
  const description = inputs.description.trim();
  const amount = isCurrency(currency) ? parseMoney(inputs.amount, currency) : undefined;
  const isValid = amount !== undefined && amount >= 1 && amount <= amountMax && description !== '';
  return isValid ? { payment: { amount, currency, description } } : undefined;
}
