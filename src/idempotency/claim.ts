import { createHash } from 'node:crypto';

/** The operations that create or change an object at the processor exactly once. */
export type ClaimOperation =
  | 'customers.create'
  | 'customers.update'
  | 'plans.create'
  | 'plans.update'
  | 'payments.create'
  | 'payments.update'
  | 'payments.capture'
  | 'refunds.create'
  | 'subscriptions.create'
  | 'subscriptions.update'
  | 'subscriptions.pay'
  | 'payment_methods.create'
  | 'event_endpoints.create'
  | 'event_endpoints.update'
  | 'event_endpoints.rotate'
  | 'event_endpoints.replay'
  | 'api_keys.create';

/** The key of a request. It belongs to an application: the same key of another one is another key. */
export interface IdempotencyKey {
  /** The name of the API key. Empty for API keys without a name of their own, which count as one application. */
  readonly keyName: string;
  readonly key: string;
}

/** The name of a claim that no caller can repeat. Names of API keys do not contain this character. */
export const unrepeatableName = '*';

export interface Claim {
  readonly operation: ClaimOperation;
  /** The caller's key, the key of a second application (`keyOfOther`), or the id of the resource if there is no key. */
  readonly key: string;
  /** The name that the key belongs to. Null for a claim of a release without names, which belongs to every name. */
  readonly keyName: string | null;
  readonly requestHash: Buffer;
  /** The id of the resource, which may not exist yet. For a change: the id of the change. */
  readonly resourceId: string;
  /**
   * The object that the resource belongs to, or that the change is about. For a creation that found its object in
   * existence: that object.
   */
  readonly parentId: string | null;
  readonly attempt: number;
  readonly attemptedAt: Date;
  readonly owner: number;
  readonly completedAt: Date | null;
  /** Why the request failed, if the failure is its lasting result. */
  readonly failure: RecordedFailure | null;
  /** What the request chose to act on at the processor, before it did. Null if it chose nothing. */
  readonly target: string | null;
}

/** A declined charge is a result like a created object: a request that repeats the key gets it again. */
export interface RecordedFailure {
  readonly code: 'payment_declined' | 'authentication_required';
  readonly detail: string;
  readonly declineCode: string | null;
}

/**
 * The stored key of a claim whose key another application uses at the same time. Neither names nor keys contain a space.
 */
export function keyOfOther({ keyName, key }: IdempotencyKey): string {
  return `${keyName} ${key}`;
}

/** Which of the claims that are stored under either form of a key belongs to the application. */
export function ownClaim<Stored extends Claim>(
  claims: readonly Stored[],
  own: IdempotencyKey,
): Stored | undefined {
  return (
    claims.find(({ key }) => key === keyOfOther(own)) ??
    claims.find(({ keyName }) => keyName === null || keyName === own.keyName)
  );
}

/** The processor forgets its keys after 24 hours. Till stops relying on them an hour earlier. */
export const processorKeyLifeMs = 23 * 3_600_000;

/** After this time, no call of an attempt can still be in flight to the processor. */
export const callEndedMs = 600_000;

/** The idempotency key for the processor. Every call of one attempt uses the same key. */
export function processorKey(claim: Claim): string {
  return `till-${claim.operation}-${claim.resourceId}-${claim.attempt}`;
}

/** Identifies a request: equal values give the same hash, in any order of fields. */
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
