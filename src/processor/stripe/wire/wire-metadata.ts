import { isExternalId } from '#core/model/customer.ts';
import { type Metadata, type MetadataChange, ownKeyPrefix } from '#core/model/metadata.ts';
import type { NewCheckout } from '../../port/checkout-calls.ts';
import type { RequestMark } from '../../port/request-mark.ts';
import { isRecord, localIdKey, redactText, uuid, type WireObject } from './wire-object.ts';

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

/** The metadata keys of a mark. */
interface MarkKeys {
  readonly key: string;
  readonly request: string;
}

/** The mark of the request that created the object. */
export const creationKeys: MarkKeys = { key: 'till_key', request: 'till_request' };

/** The mark of the request that captured the payment. */
export const captureKeys: MarkKeys = { key: 'till_capture_key', request: 'till_capture_request' };

/** The metadata of an object that Till creates. */
export function creationMetadata({ id, mark }: { readonly id: string; readonly mark: RequestMark }) {
  return { [localIdKey]: id, ...markMetadata(mark) };
}

export function markMetadata({ key, request }: RequestMark, keys = creationKeys) {
  return { [keys.key]: key, [keys.request]: request };
}

/** The metadata key under which the results of a checkout carry its id. */
export const checkoutIdKey = 'till_checkout';
/** The metadata keys for values that a session does not show: the digest of its terms, and its trial. */
const termsKey = 'till_terms';
const trialKey = 'till_trial_days';

type SentCheckout = Omit<NewCheckout, 'idempotencyKey'>;

/** The metadata of a checkout's session, beside the id and the mark. */
export function checkoutMetadata({ resultId, terms, sold }: SentCheckout): Record<string, string> {
  const days = sold.mode === 'subscription' ? sold.trialPeriodDays : 0;
  return {
    [termsKey]: terms,
    ...(sold.mode === 'setup' ? {} : { [resultKeys[sold.mode]]: resultId }),
    ...(days === 0 ? {} : { [trialKey]: String(days) }),
  };
}

/** The metadata key under which a session carries the id of its future subscription or payment. */
const resultKeys = { subscription: 'till_subscription', payment: 'till_payment' } as const;

/** The metadata of the subscription, the payment or the setup of a checkout: its own id, and that of the checkout. */
export function resultMetadata({ id, resultId, sold, metadata }: SentCheckout): Record<string, string> {
  return {
    ...metadata,
    ...(sold.mode === 'setup' ? {} : { [localIdKey]: resultId }),
    [checkoutIdKey]: id,
  };
}

/** The checkout that an object results from. Null if there is none. */
export function checkoutIdOf(object: WireObject): string | null {
  const id = fieldsOf(object)?.[checkoutIdKey];
  return typeof id === 'string' && uuid.test(id) ? id : null;
}

export function checkoutTermsOf(session: WireObject): string {
  const terms = fieldsOf(session)?.[termsKey];
  return isStorable(terms) ? terms : '';
}

/** A value that a person set in the dashboard and that is not a number of days is ignored. */
export function trialDaysOf(session: WireObject): number | null {
  const days = fieldsOf(session)?.[trialKey];
  return typeof days === 'string' && /^[1-9]\d{0,2}$/.test(days) ? Number(days) : null;
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

/** PostgreSQL can store neither NUL nor a lone surrogate. An empty text has no value at the processor. */
function isStorable(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('\0') && value.isWellFormed();
}
