import type { Attempt } from '../processor.ts';
import type { Refusal } from './refusal.ts';

export function done<T>(value: T): Attempt<T> {
  return { outcome: 'done', value };
}

/** The object that the call is about does not exist, as opposed to one that it only mentions. */
export function isMissing(refusal: Refusal): boolean {
  return refusal.status === 404 && refusal.code === 'resource_missing';
}

export function missing(refusal: Refusal): { readonly outcome: 'missing' } | undefined {
  return isMissing(refusal) ? { outcome: 'missing' } : undefined;
}

export function wrongState(refusal: Refusal): Extract<Attempt<never>, { outcome: 'wrong_state' }> {
  return { outcome: 'wrong_state', processorCode: refusal.code, message: refusal.message };
}
