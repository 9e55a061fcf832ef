import { localIdKey } from '../wire/wire-object.ts';
import { isPersonalName } from './personal-name.ts';
import { redactText, secretName } from './redact-secrets.ts';

/** A payload in the two forms in which it may be stored. */
export interface RedactedPayload {
  readonly payload: string;
  /** The same without any personal data; null if `payload` contains none. */
  readonly erasedPayload: string | null;
}

/** Marks an event without content: its person was erased, or is not a customer of Till. */
export const erasedMark = 'till_erased';

/** The event types whose personal data a mirror stores, and the fields that it stores. */
const personalTypes: ReadonlySet<unknown> = new Set(['customer.created', 'customer.updated']);
const customerFields = ['email', 'name', 'phone'] as const;

/**
 * The part of an event that is kept. Secrets are removed from every event. So is personal data that no mirror needs:
 * what is not stored need not be protected, shown to operators, or found again when a customer is deleted.
 */
export function redactPayload(event: unknown): RedactedPayload {
  const redacted = redactValue(event);
  const customer = personalCustomer(event);
  if (customer === null) return { payload: JSON.stringify(redacted), erasedPayload: null };
  return {
    payload: JSON.stringify(withObject(redacted, customer)),
    erasedPayload: JSON.stringify({ ...record(redacted), [erasedMark]: true }),
  };
}

/** The same for an event that is already stored. One that is not JSON has no content. */
export function redactStored(payload: string): RedactedPayload {
  try {
    return redactPayload(JSON.parse(payload));
  } catch (error) {
    if (error instanceof SyntaxError) return { payload: '{}', erasedPayload: null };
    throw error;
  }
}

/**
 * The kinds of objects that mirrors are made from, and their containers. Of any other kind (cards, bank accounts, tax
 * ids, identity checks, invoice lines) Till only needs the id and kind.
 */
const keptKinds: ReadonlySet<unknown> = new Set([
  'event',
  'list',
  'customer',
  'product',
  'price',
  'payment_intent',
  'charge',
  'refund',
  'subscription',
  'subscription_item',
  'invoice',
]);

/**
 * The same JSON value without secrets and personal data. A redacted value becomes null, so that its field stays. An
 * unchanged object is returned as it is, not copied: this runs for every event, and most of each is unchanged. Lists
 * are always copied.
 */
function redactValue(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(redactValue);
  const fields = record(value);
  const kind = fields['object'];
  if (typeof kind === 'string' && !keptKinds.has(kind)) return idAndKind(fields);
  const changes: [string, unknown][] = [];
  for (const name of Object.keys(fields)) {
    const before = fields[name];
    const after = before === null ? null : redactField(kind, name, before);
    if (after !== before) changes.push([name, after]);
  }
  return changes.length === 0 ? fields : { ...fields, ...Object.fromEntries(changes) };
}

function redactField(kind: unknown, name: string, field: unknown): unknown {
  // Metadata may contain anything; Till only reads its own id there.
  if (name === 'metadata') return onlyLocalId(field);
  if (secretName.test(name)) return null;
  if (kind === 'charge' && name === 'payment_method_details') return onlyShownDetails(field);
  // A product is not a person, and the plan uses its name.
  if (isPersonalName(name) && !(kind === 'product' && name === 'name')) return null;
  return redactValue(field);
}

/** What a payment shows about its payment method, and when its authorisation expires. */
const shownDetails = ['brand', 'last4', 'exp_month', 'exp_year', 'capture_before'];

/** Each type of payment method has its own object, named like the type. */
function onlyShownDetails(details: unknown): object | null {
  const { type, ...byType } = record(details);
  if (typeof type !== 'string') return null;
  const shown = Object.entries(record(byType[type])).filter(
    ([name, value]) => shownDetails.includes(name) && ['string', 'number'].includes(typeof value),
  );
  return { type, ...(shown.length === 0 ? {} : { [type]: Object.fromEntries(shown) }) };
}

function idAndKind(fields: Readonly<Record<string, unknown>>): object {
  const { id, object } = fields;
  return id === undefined ? { object } : { id, object };
}

function onlyLocalId(metadata: unknown): object {
  const fields = record(metadata);
  const { [localIdKey]: id } = fields;
  if (Object.keys(fields).length === (id === undefined ? 0 : 1)) return fields;
  return id === undefined ? {} : { [localIdKey]: id };
}

/** The fields that a mirror stores from this event; null if there are none, or they are empty. */
function personalCustomer(event: unknown): Readonly<Record<string, unknown>> | null {
  const { type, data, [erasedMark]: erased } = record(event);
  if (!personalTypes.has(type) || erased === true) return null;
  const object = record(record(data)['object']);
  const present = customerFields.filter((field) => object[field] !== undefined && object[field] !== null);
  // The processor sends only text here. A value of another type is kept, and the mapping of the event refuses it.
  return present.length === 0 ? null : Object.fromEntries(present.map((field) => [field, object[field]]));
}

function withObject(event: unknown, fields: Readonly<Record<string, unknown>>): object {
  const data = record(record(event)['data']);
  return { ...record(event), data: { ...data, object: { ...record(data['object']), ...fields } } };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  // Every JSON object is a record of names and values.
  return isRecord ? (value as Readonly<Record<string, unknown>>) : {};
}
