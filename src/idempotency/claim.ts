import { createHash } from 'node:crypto';

/** What is made at the processor, and must be made once. */
export const claimOperations = [
  'customers.create',
  'plans.create',
  'payments.create',
  'refunds.create',
  'subscriptions.create',
] as const;

export type ClaimOperation = (typeof claimOperations)[number];

export interface Claim {
  readonly operation: ClaimOperation;
  readonly key: string;
  readonly requestHash: Buffer;
  /** The id that the resource has, or will have. */
  readonly resourceId: string;
  readonly parentId: string | null;
  readonly attempt: number;
  readonly attemptedAt: Date;
  readonly owner: number;
  readonly completedAt: Date | null;
}

/** The processor forgets its keys after 24 hours; an hour before that we no longer rely on its memory. */
export const processorKeyLifeMs = 23 * 3_600_000;

/** This long after a try nothing of it can still be on its way to the processor. */
export const callEndedMs = 600_000;

/** The key that the processor sees: the same for every try of one attempt, whoever makes it. */
export function processorKey(claim: Claim): string {
  return `till-${claim.operation}-${claim.resourceId}-${claim.attempt}`;
}

/** Tells whether a key is used for the same request: equal values in any order of fields give the same hash. */
export function hashRequest(request: unknown): Buffer {
  return createHash('sha256').update(canonicalJson(request)).digest();
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
