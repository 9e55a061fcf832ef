import type { Attempt, Refused } from '../../processor.ts';
import type { Refusal } from './refusal.ts';

export function done<T>(value: T): Attempt<T> {
  return { outcome: 'done', value };
}

/** The object of the call does not exist, as opposed to an object that the call only refers to. */
export function isMissing(refusal: Refusal): boolean {
  return refusal.status === 404 && refusal.code === 'resource_missing';
}

export function missing(refusal: Refusal): Refused | undefined {
  return isMissing(refusal) ? refused('missing', refusal) : undefined;
}

export function refused(outcome: Refused['outcome'], { code, message }: Refusal): Refused {
  return { outcome, processorCode: code, message };
}
