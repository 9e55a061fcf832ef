import { isExternalId } from '../../../model/customer.ts';
import { type Metadata, type MetadataChange, ownKeyPrefix } from '../../../model/metadata.ts';
import { redactText } from '../events/redact-secrets.ts';
import type { WireObject } from './wire-object.ts';

/** The metadata key under which a customer carries the application's own id. */
export const externalIdKey = 'till_external_id';

/**
 * The metadata of the caller and of others, without Till's own metadata keys. Entries that cannot be stored are left
 * out. Null if the object does not show its metadata.
 */
export function metadataOf(object: WireObject): Metadata | null {
  const fields = fieldsOf(object);
  if (fields === null) return null;
  const entries = Object.entries(fields).flatMap(([key, value]) =>
    !key.startsWith(ownKeyPrefix) && isStorable(key) && isStorable(value) ? [[key, redactText(value)]] : [],
  );
  return Object.fromEntries(entries);
}

/** The application's own id. A value that Till would not accept, set by hand in the dashboard, is ignored. */
export function externalIdOf(object: WireObject): string | null {
  const value = fieldsOf(object)?.[externalIdKey];
  return isStorable(value) && isExternalId(value) ? value : null;
}

/** The metadata key under which a subscription, or a planned change of it, names the item of its main plan. */
export const mainMarkKey = 'till_main';

export function mainMarkOf(object: WireObject): string | null {
  const mark = fieldsOf(object)?.[mainMarkKey];
  return isStorable(mark) ? mark : null;
}

/** The response to a creation. If it omits metadata that was sent, the sent metadata is used. */
export function withSentMetadata(response: unknown, sent: Metadata | undefined): unknown {
  if (!isRecord(response) || sent === undefined) return response;
  const { metadata: shown } = response;
  return { ...response, metadata: { ...sent, ...(isRecord(shown) ? shown : {}) } };
}

/** The parameter that changes metadata. The processor merges it, and an empty text removes a metadata key. */
export function changedMetadata(change: MetadataChange = {}): { metadata?: Record<string, string> } {
  const entries = Object.entries(change).map(([key, value]) => [key, value ?? ''] as const);
  return entries.length === 0 ? {} : { metadata: Object.fromEntries(entries) };
}

/** All metadata, including Till's own metadata keys. Null if the object does not show it. */
export function fieldsOf(object: WireObject): Readonly<Record<string, unknown>> | null {
  const metadata = object.has('metadata') ? object.raw('metadata') : null;
  return isRecord(metadata) ? metadata : null;
}

/** Every JSON object is a record of names and values. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** PostgreSQL can store neither NUL nor a lone surrogate. An empty text has no value at the processor. */
function isStorable(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('\0') && value.isWellFormed();
}
