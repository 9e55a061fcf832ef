import { createHmac, hash } from 'node:crypto';
import type { RequestMark } from '#processor/port/request-mark.ts';

/** The key name of a claim that no caller can repeat. Names of API keys do not contain this character. */
export const unrepeatableName = '*';

/** Whether the request of the claim had no idempotency key. */
export function isUnrepeatable({ keyName }: Pick<Claim, 'keyName'>): boolean {
  return keyName === unrepeatableName;
}

export interface Claim {
  /** The name of the operation, such as `payments.create`. */
  readonly operation: string;
  /** The caller's idempotency key, or the id of the resource if there is none. */
  readonly key: string;
  /** The name of the API key that the idempotency key belongs to. */
  readonly keyName: string;
  readonly requestHash: Buffer;
  /** Digests of the idempotency key and the request, which the processor stores. */
  readonly mark: RequestMark;
  /** The id of the resource, which may not exist yet. For a change: the id of the change. */
  readonly resourceId: string;
  /**
   * The object that the resource belongs to, or that the change is about. For a creation whose object already existed:
   * that object.
   */
  readonly parentId: string | null;
  readonly attempt: number;
  readonly attemptedAt: Date;
  readonly owner: number;
  readonly completedAt: Date | null;
  /** Why the request failed, if the failure is its final result. */
  readonly failure: RecordedFailure | null;
  /** The object that the request acts on at the processor, recorded before the call. Null if it recorded none. */
  readonly target: string | null;
}

/** The parent of a claim whose operation always has one. */
export function parentOf({ parentId, resourceId }: Pick<Claim, 'parentId' | 'resourceId'>): string {
  if (parentId === null) throw new Error(`the claim of ${resourceId} has no parent`);
  return parentId;
}

/** A declined charge is a result, like a created object: a request with the same idempotency key gets it again. */
export interface RecordedFailure {
  readonly code: 'payment_declined' | 'authentication_required';
  readonly detail: string;
  readonly declineCode: string | null;
}

/** The processor forgets processor keys after 24 hours. Till stops relying on them an hour earlier. */
export const processorKeyLifeMs = 23 * 3_600_000;

/**
 * How much older than its claim an object can be. If a failover or a restore lost the first claim of a request, a
 * repeated request gets a new claim, which is younger than the object that the first call created. The processor
 * remembers processor keys for this long. Claims are pruned an hour later, so within this time the idempotency key
 * still belongs to the same request.
 */
export const lostClaimAgeMs = 24 * 3_600_000;

/** After this time, no call of an attempt can still be in flight to the processor. */
export const callEndedMs = 600_000;

/**
 * The processor key: the idempotency key of a call to the processor. Every call of one attempt uses the same one. It is
 * derived from the request, so that a request whose claim was lost finds the effect of its first call.
 */
export function processorKey({
  operation,
  mark,
  attempt,
}: Pick<Claim, 'operation' | 'mark' | 'attempt'>): string {
  return `till-${operation}-${mark.key}-${attempt}`;
}

/** 160 bits: two requests never get the same digest, and it is short enough for metadata and processor keys. */
const digestLength = 40;

/**
 * The mark of a claim. The id of the installation is the secret of the digests: they do not reveal the idempotency key,
 * and differ between installations.
 */
export function markOf(
  { operation, key, keyName, requestHash }: Pick<Claim, 'operation' | 'key' | 'keyName' | 'requestHash'>,
  installationId: string,
): RequestMark {
  const digest = (value: string | Buffer) =>
    createHmac('sha256', installationId).update(value).digest('hex').slice(0, digestLength);
  return { key: digest(`${operation} ${keyName} ${key}`), request: digest(requestHash) };
}

/** Identifies a request: equal values give the same hash, in any order of fields. */
export function hashRequest(request: unknown): Buffer {
  return hash('sha256', canonicalJson(request), 'buffer');
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

/** The steps of a creation at which a crash leaves different work done. Tests kill the process at each of them. */
export type CrashPoint =
  | 'claim.before'
  | 'claim.prepared'
  | 'claim.after'
  | 'call.before'
  | 'call.after'
  | 'record.before'
  | 'record.row'
  | 'record.completed'
  | 'record.after'
  | 'response.before';

export interface CrashPoints {
  pass(crashPoint: CrashPoint): Promise<void> | void;
}

export const noCrashPoints: CrashPoints = { pass: () => {} };
