import { Failure, invalidRequest } from '../errors.ts';
import type { Origin, Verdict } from './facts.ts';

/** The caller's own values on an object, without the metadata keys that Till reserves. */
export type Metadata = Readonly<Record<string, string>>;

/** The metadata of an object that belongs to a customer. Null once the customer is deleted. */
export type OwnedMetadata = Metadata | null;

/** A change of metadata. It sets the metadata keys that it contains, and null removes one. */
export type MetadataChange = Readonly<Record<string, string | null>>;

/** Metadata keys with this prefix belong to Till. */
export const ownKeyPrefix = 'till_';

/**
 * The processor keeps 50 metadata keys per object. Till leaves room for its own, and for those that others set at the
 * processor.
 */
export const metadataKeysMax = 20;
/** The processor's own limits. */
export const metadataKeyLengthMax = 40;
export const metadataValueLengthMax = 500;

/** Enough to replace every metadata key by another one in one change. */
export const metadataChangeKeysMax = 2 * metadataKeysMax;

export const noMetadata: Metadata = {};

/** Whether every value of the change is already there. */
export function hasMetadata(metadata: Metadata, change: MetadataChange): boolean {
  return Object.entries(change).every(([key, value]) => valueAt(metadata, key) === value);
}

/** Whether the processor's response to a change still shows an old value. */
export function isMetadataChangeIgnored(before: Metadata, change: MetadataChange, after: Metadata): boolean {
  return Object.entries(change).some(([key, requested]) => {
    const [old, current] = [valueAt(before, key), valueAt(after, key)];
    return requested !== old && current === old;
  });
}

/** The metadata in facts. Null if the facts do not show it. */
interface MetadataFacts {
  readonly metadata: Metadata | null;
}

/**
 * Whether this event is newer than a row whose metadata was erased. Taking the event would give the missing metadata
 * the time of the event, so the object is read instead.
 */
export function needsMetadata(
  { metadata, deleted = false }: MetadataFacts & { readonly deleted?: boolean },
  origin: Origin,
  verdict: Verdict,
): boolean {
  return metadata === null && !deleted && origin === 'event' && verdict === 'take';
}

/** The metadata of an owned object after it took facts. Erased metadata stays erased. */
export function takeMetadata(before: OwnedMetadata, { metadata }: MetadataFacts): OwnedMetadata {
  return before === null ? null : (metadata ?? before);
}

/** A write of a row that belongs to a customer. Without `before`, the row is new. */
export interface OwnedChange {
  readonly before?: Owned;
  readonly after: Owned;
}

interface Owned {
  readonly customerId: string;
  readonly metadata: OwnedMetadata;
  /** Only subscriptions have one. It is free text, and is erased with the metadata. */
  readonly cancellationReason?: string | null;
}

/**
 * The customers of rows that get their first metadata or reason in this write. A deletion already finds rows that have
 * some.
 */
export function ownersOfNewMetadata(written: readonly OwnedChange[]): readonly string[] {
  const isNew = ({ before, after }: OwnedChange) =>
    !isEmpty(after) && (before === undefined || isEmpty(before));
  return [...new Set(written.filter(isNew).map(({ after }) => after.customerId))];
}

function isEmpty({ metadata, cancellationReason = null }: Owned): boolean {
  return cancellationReason === null && (metadata === null || Object.keys(metadata).length === 0);
}

/** Refuses a change if the metadata was erased, or if the change would leave too many metadata keys. */
export function refuseChange(before: OwnedMetadata, change: MetadataChange): void {
  if (before === null) {
    throw new Failure(
      'customer_deleted',
      'The customer is deleted, and so is the metadata of everything that belonged to it.',
    );
  }
  refuseTooManyKeys(before, change);
}

/**
 * Others may have set more metadata keys at the processor. A change may then replace and remove keys, but not add one.
 */
export function refuseTooManyKeys(before: Metadata, change: MetadataChange): void {
  const keysBefore = Object.keys(before).length;
  const keysAfter = Object.values({ ...before, ...change }).filter((value) => value !== null).length;
  if (keysAfter <= Math.max(metadataKeysMax, keysBefore)) return;
  const message = `must leave at most ${metadataKeysMax} keys, and would leave ${keysAfter}`;
  throw invalidRequest('body.metadata', message);
}

function valueAt(metadata: Metadata, key: string): string | null {
  return Object.hasOwn(metadata, key) ? (metadata[key] ?? null) : null;
}
