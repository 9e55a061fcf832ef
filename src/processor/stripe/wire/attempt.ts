import type { Declined } from '../../port/invoice-payment.ts';
import type { Attempt, Refused } from '../../port/processor.ts';
import type { Refusal } from './refusal.ts';
import { isReplayed } from './responses.ts';

/** `response`: the response to a change, which may be a repeated one. */
export function done<T>(value: T, response?: unknown): Attempt<T> {
  return { outcome: 'done', value, ...(isReplayed(response) ? { isReplayed: true } : {}) };
}

/** The object of the call itself does not exist, and not an object that the call only refers to. */
export function isMissing(refusal: Refusal): boolean {
  return refusal.status === 404 && refusal.code === 'resource_missing';
}

/** For reads of objects that may not exist. */
export function nullIfMissing(refusal: Refusal): null | undefined {
  return isMissing(refusal) ? null : undefined;
}

export function missing(refusal: Refusal): Refused | undefined {
  return isMissing(refusal) ? refused('missing', refusal) : undefined;
}

/** For calls that carry none of the caller's values, so that every other refusal is about the state of the object. */
export function missingOrWrongState(refusal: Refusal): Refused {
  return missing(refusal) ?? refused('wrong_state', refusal);
}

export function refused(outcome: Refused['outcome'], { code, message }: Refusal): Refused {
  return { outcome, processorCode: code, message };
}

/** The customer must authenticate before the charge can succeed. The second code is for invoices. */
const authenticationCodes: readonly (string | null)[] = [
  'authentication_required',
  'invoice_payment_intent_requires_action',
];

/** A charge that was attempted and declined. Undefined for a refusal of another kind. */
export function declined(refusal: Refusal): Declined | undefined {
  return refusal.status === 402 ? declineOf(refusal) : undefined;
}

export function declineOf({ code, declineCode, message }: Omit<Refusal, 'status' | 'param'>): Declined {
  const mustAuthenticate = authenticationCodes.includes(code) || authenticationCodes.includes(declineCode);
  return { outcome: 'declined', mustAuthenticate, declineCode, message };
}
