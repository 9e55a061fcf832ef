import type { Plan } from '@till/client';
import { parseAddOns, parseQuantity, type WantedAddOn } from './wanted-terms.ts';

/** The API's own limit. */
const trialDaysMax = 730;

/** The inputs of a new subscription, as typed. */
export interface NewTermsInputs {
  readonly planId: string;
  readonly quantity: string;
  readonly addOns: readonly WantedAddOn[];
  /** Empty: no trial. */
  readonly trialDays: string;
}

export interface NewTerms {
  readonly planId: string;
  readonly quantity: number;
  readonly addOns: readonly { readonly planId: string; readonly quantity: number }[];
  readonly trialPeriodDays: number;
}

export const noTerms: NewTermsInputs = { planId: '', quantity: '1', addOns: [], trialDays: '' };

/** What to send for these inputs. Undefined if the API would refuse them. */
export function newTerms(inputs: NewTermsInputs): NewTerms | undefined {
  const { planId } = inputs;
  const quantity = parseQuantity(inputs.quantity);
  const addOns = parseAddOns(inputs.addOns);
  const trialPeriodDays = parseTrialDays(inputs.trialDays);
  if (planId === '' || quantity === undefined || addOns === undefined || trialPeriodDays === undefined)
    return undefined;
  return { planId, quantity, addOns, trialPeriodDays };
}

export function parseTrialDays(text: string): number | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return 0;
  return /^\d{1,3}$/.test(trimmed) && Number(trimmed) <= trialDaysMax ? Number(trimmed) : undefined;
}

/** The price of a period of these terms, before discounts and taxes. */
export function periodAmount(plans: readonly Plan[], { planId, quantity, addOns }: NewTerms): number {
  const items = [{ planId, quantity }, ...addOns];
  return items.reduce(
    (sum, item) => sum + item.quantity * (plans.find(({ id }) => id === item.planId)?.amount ?? 0),
    0,
  );
}
